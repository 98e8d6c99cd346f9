"""The judge in a folder, on small models that count which of a claim's words a passage has."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.model import Judgement
from rag_core.core.ports import ClaimToJudge
from rag_core.providers.entailment_model import EntailmentModel, split_sentence_windows
from tests.entailment import MAX_TOKENS, NLI_LABELS, write_entailment_model

KEYS = "The signing keys are rotated every ninety days by the team."
BUS = "The bus stops here at night."


async def judge(folder: Path, claim: str, *passages: str) -> Judgement | None:
    (found,) = await EntailmentModel(folder, threads=1).judge_claims([ClaimToJudge(claim, passages)])
    return found


@pytest.mark.parametrize(
    ("claim", "finding"),
    [
        ("The keys are rotated every ninety days.", "supported"),
        ("The keys are not rotated every ninety days.", "contradicted"),
        ("The warranty covers the pump.", "not_stated"),
    ],
)
@pytest.mark.parametrize(
    "labels",
    [NLI_LABELS, ("entailment", "neutral", "contradiction"), ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")],
    ids=lambda labels: labels[0],
)
@pytest.mark.parametrize("tokenizer", ["vocab.txt", "tokenizer.json"])
async def test_the_finding_does_not_depend_on_the_order_of_the_labels(
    tmp_path: Path, labels: Sequence[str], tokenizer: str, claim: str, finding: str
) -> None:
    """Public models have all three orders; a model of token types and one without give the same."""
    columns = [label.lower() for label in labels]
    has_token_types = tokenizer == "vocab.txt"
    write_entailment_model(tmp_path, labels, columns=columns, tokenizer=tokenizer, has_token_types=has_token_types)
    found = await judge(tmp_path, claim, BUS, KEYS)
    assert found
    assert (found.finding, found.judge) == (finding, "entailment model counting-nli")
    assert (found.support > 0.9) == (finding == "supported")
    if finding != "not_stated":
        assert (found.passage, found.words) == (1, KEYS)


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (("unsupported", "supported"), ("not_entailment", "entailment")),
        (("Supported", "Unsupported"), ("entailment", "not_entailment")),
        (("hallucinated", "consistent"), ("not_entailment", "entailment")),
        (("0", "1"), ("not_entailment", "entailment")),
        (("LABEL_0", "LABEL_1"), ("not_entailment", "entailment")),
        (("LABEL_0",), ("entailment",)),
    ],
    ids=lambda names: "-".join(names),
)
async def test_a_model_of_two_labels_or_one_supports_and_never_contradicts(
    tmp_path: Path, labels: Sequence[str], columns: Sequence[str]
) -> None:
    """A single output is the logit of support, as a reranker's."""
    write_entailment_model(tmp_path, labels, columns=columns)
    said = await judge(tmp_path, "The keys are rotated every ninety days.", BUS, KEYS)
    denied = await judge(tmp_path, "The keys are not rotated every ninety days.", BUS, KEYS)
    assert said
    assert denied
    assert (said.finding, said.passage) == ("supported", 1)
    assert said.support == pytest.approx(0.9168, abs=1e-4)  # sigmoid of the graph's 12 * (1 - 0.8)
    assert (denied.finding, denied.passage) == ("not_stated", 1)
    assert denied.support < 1e-6


async def test_the_words_are_the_sentence_that_decides_and_not_the_whole_passage(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    passage = f"{BUS} {KEYS} The shop opens at nine."
    said = await judge(tmp_path, "The keys are rotated every ninety days.", "The pump is red.", passage)
    denied = await judge(tmp_path, "The keys are not rotated every ninety days.", "The pump is red.", passage)
    assert said
    assert denied
    assert (said.passage, said.words, denied.passage, denied.words) == (1, KEYS, 1, KEYS)


async def test_the_words_of_a_contradiction_are_those_that_contradict(tmp_path: Path) -> None:
    """The sentence "The pump is blue." is nearer to supporting the claim."""
    write_entailment_model(tmp_path)
    denied = await judge(tmp_path, "The pump is red.", "The pump is blue. The pump is not red.")
    assert denied
    assert (denied.finding, denied.words) == ("contradicted", "The pump is not red.")


async def test_a_passage_that_shares_nothing_with_the_claim_does_not_contradict_it(tmp_path: Path) -> None:
    """The small model says "contradiction" of any two texts of which one has "not"; public ones do so at times."""
    write_entailment_model(tmp_path)
    found = await judge(tmp_path, "The pump is blue.", "The bus does not stop here.", "The engine is red.")
    assert found
    assert found.finding == "not_stated"


async def test_support_by_one_passage_outweighs_contradiction_by_another(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    found = await judge(tmp_path, "The pump is blue.", "The pump is not blue.", "The pump is blue.")
    assert found
    assert (found.finding, found.passage) == ("supported", 1)


@pytest.mark.parametrize("place", [0, 7, 14])
async def test_a_passage_over_the_limit_is_read_in_windows_of_sentences(tmp_path: Path, place: int) -> None:
    """The graph has no more than 64 positions and fails on a longer sequence."""
    write_entailment_model(tmp_path)
    sentences = [BUS] * 15
    sentences[place] = KEYS
    found = await judge(tmp_path, "The keys are rotated every ninety days.", " ".join(sentences))
    assert found
    assert (found.finding, found.words) == ("supported", KEYS)


async def test_what_two_sentences_say_together_is_found_wherever_the_window_ends(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    together = ["The pump is blue.", "The engine is red."]
    for before in range(12):
        passage = " ".join([*[BUS] * before, *together, *[BUS] * 12])
        found = await judge(tmp_path, "The pump is blue and the engine is red.", passage)
        assert found
        assert found.finding == "supported", before


async def test_a_sentence_over_the_limit_is_read_in_parts(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    found = await judge(tmp_path, "The pump is blue.", "x, y, " * 100 + "the pump is blue, " + "w, z, " * 100)
    assert found
    assert found.finding == "supported"


async def test_a_claim_that_leaves_no_room_is_not_judged_and_not_cut(tmp_path: Path) -> None:
    """Cut before its "not", it would be supported."""
    write_entailment_model(tmp_path)
    claim = "The pump is blue " + "and blue " * MAX_TOKENS + "and not red."
    model = EntailmentModel(tmp_path, threads=1)
    claims = [ClaimToJudge(claim, ("The pump is blue.",)), ClaimToJudge("The pump is blue.", ("The pump is blue.",))]
    missing, found = await model.judge_claims(claims)
    assert missing is None
    assert found
    assert found.finding == "supported"


async def test_without_passages_a_claim_is_not_stated(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    assert await judge(tmp_path, "The pump is blue.") == Judgement(
        "not_stated", 0.0, judge="entailment model counting-nli"
    )
    assert await judge(tmp_path, "The pump is blue.", " ", "") == Judgement(
        "not_stated", 0.0, judge="entailment model counting-nli"
    )


async def test_a_lone_surrogate_in_a_claim_is_read_as_a_sign(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    found = await judge(tmp_path, "The pump is blue \ud800.", "The pump is blue.")
    assert found
    assert found.finding == "supported"


async def test_a_model_as_the_hub_lays_it_out_is_found(tmp_path: Path) -> None:
    write_entailment_model(tmp_path, model_place="onnx/model.onnx")
    assert await judge(tmp_path, "The pump is blue.", "The pump is blue.")


async def test_a_truncated_model_is_for_the_operator_to_put_right(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    model = tmp_path / "model.onnx"
    model.write_bytes(model.read_bytes()[:-200])
    with pytest.raises(Misconfigured, match="counting-nli cannot be loaded"):
        await judge(tmp_path, "The pump is blue.", "The pump is blue.")


async def test_a_damaged_tokenizer_is_for_the_operator_to_put_right(tmp_path: Path) -> None:
    write_entailment_model(tmp_path, tokenizer="tokenizer.json", has_token_types=False)
    for damaged in ("{}", '{"version": "9.0", "model": {"type": "New"}}', "not json"):
        (tmp_path / "tokenizer.json").write_text(damaged)
        with pytest.raises(Misconfigured, match="counting-nli cannot be loaded"):
            await judge(tmp_path, "The pump is blue.", "The pump is blue.")


async def test_a_tokenizer_that_does_not_join_pairs_is_refused(tmp_path: Path) -> None:
    write_entailment_model(tmp_path, tokenizer="tokenizer.json", has_token_types=False)
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"post_processor": None}))
    with pytest.raises(Misconfigured, match="post_processor"):
        await judge(tmp_path, "The pump is blue.", "The pump is blue.")


async def test_a_vocabulary_of_another_model_is_refused(tmp_path: Path) -> None:
    write_entailment_model(tmp_path)
    (tmp_path / "vocab.txt").write_text("<s>\n</s>\n<unk>\npump")
    with pytest.raises(Misconfigured, match=r"entailment/vocab.txt has no \[CLS\], \[SEP\], \[UNK\]"):
        await judge(tmp_path, "The pump is blue.", "The pump is blue.")


async def test_a_model_with_more_outputs_than_labels_is_refused(tmp_path: Path) -> None:
    write_entailment_model(tmp_path, ("supported", "unsupported"), columns=NLI_LABELS)
    with pytest.raises(Misconfigured, match=r"shape \(1, 3\), and its config.json names 2 labels"):
        await judge(tmp_path, "The pump is blue.", "The pump is blue.")


async def test_a_model_that_fails_is_unavailable_and_gives_no_judgement(tmp_path: Path) -> None:
    """The configuration states more positions than the graph has."""
    write_entailment_model(tmp_path, config={"max_position_embeddings": 512})
    with pytest.raises(Unavailable, match="the entailment model counting-nli failed"):
        await judge(tmp_path, "The pump is blue.", BUS * 40)


@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=30), limit=st.integers(4, 60))
def test_windows_fit_and_leave_nothing_out(lengths: list[int], limit: int) -> None:
    passage = " ".join("A" + "b" * length + "." for length in lengths)
    windows = split_sentence_windows(passage, lambda text: len(text) <= limit)
    assert all(end - start <= limit for start, end in windows)
    covered = {place for start, end in windows for place in range(start, end)}
    assert {place for place, sign in enumerate(passage) if sign != " "} <= covered
    assert not any(b[0] >= a[0] and b[1] <= a[1] for a in windows for b in windows if a is not b)

"""What a judge finds reaches the caller, with a reason and the nearest words of what is not verified."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_core.answering.citations import MAX_CITATIONS_PER_CLAIM
from rag_core.answering.claim_replies import MAX_NEAREST_CHARS, ClaimReply, format_claims
from rag_core.core.model import Chunk, Judgement, Scope
from rag_core.core.run import Run
from rag_core.guard.output_redaction import redact_answer
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.rag import RAG
from tests.fakes import SCOPE, Down, ScriptedJudge, ScriptedLLM, chunk, filled, kit

FACT = "The signing keys are rotated every 90 days by the platform team."
COPY = "A copy of each key is kept in the vault."
MANUAL = (chunk("keys", f"This chapter is about keys. {FACT} {COPY}"),)
JUDGE = ScriptedJudge(
    quarter=Judgement("contradicted", 0.04, 0, "rotated every 90 days", judge="scripted judge"),
    paper=Judgement("not_stated", 0.03, judge="scripted judge"),
    safe=Judgement("unclear", 0.4, 0, judge="scripted judge"),
    thirty=Judgement("supported", 0.9, 0, "rotated every 90 days", judge="scripted judge"),
    ninety=Judgement("supported", 0.9, 0, "rotated every 90 days", judge="scripted judge"),
)
CONTRADICTED = "Each quarter brings other signing keys."
NOT_STATED = "A printed key copy is kept on paper."
UNCLEAR = "A copy of some key is somewhere safe."
LEFT_OUT = "The vault is kept tidy."
OVERRULED = "An interval of thirty days applies to the signing keys that are rotated."
SUPPORTED = "An interval of ninety days applies to the signing keys."


async def cite(
    *sentences: str, judge: ScriptedJudge | None = JUDGE, chunks: Sequence[Chunk] = MANUAL, scope: Scope = SCOPE
) -> tuple[list[ClaimReply], Run]:
    """The claims of a text as they are replied, and the record of the call."""
    run = Run()
    rag = RAG(replace(kit(await filled(*chunks)), judge=judge))
    claims = await rag.cite(" ".join(sentences), scope=scope, run=run)
    return format_claims(claims, "numbers"), run


async def cite_one(sentence: str, judge: ScriptedJudge | None = JUDGE) -> ClaimReply:
    [claim], _ = await cite(sentence, judge=judge)
    return claim


INCOME = """Tarnmoor Instruments, Inc.

|  | 2023 | 2022 |
| --- | --- | --- |
| Cash | $ 2,410 | $ 1,869 |
| Receivables | 695 | 592 |
| Inventories | 431 | 407 |
| Goodwill | 4,773 | 4,501 |
| Deferred tax | 512 | 498 |
| Debt | 9,234 | 7,509 |
| Equity | 8,063 | 7,539 |
"""


@pytest.mark.parametrize(
    ("claim", "quoted"),
    [
        ("Tarnmoor: goodwill was $4,773 at the end of 2023.", ["Goodwill"]),
        ("Tarnmoor: receivables of $695 stood beside debt of $9,234 when 2023 ended.", ["Receivables", "Debt"]),
        (
            "Tarnmoor: cash of $2,410, goodwill of $4,773, debt of $9,234 and equity of $8,063 in 2023.",
            ["Cash", "Goodwill", "Debt", "Equity"],
        ),
        (
            "Tarnmoor: cash of $2,410, receivables of $695, inventories of $431 and equity of $8,063 in 2023.",
            ["Cash", "Receivables", "Inventories", "Equity"],
        ),
    ],
)
async def test_the_row_of_each_figure_that_supports_a_claim_is_quoted(claim: str, quoted: list[str]) -> None:
    """S4-27: a reader checks what is quoted, also where a judge rests a claim on other rows of the table."""
    judge = ScriptedJudge(Tarnmoor=Judgement("supported", 0.9, 1, "of the table", judge="scripted judge"))
    [reply], _ = await cite(claim, judge=judge, chunks=[chunk("income", INCOME)])
    assert reply["finding"] == "supported"
    lines = [line for citation in reply["citations"] for line in citation["quote"].splitlines()]
    assert all(any(line.startswith(f"| {label} |") for line in lines) for label in quoted)
    assert len(reply["citations"]) <= MAX_CITATIONS_PER_CLAIM


async def test_a_contradiction_is_replied_with_the_words_that_decide_it() -> None:
    claim = await cite_one(CONTRADICTED)
    assert (claim["verdict"], claim["finding"], claim["judge"]) == ("unsupported", "contradicted", "scripted judge")
    assert (claim["support"], claim["nearest"]) == (0.04, "rotated every 90 days")
    assert claim["reasons"] == ["contradicted: the passage says otherwise"]
    assert claim["explanation"] == "the passage says otherwise (judged by scripted judge)"


async def test_what_is_not_stated_is_replied_with_the_nearest_sentence() -> None:
    claim = await cite_one(NOT_STATED)
    assert (claim["verdict"], claim["finding"], claim["citations"]) == ("unsupported", "not_stated", [])
    assert claim["nearest"] == COPY
    assert claim["reasons"] == ["not stated: no passage says this"]


async def test_what_is_unclear_is_replied_with_a_reason_and_with_words_of_the_passage() -> None:
    claim = await cite_one(UNCLEAR)
    assert (claim["verdict"], claim["finding"], claim["support"]) == ("partial", "unclear", 0.4)
    assert COPY in claim["nearest"]
    assert claim["reasons"][0].startswith("unclear: ")


async def test_a_claim_that_the_judge_leaves_out_is_judged_by_its_facts_and_says_so() -> None:
    [claim], run = await cite(LEFT_OUT)
    assert [degradation.code for degradation in run.degraded] == ["judgement_missing"]
    assert (claim["judge"], claim["finding"] in ("unclear", "not_stated")) == ("facts", True)
    assert (claim["nearest"], bool(claim["reasons"]), bool(claim["explanation"])) == (COPY, True, True)


async def test_a_supported_claim_has_the_words_and_no_reason() -> None:
    claim = await cite_one(SUPPORTED)
    assert (claim["verdict"], claim["finding"], claim["support"]) == ("verified", "supported", 0.9)
    assert (claim["nearest"], claim["reasons"], claim["explanation"]) == ("rotated every 90 days", [], "")
    copied = await cite_one(FACT)
    assert (copied["finding"], copied["judge"], copied["nearest"]) == ("supported", "copied words", FACT)


async def test_a_yes_that_the_facts_overrule_is_theirs_and_the_reply_names_the_judge() -> None:
    claim = await cite_one(OVERRULED)
    assert (claim["verdict"], claim["finding"], claim["judge"]) == ("unsupported", "contradicted", "facts")
    assert claim["reasons"][-1] == "overruled: scripted judge found it supported"
    assert claim["explanation"].startswith("says thirty days; the passage says 90 days")
    assert claim["explanation"].endswith("(scripted judge found it supported, and is overruled)")
    assert claim["nearest"] == "rotated every 90 days"


@pytest.mark.parametrize("judge", [JUDGE, None])
@pytest.mark.parametrize("has_ranker", [True, False])
async def test_every_sentence_that_is_not_verified_has_a_reason_and_words_of_the_evidence(
    judge: ScriptedJudge | None, has_ranker: bool
) -> None:
    """S1-59: also one that no passage is related to."""
    sentences = (CONTRADICTED, NOT_STATED, UNCLEAR, LEFT_OUT, OVERRULED, "The platform team is rotated every 90 days.")
    parts = kit(await filled(*MANUAL), reranker=None if has_ranker else Down())  # type: ignore[arg-type]
    claims = await RAG(replace(parts, judge=judge)).cite(" ".join((*sentences, "Bananas are yellow.")), scope=SCOPE)
    replied = format_claims(claims, "numbers")
    assert "verified" not in [claim["verdict"] for claim in replied]
    for claim in replied:
        assert claim["reasons"]
        assert claim["explanation"]
        assert claim["nearest"]
        assert claim["nearest"] in MANUAL[0].content
        assert claim["finding"] in ("contradicted", "not_stated", "unclear")
        assert claim["support"] is not None
        assert claim["support"] < 0.5


async def test_the_nearest_words_are_cut_at_a_word() -> None:
    long = chunk("long", f"The vault {'has very many old shelves and ' * 20}is damp.")
    [claim], _ = await cite("Bananas are in the vault.", judge=None, chunks=[long])
    assert len(claim["nearest"]) <= MAX_NEAREST_CHARS
    assert claim["nearest"].endswith(" …")
    assert long.content.startswith(claim["nearest"].removesuffix(" …") + " ")


async def test_no_words_of_another_workflow_are_near() -> None:
    """S1-25: what the caller may not see is no evidence, and nothing of it is shown."""
    claims, _ = await cite(CONTRADICTED, NOT_STATED, LEFT_OUT, scope=Scope("other"))
    assert [(claim["finding"], claim["nearest"]) for claim in claims] == [("not_stated", "")] * 3
    assert all(claim["reasons"] == ["not stated: no passage has these words"] for claim in claims)


async def test_personal_data_leaves_the_nearest_words_and_the_reasons() -> None:
    """S4-29."""
    mail, phone = "ada@example.org", "+1 415 555 2671"
    said = f"Ada reads mail at {mail} and takes calls at {phone}."
    judge = ScriptedJudge(Ada=Judgement("unclear", 0.4, 0, said, (f"word: {phone}",)))
    reply = {"answerable": True, "sentences": [{"text": f"Ada likes {mail} more.", "evidence": ["e1"]}]}
    parts = kit(await filled(chunk("ada", said)), llm=ScriptedLLM(answer=json.dumps(reply)))
    replied = await RAG(replace(parts, judge=judge)).answer(
        "Where does Ada read mail?", scope=SCOPE, pipeline="standard"
    )
    assert mail in replied.answer.claims[0].judgement.words  # type: ignore[union-attr]
    redacted, _ = await redact_answer(replied.answer, RuleBasedRedactor())
    [claim] = format_claims(redacted.claims, "numbers")
    assert (claim["finding"], "[EMAIL]" in claim["nearest"]) == ("unclear", True)
    assert not any(data in json.dumps(claim) for data in (mail, phone))

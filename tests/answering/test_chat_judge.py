"""The chat model as a judge: what of its reply is a judgement, and that nothing else ever is."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_emulator.chat_stub import JUDGING_STYLES, ChatStub
from local_emulator.chat_techniques import ChatTechniques
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core import prompts
from rag_core.answering import chat_judge
from rag_core.answering.chat_judge import ChatJudge, batch_claims, find_quote
from rag_core.composition.model_assembly import build_judge
from rag_core.core.errors import Unavailable
from rag_core.core.model import Judgement
from rag_core.core.ports import LLM, ClaimToJudge, Judge, Prompt
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.providers.openai import OpenAIChatModel
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from tests.fakes import ConceptEmbedder, OverlapReranker, ScriptedLLM

KEYS = "Signing keys are rotated every 90 days by the platform team."
TOOLS = "Tools are returned\n to the shelf, not to the bench. See https://ok.example/tools."
CLAIMS = (
    ClaimToJudge("The platform team changes the keys each quarter.", (KEYS,), "Who changes the keys?"),
    ClaimToJudge("Tools go back to the bench.", (KEYS, TOOLS), "Who changes the keys?"),
    ClaimToJudge("Bananas are yellow.", (TOOLS,), "Who changes the keys?"),
)
TRUTHS = {
    "each quarter": ("supported", "rotated every 90 days by the platform team"),
    "the bench": ("contradicted", "not to the bench"),
}


def entry(claim: object = "c1", **fields: object) -> dict[str, object]:
    """A sound judgement of the first claim, but for what is given."""
    sound = {"passage": "p1", "words": "rotated every 90 days", "verdict": "supported", "probability": 0.9}
    return {"claim": claim, **sound, **fields}


def said(*entries: object) -> str:
    return json.dumps({"judgements": entries})


async def judged(reply: str | Callable[[Prompt], str], *claims: ClaimToJudge) -> list[Judgement | None]:
    return list(await ChatJudge(ScriptedLLM(judge=reply)).judge_claims(claims or CLAIMS))


async def test_a_claim_gets_the_verdict_that_has_its_id_in_whatever_order() -> None:
    bench = entry("c2", passage="p2", words="NOT to the  bench", verdict="contradicted", probability=0.8)
    unstated = entry("c3", passage="none", words="", verdict="not_stated", probability=1)
    assert await judged(said(unstated, entry("c1"), bench)) == [
        Judgement("supported", 0.9, 0, "rotated every 90 days", judge="chat model scripted"),
        Judgement("contradicted", pytest.approx(0.1), 1, "not to the bench", judge="chat model scripted"),
        Judgement("not_stated", 0.0, judge="chat model scripted"),
    ]


@pytest.mark.parametrize(
    "items",
    [
        [],
        ["supported"],
        [entry("c9")],
        [entry(1)],
        [entry(["c1"])],
        [entry(), entry()],
        [entry(), entry(verdict="contradicted")],
        [entry(verdict="yes")],
        [entry(verdict=None)],
        [entry(verdict={"a": 1})],
        [entry(probability=1.01)],
        [entry(probability=-0.1)],
        [entry(probability=True)],
        [entry(probability="high")],
        [entry(passage="p9")],
        [entry(passage="none")],
        [entry(passage=None)],
        [entry(passage="p2")],
        [entry(passage=["p1"])],
        [entry(passage="p2", verdict="contradicted")],
        [{"claim": "c1"}],
        [{name: value for name, value in entry().items() if name != "probability"}],
    ],
)
async def test_a_missing_doubled_or_malformed_entry_is_no_judgement(items: list[object]) -> None:
    """The second claim is judged all the same; p2 is no passage of the first."""
    sound = entry("c2")
    first, second, third = await judged(said(*items, sound))
    assert (first, third) == (None, None)
    assert second == Judgement("supported", 0.9, 0, "rotated every 90 days", judge="chat model scripted")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "They are all fine.",
        "{}",
        "[]",
        '{"judgements": "supported"}',
        said(),
        said(True),
        said(entry("c9")),
        said(entry("c1", verdict="yes"), entry("c2", passage="p9"), entry("c3"), entry("c3")),
    ],
)
async def test_a_reply_without_a_usable_judgement_is_unavailable(reply: str) -> None:
    with pytest.raises(Unavailable) as failure:
        await judged(reply)
    assert failure.value.code == "llm_output_invalid"


VALUE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none(), max_size=1)
ENTRIES = st.fixed_dictionaries(
    {
        "claim": st.sampled_from(["c1", "c2", "c3", "c4"]) | VALUE,
        "passage": st.sampled_from(["p1", "p2", "p3", "none"]) | VALUE,
        "words": st.sampled_from(["90 days", "the bench"]) | VALUE,
        "verdict": st.sampled_from(["supported", "contradicted", "not_stated"]) | VALUE,
        "probability": st.floats(0, 1) | VALUE,
    }
)


@given(st.lists(ENTRIES | VALUE, max_size=5))
async def test_whatever_is_replied_a_judgement_has_a_passage_of_its_claim_and_words_of_that_passage(
    items: list[object],
) -> None:
    try:
        judgements = await judged(json.dumps({"judgements": items}))
    except Unavailable:  # not one usable judgement
        return
    assert len(judgements) == len(CLAIMS)
    for claim, judgement in zip(CLAIMS, judgements, strict=True):
        if judgement:
            assert 0 <= judgement.support <= 1
            assert judgement.passage is not None or judgement.finding == "not_stated"
            assert judgement.words in ("" if judgement.passage is None else claim.passages[judgement.passage])
            assert (judgement.finding == "supported") <= (judgement.support >= 0.5)


async def test_a_supported_that_is_improbable_is_unclear() -> None:
    (judgement, *_) = await judged(said(entry(probability=0.3)))
    assert judgement
    assert (judgement.finding, judgement.support) == ("unclear", 0.3)


async def test_words_that_no_passage_has_are_dropped() -> None:
    first, second, _ = await judged(said(entry(words="every 30 days"), entry("c2", words="not to the bench")))
    assert first
    assert second
    assert (first.finding, first.words, second.words) == ("unclear", "", "")


def test_a_quote_is_given_as_it_stands_in_the_passage() -> None:
    assert find_quote("RETURNED to the Shelf", TOOLS) == "returned\n to the shelf"
    assert find_quote("a.c", "abc a.c") == "a.c"
    assert find_quote(" ", TOOLS) == find_quote("returned shelf", TOOLS) == ""
    assert find_quote("“returned to the shelf, not ... bench”.", TOOLS) == "returned\n to the shelf, not"
    assert find_quote("returned to the shelf ... to the cellar", TOOLS) == find_quote("...", TOOLS) == ""


@pytest.mark.parametrize(
    "words", ["c1", "", None, "Obstructive sleep apnea occurs when the brain fails", KEYS + " " + KEYS]
)
async def test_a_yes_without_words_of_the_passage_is_unclear(words: object) -> None:
    """SmolLM2 135M finds each claim supported by 0.97, and for its words repeats the claim or its id."""
    first, *_ = await judged(said(entry(words=words, probability=0.97)))
    assert first is not None
    assert (first.finding, first.support, first.words) == ("unclear", 0.4, "")
    assert first.reasons == ("unclear: the judge says yes, but quotes no words of the passage",)


async def test_a_link_of_the_passage_may_be_quoted_and_no_other() -> None:
    first, second = await judged(
        said(
            entry("c1", passage="p1", words="See https://ok.example/tools."),
            entry("c2", passage="p1", words="See https://evil.example/tools."),
        ),
        *[ClaimToJudge("Tools.", (TOOLS,))] * 2,
    )
    assert first
    assert second
    assert (first.words, second.words) == ("See https://ok.example/tools.", "")


async def test_one_call_asks_for_all_claims_with_each_passage_once() -> None:
    llm = ScriptedLLM(judge=said(entry()))
    await ChatJudge(llm).judge_claims(CLAIMS)
    (prompt,) = llm.prompts
    data: Any = prompts.parse_fenced_data(prompt.user)
    assert data["question"] == "Who changes the keys?"
    assert data["passages"] == [{"id": "p1", "text": KEYS}, {"id": "p2", "text": TOOLS}]
    assert [(claim["id"], claim["passages"]) for claim in data["claims"]] == [
        ("c1", ["p1"]),
        ("c2", ["p1", "p2"]),
        ("c3", ["p2"]),
    ]
    assert (prompt.max_tokens, prompt.needs_whole_reply) == (
        prompts.SPARE_TOKENS + 3 * prompts.TOKENS_PER_JUDGEMENT,
        True,
    )


async def test_the_schema_admits_the_ids_that_were_given_and_nothing_else() -> None:
    llm = ScriptedLLM(judge=said(entry()))
    await ChatJudge(llm).judge_claims(CLAIMS)
    schema = jsonschema_rs.validator_for(dict(llm.prompts[0].schema or {}))
    whole = [entry("c1"), entry("c2"), entry("c3", passage="none")]
    assert schema.is_valid({"judgements": whole})
    for wrong in (
        entry("c4"),
        entry(passage="p3"),
        entry(verdict="unclear"),
        entry(words=None),
        entry(note="x"),
        {"claim": "c1"},
    ):
        assert not schema.is_valid({"judgements": [wrong, *whole[1:]]})
    assert not schema.is_valid({"judgements": whole[:2]})


async def test_a_claim_without_a_passage_is_not_stated_and_nobody_is_asked() -> None:
    llm = ScriptedLLM(judge=said(entry()))
    judge = ChatJudge(llm)
    assert await judge.judge_claims([]) == []
    assert await judge.judge_claims([ClaimToJudge("Bananas.", ())]) == [
        Judgement("not_stated", 0.0, judge="chat model scripted")
    ]
    assert llm.prompts == []
    unfounded, founded = await judge.judge_claims([ClaimToJudge("Bananas.", ()), CLAIMS[0]])
    assert unfounded
    assert founded
    assert (unfounded.finding, founded.finding) == ("not_stated", "supported")


def test_batches_hold_so_many_claims_of_one_question_and_so_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_judge, "MAX_CLAIMS_PER_CALL", 3)
    monkeypatch.setattr(chat_judge, "MAX_PASSAGE_CHARS_PER_CALL", 10)

    def sizes(*claims: ClaimToJudge) -> list[list[str]]:
        return [[claim.text for claim in batch.claims.values()] for batch in batch_claims(claims)]

    def claim(text: str, *passages: str, question: str = "") -> ClaimToJudge:
        return ClaimToJudge(text, passages, question)

    assert sizes(*[claim(text, "shared") for text in "abcd"]) == [["a", "b", "c"], ["d"]]
    assert sizes(claim("a", "x" * 6), claim("b", "y" * 5), claim("c", "y" * 5, "z" * 5)) == [["a"], ["b", "c"]]
    assert sizes(claim("a", "x" * 99), claim("b", "x")) == [["a"], ["b"]]
    assert sizes(claim("a", "x"), claim("b", "x", question="why?")) == [["a"], ["b"]]


async def test_the_judgements_of_many_calls_come_back_in_the_order_of_the_claims() -> None:
    many = [ClaimToJudge(f"Claim {number}.", (f"Passage {number}.",)) for number in range(40)]

    def by_number(prompt: Prompt) -> str:
        inputs: Any = prompt.inputs
        return said(*(entry(claim["id"], passage=claim["passages"][0], words="passage") for claim in inputs["claims"]))

    llm = ScriptedLLM(judge=by_number)
    judgements = await ChatJudge(llm).judge_claims(many)
    assert [judgement.passage for judgement in judgements if judgement] == [0] * 40
    assert len(llm.prompts) == 3
    assert [len(prompt.inputs["claims"]) for prompt in llm.prompts] == [16, 16, 8]  # type: ignore[arg-type]


async def test_a_call_that_fails_ends_the_others() -> None:
    """They may cost money; and the judgements of some claims alone are not passed on as all there is."""
    ended = []

    class Failing(ScriptedLLM):
        async def complete(self, prompt: Prompt) -> Any:
            if "Claim 0." in prompt.user:
                raise Unavailable("it is down", code="llm_unavailable")
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(prompt)

    many = [ClaimToJudge(f"Claim {number}.", ("A passage.",)) for number in range(20)]
    with pytest.raises(Unavailable, match="it is down"):
        await ChatJudge(Failing()).judge_claims(many)
    assert len(ended) == 1


def test_it_is_built_where_there_is_a_chat_model_and_never_asks_a_local_technique() -> None:
    llm = ScriptedLLM()
    judge = build_judge(Settings(openai_api_key="key"), llm)
    assert isinstance(judge, ChatJudge)
    assert judge.name == "chat model scripted"
    assert build_judge(Settings(), llm) is None


def techniques() -> LocalTechniques:
    return LocalTechniques(OverlapReranker(), lambda text, count: text.split(". ")[:count])


@asynccontextmanager
async def asked_of(llm: LLM, provider: str = "openai") -> AsyncIterator[ChatJudge]:
    """A judge that asks `llm` by the vendor's client over HTTP."""
    with serve_wsgi(ModelService(ConceptEmbedder(), llm, keys={"key"})) as url:
        profile = PROVIDER_PROFILES[provider]
        client = OpenAIChatModel(
            replace(profile, base_url=url if provider == "azure" else f"{url}/v1", chat_model="gpt-4o-mini"), key="key"
        )
        yield ChatJudge(client)
        await client.close()


@pytest.mark.parametrize("provider", ["openai", "azure", "ollama"])
async def test_the_judgements_of_a_model_come_over_the_wire_and_are_paid_for(provider: str) -> None:
    run = Run()
    async with asked_of(ChatStub(techniques(), truths=TRUTHS, model="gpt-4o-mini"), provider) as judge:
        judgements = await run.step("verify", judge.judge_claims(CLAIMS))
        assert judge.name == f"chat model {provider} gpt-4o-mini"
    assert [judgement and judgement.finding for judgement in judgements] == ["supported", "contradicted", "not_stated"]
    assert [judgement and judgement.words for judgement in judgements] == [
        "rotated every 90 days by the platform team",
        "not to the bench",
        "",
    ]
    assert run.input_tokens > 400
    assert run.output_tokens > 60
    price = 0.0 if provider == "ollama" else (run.input_tokens * 0.15 + run.output_tokens * 0.60) / 1_000_000
    assert run.cost_usd == pytest.approx(price)


FINDINGS_BY_STYLE = {  # of the three claims; a code where the whole reply is refused
    "honest": ["supported", "contradicted", "not_stated"],
    "always supported": ["supported", "supported", "unclear"],  # well formed, and wrong, as "shifted" is: that is
    "short": ["supported", None, None],
    "malformed": "llm_output_invalid",
    "by position": "llm_output_invalid",
    "prose": "llm_output_invalid",
    "shifted": ["not_stated", "supported", "contradicted"],  # for the facts to overrule
    "doubled": "llm_output_invalid",
    "unknown ids": "llm_output_invalid",
    "invented words": "llm_output_invalid",
    "silent": "llm_output_invalid",
}


@pytest.mark.parametrize("style", JUDGING_STYLES)
async def test_nothing_malformed_is_a_verdict_however_the_model_judges(style: str) -> None:
    expected = FINDINGS_BY_STYLE[style]
    async with asked_of(ChatStub(techniques(), judging=style, truths=TRUTHS)) as judge:
        if isinstance(expected, str):
            with pytest.raises(Unavailable) as failure:
                await judge.judge_claims(CLAIMS)
            assert failure.value.code == expected
        else:
            judgements = await judge.judge_claims(CLAIMS)
            assert [judgement and judgement.finding for judgement in judgements] == expected


class TableJudge:
    """Finds what a table says."""

    name = "table"
    is_multilingual = True

    def __init__(self, *judgements: Judgement | None) -> None:
        self.judgements = judgements

    async def judge_claims(self, claims: Any) -> Any:
        assert list(claims) == list(CLAIMS)
        return self.judgements


async def test_a_judge_behind_the_emulated_service_finds_the_same_and_is_named_as_what_it_is() -> None:
    found = (
        Judgement("unclear", 0.4, 0, "platform team"),
        Judgement("contradicted", 0.05, 1, "not to the bench"),
        None,
    )
    judge: Judge = TableJudge(*found)
    async with asked_of(ChatTechniques(techniques(), judge), "azure") as asked:
        judgements = await asked.judge_claims(CLAIMS)
    expected = [judgement and replace(judgement, judge="local: table") for judgement in found]
    assert [
        judgement and replace(judgement, support=round(judgement.support, 6)) for judgement in judgements
    ] == expected


async def test_the_emulated_service_without_a_judge_refuses_at_once() -> None:
    """Asking again would be of no use, and a fault of the judge alone must not close the way to the model."""
    async with asked_of(techniques(), "azure") as judge:
        with pytest.raises(Unavailable) as failure:
            await judge.judge_claims(CLAIMS)
    assert failure.value.code == "llm_unavailable"
    assert failure.value.details["attempts"] == 1

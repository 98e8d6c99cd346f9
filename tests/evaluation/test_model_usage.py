"""What a hosted model would be sent, and would write, is counted where a local technique stands in."""

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.evaluation.model_usage import HYDE_ANSWER_TOKENS, CountingLLM, ModelUsage
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.providers.local_techniques import LocalTechniques
from tests.fakes import OverlapReranker, ScriptedLLM

LOCAL = LocalTechniques(OverlapReranker(), select_key_sentences)


async def billed(imagine: bool, llm: LLM) -> ModelUsage:
    bill = ModelUsage()
    await CountingLLM(llm, bill).complete(
        prompts.build_query_expansion_prompt("red valve", [], count=1, with_hyde=imagine)
    )
    return bill


async def test_an_answer_that_is_to_be_imagined_is_counted_as_written_and_as_embedded() -> None:
    without, with_one = await billed(False, LOCAL), await billed(True, LOCAL)
    assert with_one.output_tokens - without.output_tokens == HYDE_ANSWER_TOKENS
    assert (without.embedded_tokens, with_one.embedded_tokens) == (0, HYDE_ANSWER_TOKENS)


async def test_a_reply_that_imagines_is_counted_as_it_is() -> None:
    assert (await billed(True, ScriptedLLM(query_expansion="one two"))).output_tokens == 2


async def test_what_a_local_technique_is_asked_with_another_reranker_is_counted_too() -> None:
    bill, other = ModelUsage(), OverlapReranker()
    counting = CountingLLM(LOCAL, bill).replace_reranker(other)
    await counting.complete(prompts.build_grading_prompt("red valve", {"p1": "a red valve"}))
    assert (len(other.calls), bill.chat_tasks) == (1, ["rerank"])
    chat_model = CountingLLM(ScriptedLLM(), bill)
    assert chat_model.replace_reranker(other) is chat_model

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from rag_core.answering.answer import NOTHING_FOUND_TEXT
from rag_core.composition import assembly, model_assembly
from rag_core.core.errors import Conflict, InvalidRequest, NotFound, Unavailable, UnsupportedScript
from rag_core.core.index import Index
from rag_core.core.model import SavedQuery, Scope
from rag_core.core.ports import Completion, Prompt
from rag_core.core.presets import PRESETS
from rag_core.core.settings import Settings
from rag_core.ingestion import lifecycle
from rag_core.workbench import augmentation_step, expansion_step, retrieval_steps
from rag_core.workbench.session import WorkbenchSession, find_next_step, load_saved_query
from rag_core.workbench.step_records import STEP_ORDER
from tests.fakes import SCOPE, ConceptEmbedder, Down, OverlapReranker, ScriptedLLM, filled
from tests.workbench.sessions import EXPANSION, IMAGINED, MANUAL, QUESTION, SAID, again, bench

SMALL = {"context_min_chars": 20}


@pytest.fixture
async def table() -> AsyncIterator[WorkbenchSession]:
    """A workbench whose contexts may be as short as its documents."""
    made = await bench()
    await made.kit.archive.save_edited_preset("workbench", SMALL)
    yield made
    await made.kit.close()


async def expanded(at: WorkbenchSession) -> SavedQuery:
    return await expansion_step.expand_and_save_query(QUESTION, again(at))


async def retrieved(at: WorkbenchSession) -> SavedQuery:
    query = await expanded(at)
    await retrieval_steps.embed_saved_query(query.id, again(at))
    return await retrieval_steps.retrieve_for_saved_query(query.id, again(at))


async def consolidated(at: WorkbenchSession) -> SavedQuery:
    return await retrieval_steps.consolidate_saved_query((await retrieved(at)).id, again(at))


def asked_of(at: WorkbenchSession) -> ConceptEmbedder:
    embedder = at.kit.index.embedder
    assert isinstance(embedder, ConceptEmbedder)
    return embedder


async def test_the_steps_are_taken_in_order_and_each_says_what_is_next(table: WorkbenchSession) -> None:
    """S0-95, S0-96, S0-97, S0-98, S0-99: from no_vec to vec, to retrieved, to consolidated, to a result."""
    query = await expanded(table)
    assert (query.vector_status, find_next_step(query)) == ("no_vec", "embed")
    query = await retrieval_steps.embed_saved_query(query.id, again(table))
    assert (query.vector_status, find_next_step(query)) == ("vec", "retrieve")
    query = await retrieval_steps.retrieve_for_saved_query(query.id, again(table))
    assert query.retrieved_context
    assert find_next_step(query) == "consolidate"
    query = await retrieval_steps.consolidate_saved_query(query.id, again(table))
    assert query.clean_retrieval_context
    assert find_next_step(query) == "augment"
    await augmentation_step.answer_saved_query(query.id, 5, again(table))
    query = await load_saved_query(query.id, again(table))
    assert query.results_count == 1
    assert tuple(query.steps) == STEP_ORDER


async def test_an_expansion_is_kept_with_all_its_parts(table: WorkbenchSession) -> None:
    """S0-71, S0-72: MQE queries, HyDE text, intent and entities; nothing is embedded yet."""
    query = await load_saved_query((await expanded(table)).id, again(table))
    assert list(query.expanded_queries) == EXPANSION["queries"]
    assert (query.hyde_answer, query.intent, query.entities) == (IMAGINED, "DEFINITION", ("P0700",))
    assert (query.vector_status, query.embedding_original, query.origin) == ("no_vec", None, "workbench")


async def test_the_full_model_expands_and_the_light_one_answers_unless_said_otherwise() -> None:
    """S0-68, S0-70, C36."""
    light, full = (ScriptedLLM(query_expansion=json.dumps(EXPANSION), rag_augmentation=SAID) for _ in range(2))
    at = await bench(llm=light, full_llm_or_none=full)
    query = await expanded(at)
    await expansion_step.expand_and_save_query(QUESTION, again(at), use_full_model=False)
    await retrieval_steps.embed_saved_query(query.id, again(at))
    await retrieval_steps.retrieve_for_saved_query(query.id, again(at))
    await augmentation_step.answer_saved_query(query.id, 5, again(at))
    await augmentation_step.answer_saved_query(query.id, 5, again(at), use_full_model=True)
    assert [prompt.task for prompt in light.prompts] == ["query_expansion", "rag_augmentation"]
    assert [prompt.task for prompt in full.prompts] == ["query_expansion", "rag_augmentation"]
    await at.kit.close()


@pytest.mark.parametrize("key", ["openai_api_key", "gemini_api_key"])
def test_both_models_are_of_the_provider_that_is_configured(key: str) -> None:
    """S0-73: OpenAI, Gemini, or another by its own settings."""
    kit = assembly.build_kit(Settings(data_dir=None, full_model="larger", **{key: "k"}))  # type: ignore[arg-type]
    provider = key.split("_")[0]
    assert [name.split()[0] for name in (kit.full_llm.name, kit.llm.name)] == [provider, provider]


@pytest.mark.parametrize(
    ("provider", "chat", "embedding", "host"),
    [
        ("openai", "gpt-4o-mini", "text-embedding-3-small;1536;", "api.openai.com"),
        ("gemini", "gemini-1.5-flash", "text-embedding-004;768;", "generativelanguage.googleapis.com"),
    ],
)
def test_chat_models_and_embeddings_come_from_the_chosen_provider_when_both_have_keys(
    provider: str, chat: str, embedding: str, host: str
) -> None:
    """S0-73: each provider by its own models, address and key, and nothing of the other one's."""
    settings = Settings(
        data_dir=None, llm_provider=provider, openai_api_key="openai's", gemini_api_key="gemini's", full_model="larger"
    )
    kit = assembly.build_kit(settings)
    profile, key = model_assembly.build_provider_profile(settings, provider)
    assert (kit.llm.name, kit.full_llm.name) == (f"{provider} {chat}", f"{provider} larger")
    assert kit.index.embedder.space == embedding
    assert (urlsplit(profile.base_url).hostname, key) == (host, f"{provider}'s")


def test_the_full_model_is_another_only_where_one_is_named() -> None:
    """S0-70, C36: RAG_FULL_MODEL names it, at the same provider."""
    one = assembly.build_kit(Settings(data_dir=None, openai_api_key="k"))
    two = assembly.build_kit(Settings(data_dir=None, openai_api_key="k", full_model="gpt-4.1"))
    assert one.full_llm is one.llm
    assert (two.full_llm.name, two.llm.name) == ("openai gpt-4.1", "openai gpt-4o-mini")
    assert assembly.build_kit(Settings(data_dir=None, full_model="gpt-4.1")).full_llm_or_none is None


async def test_the_prompt_that_is_shown_is_the_one_that_is_sent(table: WorkbenchSession) -> None:
    """S0-70, S0-75: and showing it asks no model."""
    llm = table.kit.llm
    assert isinstance(llm, ScriptedLLM)
    shown = await expansion_step.build_expansion_prompt(QUESTION, again(table))
    assert llm.prompts == []
    await expanded(table)
    assert [prompt.text for prompt in llm.prompts] == [shown.text]
    assert shown.text.startswith("You are an expert")
    assert QUESTION in shown.text
    assert SAID in shown.text, "a passage of the index shows how it speaks"


async def test_an_edited_wording_of_the_expansion_is_used(table: WorkbenchSession) -> None:
    """S0-69, C35: the packaged one is the default."""
    await table.kit.archive.save_edited_prompt("query_expansion", "Reply with JSON.")
    assert (await expansion_step.build_expansion_prompt(QUESTION, again(table))).system == "Reply with JSON."


async def test_an_expansion_without_a_model_keeps_the_question_and_says_so() -> None:
    at = await bench(llm=ScriptedLLM())
    query = await expanded(at)
    assert (query.original_query, query.expanded_queries) == (QUESTION, ())
    [told] = query.steps["expand"]["degraded"]
    assert (told["step"], told["fallback"]) == ("query_expansion", "the original question only")
    await at.kit.close()


async def test_an_empty_question_is_refused_by_name(table: WorkbenchSession) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await expansion_step.expand_and_save_query(" \n", again(table))
    assert refused.value.field == "original_query"


async def test_each_text_is_embedded_in_the_way_of_the_document(table: WorkbenchSession) -> None:
    """S0-22, S0-40, S0-41, C37: the question and the imagined answer as queries, the other wordings as documents."""

    class Told(ConceptEmbedder):
        async def embed_documents(self, texts: Any) -> Any:
            vectors = [await self.embed_query(text) for text in texts]
            self.asked[-len(texts) :] = [f"document: {text}" for text in texts]
            return vectors

    query = await expanded(table)
    embedder = Told()
    at = replace(table, kit=replace(table.kit, index=Index(table.kit.index.store, embedder)))
    done = await retrieval_steps.embed_saved_query(query.id, again(at))
    assert embedder.asked == [QUESTION, *(f"document: {text}" for text in query.expanded_queries), IMAGINED]
    assert done.embedding_original == tuple(await embedder.embed_query(QUESTION))
    assert list(done.embeddings_mqe) == [tuple(await embedder.embed_query(text)) for text in query.expanded_queries]
    assert done.embedding_hyde == tuple(await embedder.embed_query(IMAGINED))
    assert (done.vector_status, done.space) == ("vec", embedder.space)
    assert await load_saved_query(query.id, again(at)) == done


async def test_a_failed_embedding_is_kept_as_such_and_can_be_tried_again(table: WorkbenchSession) -> None:
    """S0-100: vec_err, and the caller is told."""
    query = await expanded(table)
    broken = replace(table, kit=replace(table.kit, index=Index(table.kit.index.store, Down())))  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        await retrieval_steps.embed_saved_query(query.id, again(broken))
    failed = await load_saved_query(query.id, again(table))
    assert (failed.vector_status, find_next_step(failed)) == ("vec_err", "embed")
    assert failed.steps["embed"]["came_out"]["error"]["code"] == "down"
    assert (await retrieval_steps.embed_saved_query(query.id, again(table))).vector_status == "vec"


async def test_a_question_in_a_script_that_the_embedder_does_not_read_is_searched_by_its_words(
    table: WorkbenchSession,
) -> None:
    """S0-22, S0-44: the step is taken and says so; without words there is nothing to search by, which is said too."""

    class English(ConceptEmbedder):
        async def embed_query(self, text: str) -> Any:
            raise UnsupportedScript("in another script")

    query = await expanded(table)
    at = replace(table, kit=replace(table.kit, index=Index(table.kit.index.store, English())))
    done = await retrieval_steps.embed_saved_query(query.id, again(at))
    assert (done.vector_status, done.embedding_original, done.steps["embed"]["came_out"]["embeddings"]) == (
        "vec",
        None,
        0,
    )
    assert done.steps["embed"]["degraded"][0]["code"] == "script_unread"
    found = await retrieval_steps.retrieve_for_saved_query(query.id, again(at))
    assert found.retrieved_context
    assert all("meaning" not in passage["scores"] for passage in found.retrieved_context)
    silent = replace(at, kit=replace(at.kit, index=Index(Down(), English())))  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        await retrieval_steps.retrieve_for_saved_query(query.id, again(silent))


@pytest.mark.parametrize(
    "step",
    [
        retrieval_steps.retrieve_for_saved_query,
        retrieval_steps.consolidate_saved_query,
        lambda id, bench: augmentation_step.answer_saved_query(id, 5, bench),
    ],
    ids=["retrieve", "consolidate", "answer"],
)
async def test_a_step_out_of_order_is_refused_by_the_name_of_the_missing_one(
    table: WorkbenchSession, step: Callable[[int, WorkbenchSession], Awaitable[object]]
) -> None:
    """S0-42: a question that is not embedded is not retrieved for."""
    query = await expanded(table)
    with pytest.raises(Conflict) as refused:
        await step(query.id, again(table))
    assert refused.value.code == "step_missing"
    assert refused.value.message == "embed the query first"
    assert refused.value.details == {"next_step": "embed"}


async def test_embeddings_of_another_model_are_no_embeddings(table: WorkbenchSession) -> None:
    """S0-100, S0-42: the configured embedder was changed since."""
    query = await retrieval_steps.embed_saved_query((await expanded(table)).id, again(table))
    await table.kit.archive.update_query(replace(query, space="another model"), SCOPE)
    with pytest.raises(Conflict, match="embed the query first"):
        await retrieval_steps.retrieve_for_saved_query(query.id, again(table))


async def test_a_question_is_its_workflows_and_its_users_own(table: WorkbenchSession) -> None:
    query = await retrieved(replace(table, scope=Scope("garage", "ann")))
    for scope in (Scope("garage", "bob"), Scope("garage"), Scope("other", "ann")):
        stranger = replace(table, scope=scope)
        for step in (
            load_saved_query,
            retrieval_steps.embed_saved_query,
            retrieval_steps.retrieve_for_saved_query,
            retrieval_steps.consolidate_saved_query,
        ):
            with pytest.raises(NotFound) as refused:
                await step(query.id, again(stranger))
            assert refused.value.code == "query_not_found"
        for work in (
            augmentation_step.answer_saved_query(query.id, 5, again(stranger)),
            expansion_step.edit_saved_query(query.id, {"intent": "x"}, again(stranger)),
        ):
            with pytest.raises(NotFound):
                await work


@pytest.mark.parametrize(
    ("changes", "status", "keeps"),
    [
        ({"original_query": "And P0300?"}, "to_vec", False),
        ({"expanded_queries": ["one"]}, "to_vec", False),
        ({"hyde_answer": ""}, "to_vec", False),
        ({"intent": "mechanism"}, "vec", False),
        ({"entities": ["TCM"]}, "vec", False),
        ({"intent": "DEFINITION", "entities": ["P0700"]}, "vec", True),
    ],
)
async def test_an_edit_takes_back_what_depended_on_it(
    table: WorkbenchSession, changes: dict[str, Any], status: str, keeps: bool
) -> None:
    """S0-18, S0-87, S0-100: no stale embeddings; intent and entities only move what was retrieved."""
    query = await consolidated(table)
    edited = await expansion_step.edit_saved_query(query.id, changes, again(table))
    assert edited.vector_status == status
    assert (edited.embedding_original is None) is (status == "to_vec")
    assert (edited.retrieved_context is not None, edited.clean_retrieval_context is not None) == (keeps, keeps)
    assert ("retrieve" in edited.steps, "expand" in edited.steps) == (keeps, True)
    assert await load_saved_query(query.id, again(table)) == edited


async def test_a_question_that_was_never_embedded_stays_so_when_it_is_edited(table: WorkbenchSession) -> None:
    query = await expanded(table)
    assert (
        await expansion_step.edit_saved_query(query.id, {"original_query": "Why?"}, again(table))
    ).vector_status == "no_vec"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"vector_status": "vec"}, "vector_status"),
        ({"original_query": " "}, "original_query"),
        ({"entities": "TCM"}, "entities"),
        ({"intent": 7}, "intent"),
    ],
)
async def test_an_edit_that_cannot_be_is_refused_by_name(
    table: WorkbenchSession, changes: dict[str, Any], field: str
) -> None:
    query = await expanded(table)
    with pytest.raises(InvalidRequest) as refused:
        await expansion_step.edit_saved_query(query.id, changes, again(table))
    assert refused.value.field == field


async def test_retrieval_embeds_nothing_and_asks_no_model(table: WorkbenchSession) -> None:
    """S0-53: it searches by what is kept."""
    query = await retrieval_steps.embed_saved_query((await expanded(table)).id, again(table))
    asked_of(table).asked.clear()
    llm = table.kit.llm
    assert isinstance(llm, ScriptedLLM)
    llm.prompts.clear()
    await retrieval_steps.retrieve_for_saved_query(query.id, again(table))
    assert asked_of(table).asked == llm.prompts == []


async def test_a_retrieved_passage_has_its_place_and_every_score_by_name(table: WorkbenchSession) -> None:
    """S0-52: id, content, scores, metadata."""
    first = (await retrieved(table)).retrieved_context
    assert first is not None
    best = first[0]
    assert (best["id"], best["content"], best["line_start"], best["section"]) == ("a", MANUAL[0].content, 1, ["Codes"])
    assert best["scores"].keys() >= {"fused", "meaning", "words", "rerank", "entity_boost", "intent_boost", "final"}
    assert (best["ranks"]["words"], best["ranks"]["fused"], best["ranks"]["dense"] > 0) == (1, 1, True)
    assert [item["scores"]["final"] for item in first] == sorted((i["scores"]["final"] for i in first), reverse=True)
    json.dumps(first)


async def test_the_numbers_are_those_of_the_preset_and_its_edits(table: WorkbenchSession) -> None:
    """S0-43, S0-51, S0-84: 15 unless edited."""
    assert PRESETS["workbench"].search.top_k == 15
    await table.kit.archive.save_edited_preset("workbench", {**SMALL, "top_k": 1})
    query = await retrieved(table)
    assert len(query.retrieved_context or ()) == 1
    assert query.preset["top_k"] == 1


async def test_without_a_ranker_the_order_is_the_fusions_and_the_step_says_so(table: WorkbenchSession) -> None:
    at = replace(table, kit=replace(table.kit, reranker=Down()))  # type: ignore[arg-type]
    query = await retrieved(at)
    assert [told["step"] for told in query.steps["retrieve"]["degraded"]] == ["semantic"]
    assert query.retrieved_context
    assert query.retrieved_context[0]["id"] == "a"


async def test_a_step_says_what_went_in_what_came_out_who_did_it_and_what_it_took(table: WorkbenchSession) -> None:
    account = (await expanded(table)).steps["expand"]
    assert account["went_in"]["query"] == QUESTION
    assert account["came_out"]["expanded_queries"] == 2
    assert account["techniques"] == {"query_expansion": "scripted-1"}
    assert (account["input_tokens"], account["output_tokens"], account["cost_usd"]) == (10, 2, pytest.approx(0.001))
    assert account["ms"] > 0


async def test_what_is_retrieved_again_is_consolidated_again(table: WorkbenchSession) -> None:
    query = await consolidated(table)
    later = await retrieval_steps.retrieve_for_saved_query(query.id, again(table))
    assert later.clean_retrieval_context is None
    assert "consolidate" not in later.steps


async def test_a_question_changed_meanwhile_is_not_overwritten(table: WorkbenchSession) -> None:
    query = await retrieved(table)

    class Late(OverlapReranker):
        async def score_passages(self, text: str, passages: Any) -> Any:
            await expansion_step.edit_saved_query(query.id, {"original_query": "Another?"}, again(table))
            return await super().score_passages(text, passages)

    with pytest.raises(Conflict) as refused:
        await retrieval_steps.retrieve_for_saved_query(
            query.id, again(replace(table, kit=replace(table.kit, reranker=Late())))
        )
    assert refused.value.code == "query_changed"
    assert (await load_saved_query(query.id, again(table))).original_query == "Another?"


async def test_the_prompt_is_made_of_the_consolidated_contexts_else_of_the_retrieved(table: WorkbenchSession) -> None:
    """S0-62, S0-63: the best `top_n`."""
    query = await retrieved(table)
    raw = await augmentation_step.build_augmented_prompt(query.id, 5, again(table))
    assert raw.context_count == len(query.retrieved_context or ())
    clean = await retrieval_steps.consolidate_saved_query(query.id, again(table))
    made = await augmentation_step.build_augmented_prompt(query.id, 5, again(table))
    assert made.context_count == len(clean.clean_retrieval_context or ()) < raw.context_count
    one = await augmentation_step.build_augmented_prompt(query.id, 1, again(table))
    assert one.context_count == 1
    assert one.text.count("## [") == 1


async def test_the_prompt_has_the_query_and_each_context_under_its_title(table: WorkbenchSession) -> None:
    """S0-28, S0-65, S0-66, S0-67."""
    made = await augmentation_step.build_augmented_prompt((await consolidated(table)).id, 5, again(table))
    assert made.text.startswith("You are an expert")
    assert f"\n\nQuery: {QUESTION}\n\nContext:\n" in made.text
    assert f"## [The manual] > Codes\n\n{SAID}" in made.text
    assert "Intent: DEFINITION" in made.text
    assert "Entities: P0700" in made.text


async def test_an_edited_template_is_used(table: WorkbenchSession) -> None:
    """S0-64: of the database, by its function tag."""
    await table.kit.archive.save_edited_prompt("rag_augmentation", "Say {query} of {contexts}")
    made = await augmentation_step.build_augmented_prompt((await consolidated(table)).id, 1, again(table))
    assert made.text.startswith(f"Say {QUESTION} of <data ")


async def test_a_prompt_that_does_not_fit_is_cut_and_says_so(table: WorkbenchSession) -> None:
    long = [f"P0700 sentence number {n} on the gearbox and its lamp." for n in range(40)]
    at = await bench(*(replace(MANUAL[0], content=" ".join(long), content_hash="x"), MANUAL[3]))
    await at.kit.archive.save_edited_preset("workbench", {**SMALL, "context_tokens": 100})
    query = await retrieved(at)
    asked = again(at)
    made = await augmentation_step.build_augmented_prompt(query.id, 5, asked)
    assert [warning.code for warning in asked.run.warnings] == ["context_trimmed"]
    assert len(made.evidence[0].text) < len(" ".join(long))
    await at.kit.close()


async def test_a_response_is_kept_with_each_sentence_judged_and_placed(table: WorkbenchSession) -> None:
    """S0-68, S0-99."""
    llm = ScriptedLLM(rag_augmentation=f"{SAID} The brake has P0700.")
    at = replace(table, kit=replace(table.kit, llm=llm))
    query = await consolidated(table)
    result = await augmentation_step.answer_saved_query(query.id, 5, again(at))
    kept = await table.kit.archive.load_result(query.id, result.id, SCOPE)
    assert kept == result
    assert (result.model, result.response_text) == ("scripted-1", f"{SAID} The brake has P0700.")
    first, second = result.details["claims"]
    assert (first["verdict"], second["verdict"]) == ("verified", "partial")
    [cited] = first["citations"]
    assert (cited["chunk_id"], cited["document_id"], cited["lines"]) == ("a", "manual", [1, 1])
    assert result.details["input_tokens"] == 10
    assert result.details["went_in"]["contexts"] == 3
    json.dumps(dict(result.details))


async def test_a_citation_of_a_group_names_the_chunk_on_whose_lines_it_stands(table: WorkbenchSession) -> None:
    said = "The lamp stays on until the gearbox is repaired."
    at = replace(table, kit=replace(table.kit, llm=ScriptedLLM(rag_augmentation=said)))
    result = await augmentation_step.answer_saved_query((await consolidated(table)).id, 5, again(at))
    [cited] = result.details["claims"][0]["citations"]
    assert (cited["chunk_id"], cited["lines"]) == ("b", [3, 3])


async def test_a_model_that_does_not_answer_is_stood_in_for_by_the_documents_own_sentences(
    table: WorkbenchSession,
) -> None:
    query = await consolidated(table)
    asked = again(replace(table, kit=replace(table.kit, llm=ScriptedLLM())))
    result = await augmentation_step.answer_saved_query(query.id, 5, asked)
    assert result.response_text.startswith(SAID)
    assert result.model.startswith("local: ")
    assert [told.step for told in asked.run.degraded] == ["answer"]


async def test_nothing_retrieved_is_answered_by_not_knowing() -> None:
    llm = ScriptedLLM(query_expansion=json.dumps(EXPANSION), rag_augmentation="Bananas are blue.")
    at = await bench(llm=llm, index=await filled(MANUAL[3], scope=Scope("elsewhere")))
    query = await retrieval_steps.consolidate_saved_query((await retrieved(at)).id, again(at))
    result = await augmentation_step.answer_saved_query(query.id, 5, again(at))
    assert (query.retrieved_context, query.clean_retrieval_context) == ((), ())
    assert (result.response_text, result.details["claims"]) == (NOTHING_FOUND_TEXT, [])
    assert [prompt.task for prompt in llm.prompts] == ["query_expansion"]
    await at.kit.close()


async def test_whose_text_went_in_is_kept_with_what_a_model_made_of_it(table: WorkbenchSession) -> None:
    """S0-72, S0-99, S3-16: a purge goes by it, and finds an expansion that nothing was retrieved for."""
    query = await consolidated(table)
    assert query.steps["expand"]["went_in"]["document_ids"] == ["brakes", "manual"]
    result = await augmentation_step.save_pasted_answer(query.id, "Bananas are blue.", 5, again(table))
    assert result.details["document_ids"] == ["brakes", "manual"]
    grounded = await expanded(table)
    await table.kit.archive.purge_document("manual", SCOPE.workflow_id)
    left = await load_saved_query(grounded.id, again(table))
    assert (left.expanded_queries, left.hyde_answer, find_next_step(left)) == ((), "", "embed")


async def test_a_response_of_a_document_that_is_purged_meanwhile_is_not_kept(table: WorkbenchSession) -> None:
    """S3-16."""
    query = await consolidated(table)

    class Purged(ScriptedLLM):
        async def complete(self, prompt: Prompt) -> Completion:
            await lifecycle.delete_document("manual", SCOPE, table.kit, again(table).run, purge=True)
            return await super().complete(prompt)

    at = replace(table, kit=replace(table.kit, llm=Purged(rag_augmentation=SAID)))
    with pytest.raises(Conflict) as refused:
        await augmentation_step.answer_saved_query(query.id, 5, again(at))
    assert refused.value.code == "query_changed"
    assert await table.kit.archive.list_results(query.id, SCOPE) == []


async def test_of_a_very_long_response_the_first_sentences_are_checked_and_that_is_said(
    table: WorkbenchSession,
) -> None:
    """S0-68."""
    query, asked = await consolidated(table), again(table)
    result = await augmentation_step.save_pasted_answer(query.id, "- Bananas are blue.\n" * 501, 5, asked)
    assert len(result.details["claims"]) == 500
    assert [(told.code, told.message) for told in asked.run.warnings] == [
        ("claims_cut", "only the first 500 of 501 sentences are verified")
    ]


async def test_why_there_are_no_vectors_is_told_also_when_the_status_cannot_be_kept(table: WorkbenchSession) -> None:
    """S0-22, S0-87: another has changed the question meanwhile."""
    query = await expanded(table)

    class Late(ConceptEmbedder):
        async def embed_query(self, text: str) -> Any:
            await expansion_step.edit_saved_query(query.id, {"original_query": "Another?"}, again(table))
            raise Unavailable("it is down", code="embedding_unavailable")

    at = replace(table, kit=replace(table.kit, index=replace(table.kit.index, embedder=Late())))
    with pytest.raises(Unavailable) as refused:
        await retrieval_steps.embed_saved_query(query.id, again(at))
    assert refused.value.code == "embedding_unavailable"
    assert (await load_saved_query(query.id, again(table))).vector_status == "no_vec"


async def test_no_link_of_a_response_is_kept_that_the_contexts_do_not_have(table: WorkbenchSession) -> None:
    query, asked = await consolidated(table), again(table)
    result = await augmentation_step.save_pasted_answer(query.id, f"{SAID} See https://evil.example/?q=1", 5, asked)
    assert "evil" not in json.dumps([result.response_text, dict(result.details)])
    assert [told.code for told in asked.run.degraded] == ["link_removed"]


async def test_a_pasted_response_is_judged_as_a_models_is(table: WorkbenchSession) -> None:
    """S0-68: and a result without a model is one that was pasted."""
    query = await consolidated(table)
    result = await augmentation_step.save_pasted_answer(query.id, f"{SAID} Bananas are blue.", 5, again(table))
    assert result.model == ""
    first, second = result.details["claims"]
    assert [claim["verdict"] for claim in (first, second)] == ["verified", "unsupported"]
    assert (first["finding"], first["nearest"], second["finding"]) == ("supported", SAID, "not_stated")
    assert (second["explanation"], SAID in second["nearest"]) == ("no passage has these words", True)
    with pytest.raises(InvalidRequest) as refused:
        await augmentation_step.save_pasted_answer(query.id, " ", 5, again(table))
    assert refused.value.field == "response_text"


async def test_a_pasted_expansion_makes_a_question_and_says_what_was_not_read(table: WorkbenchSession) -> None:
    """S0-71, S0-72: nothing is dropped in silence."""
    asked = again(table)
    pasted = "Sure, here they are.\n\nMQE queries:\n1. What is P0700?\n\nIntent: DEFINITION\nEntities: P0700, TCM"
    query = await expansion_step.save_pasted_expansion(QUESTION, pasted, asked)
    assert query.expanded_queries == ("What is P0700?",)
    assert (query.intent, query.entities, query.hyde_answer) == ("DEFINITION", ("P0700", "TCM"), "")
    assert [(w.code, w.message) for w in asked.run.warnings] == [
        ("lines_unread", "lines 1 of llm_response belong to no part of it"),
        ("expansion_incomplete", "llm_response has no HyDE answer"),
    ]
    assert query.steps["expand"]["techniques"] == {"query_expansion": "pasted"}


async def test_the_whole_flow_works_without_any_chat_model() -> None:
    """S0-95 to S0-99: by the local techniques, each named in its step's account."""
    parts = assembly.build_in_memory_kit(Settings(data_dir=None))
    at = WorkbenchSession(parts, again(await bench()).run, Scope("default"))
    await parts.index.add_document(*_document(), Scope("default"))
    await parts.archive.save_edited_preset("workbench", SMALL)
    query = await consolidated(at)
    result = await augmentation_step.answer_saved_query(query.id, 5, again(at))
    assert query.intent == "FACT"
    assert "P0700" in query.entities
    assert query.steps["expand"]["techniques"]["query_expansion"].startswith("local: pseudo-relevance feedback")
    assert "MiniLM" in query.steps["retrieve"]["techniques"]["ranker"]
    assert result.response_text.startswith(SAID)
    assert result.details["claims"][0]["verdict"] == "verified"
    await parts.close()


def _document() -> tuple[Any, Any]:
    from rag_core.core.model import Document

    return Document("manual", "default", "The manual", "manual.md", "h", "test"), list(MANUAL[:3])

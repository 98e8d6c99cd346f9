"""What every archive promises."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from rag_core.core.errors import Conflict, InvalidRequest, NotFound
from rag_core.core.model import Original, SavedQuery, SavedResult, Scope
from rag_core.core.ports import Archive
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from tests import postgres

WARD, GARAGE = Scope("ward"), Scope("garage")
ANN, BOB = Scope("ward", "ann"), Scope("ward", "bob")
PASSAGE = {"id": "c1", "document_id": "manual", "content": "7 bar\x00", "section": ["A", "B"], "boxes": [[0.1, 2]]}
FULL = SavedQuery(
    id=0,
    workflow_id="",
    original_query="At what pressure? – täxt 𝄞",
    expanded_queries=("relief pressure", "opening pressure"),
    hyde_answer="It opens at 7 bar.",
    intent="DEFINITION",
    entities=("valve",),
    vector_status="vec",
    embedding_original=(0.1, -0.25, 1e-9),
    embeddings_mqe=((0.5, 0.5), (1.0, 0.0)),
    embedding_hyde=(0.3,),
    space="a model",
    retrieved_context=(PASSAGE,),
    clean_retrieval_context=(),
    origin="ask",
    preset={"top_k": 15, "name": "workbench"},
    steps={"embed": {"ms": 1.5, "degraded": []}},
)


@pytest.fixture(params=["file", "memory", "postgres"])
async def archive(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlArchive]:
    where: dict[str, Any] = {"file": tmp_path / "data" / "archive.sqlite3", "memory": None}
    made = SqlArchive(ArchiveDatabase(where[request.param] if request.param in where else emptied()))
    yield made
    await made.close()


def emptied() -> str:
    """The address of a database that has the tables of no archive."""
    return postgres.empty_database("archive")


def asked(text: str = "what?") -> SavedQuery:
    return SavedQuery(0, "", text)


async def test_a_question_comes_back_as_it_was_kept(archive: Archive) -> None:
    """S0-86, S0-17: every field, numbers to the last bit, "found nothing" apart from "not asked yet"."""
    kept = await archive.add_query(FULL, ANN)
    assert kept == replace(
        FULL, id=kept.id, workflow_id="ward", user_id="ann", created_at=kept.created_at, updated_at=kept.created_at
    )
    assert await archive.load_query(kept.id, ANN) == kept
    assert abs((datetime.now(UTC) - datetime.fromisoformat(kept.created_at)).total_seconds()) < 60
    bare = await archive.add_query(asked(), WARD)
    assert await archive.load_query(bare.id, WARD) == bare
    assert (bare.vector_status, bare.retrieved_context) == ("no_vec", None)


@pytest.mark.parametrize("status", ["no_vec", "to_vec", "vec", "vec_err"])
async def test_each_status_of_vectors_is_kept(archive: Archive, status: Any) -> None:
    """S0-87."""
    kept = await archive.add_query(replace(asked(), vector_status=status), WARD)
    assert (await archive.list_queries(WARD, limit=1))[0].vector_status == status
    assert await archive.load_query(kept.id, WARD) == kept


async def test_questions_are_listed_by_id_the_highest_first_a_part_at_a_time(archive: Archive) -> None:
    """S0-13, S0-14: with the number of results, and whether there are contexts."""
    ids = [(await archive.add_query(query, WARD)).id for query in (asked(), FULL, asked("third"))]
    for number in (1, 2):
        await archive.add_result(SavedResult(0, ids[1], str(number)), WARD)
    listed = await archive.list_queries(WARD, limit=9)
    assert [query.id for query in listed] == ids[::-1] == sorted(ids, reverse=True)
    assert [query.results_count for query in listed] == [0, 2, 0]
    assert [query.retrieved_context for query in listed] == [None, (), None]
    assert (listed[1].embedding_original, listed[1].intent, listed[1].origin) == (None, "DEFINITION", "ask")
    assert [query.id for query in await archive.list_queries(WARD, limit=1, before=ids[2])] == [ids[1]]
    assert await archive.list_queries(WARD, limit=9, before=ids[0]) == []
    assert len(await archive.list_queries(WARD, limit=9, before=10**30)) == await archive.count_queries(WARD) == 3
    assert (await archive.load_query(ids[1], WARD) or FULL).results_count == 2


async def test_listing_is_one_statement_that_reads_no_context_and_no_embedding(archive: SqlArchive) -> None:
    """S0-94: however many questions there are."""
    for number in range(5):
        query = await archive.add_query(replace(FULL, original_query=str(number)), WARD)
        await archive.add_result(SavedResult(0, query.id, "an answer"), WARD)
    statements: list[str] = []
    engine = archive._database._engine
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2].lower()))
    assert len(await archive.list_queries(WARD, limit=5)) == 5
    listing, *others = [statement for statement in statements if not statement.startswith("begin")]
    assert ["row_checksums" in statement for statement in others] == [True]  # what the rows are checked against
    assert "embedding" not in listing
    assert listing.count("retrieved_context") == listing.count("retrieved_context is not null") + 1  # its name


async def test_a_change_is_kept_and_counted(archive: Archive) -> None:
    """S0-19."""
    kept = await archive.add_query(FULL, ANN)
    changed = await archive.update_query(replace(kept, intent="", retrieved_context=None, embedding_hyde=None), ANN)
    assert await archive.load_query(kept.id, ANN) == changed
    assert (changed.version, changed.retrieved_context, changed.embedding_hyde) == (2, None, None)
    assert changed.updated_at > changed.created_at == kept.created_at


async def test_a_change_of_what_another_changed_meanwhile_is_refused(archive: Archive) -> None:
    kept = await archive.add_query(asked(), WARD)
    changed = await archive.update_query(replace(kept, intent="DEFINITION"), WARD)
    with pytest.raises(Conflict) as refused:
        await archive.update_query(replace(kept, intent="MECHANISM"), WARD)
    assert refused.value.code == "query_changed"
    assert await archive.load_query(kept.id, WARD) == changed


async def test_a_question_keeps_its_owner_whoever_the_change_says_it_is(archive: Archive) -> None:
    kept = await archive.add_query(asked(), ANN)
    await archive.update_query(replace(kept, workflow_id="garage", user_id="bob"), ANN)
    assert await archive.count_queries(BOB) == await archive.count_queries(GARAGE) == 0
    assert (await archive.load_query(kept.id, ANN) or FULL).user_id == "ann"


async def test_a_result_is_changed_in_place_and_by_nobody_who_may_not_see_it(archive: SqlArchive) -> None:
    """A rating stands in the details of the answer that it is about."""
    query = await archive.add_query(asked(), ANN)
    saved = await archive.add_result(SavedResult(0, query.id, "an answer", details={"status": "answered"}), ANN)
    rated = replace(saved, details={**saved.details, "feedback": {"rating": "up", "comment": ""}})
    changed = await archive.update_result(rated, ANN)
    assert await archive.load_result(query.id, saved.id, ANN) == changed
    assert (changed.created_at, changed.details["status"]) == (saved.created_at, "answered")
    for unseen, scope in ((rated, WARD), (replace(rated, id=saved.id + 1), ANN)):
        with pytest.raises(NotFound) as refusal:
            await archive.update_result(unseen, scope)
        assert refusal.value.code == "result_not_found"


async def test_results_are_listed_the_newest_first_and_go_with_their_question(archive: SqlArchive) -> None:
    """S0-88: one question, many results."""
    query, other = await archive.add_query(asked(), WARD), await archive.add_query(asked(), WARD)
    texts = [SavedResult(0, query.id, "first", "a model", {"tokens": 3}), SavedResult(0, query.id, "second")]
    first, second = [await archive.add_result(result, WARD) for result in texts]
    assert list(await archive.list_results(query.id, WARD)) == [second, first]
    assert await archive.load_result(query.id, first.id, WARD) == first
    assert (first.model, first.details, second.model) == ("a model", {"tokens": 3}, "")
    assert await archive.load_result(other.id, first.id, WARD) is None
    assert await archive.list_results(other.id, WARD) == []
    assert await archive.delete_query(query.id, WARD)
    assert await archive._database.read(lambda db: db.execute(text("select count(*) from results")).scalar()) == 0
    assert not await archive.delete_query(query.id, WARD)


async def test_an_id_is_never_given_again(archive: Archive) -> None:
    removed = await archive.add_query(asked(), WARD)
    await archive.delete_query(removed.id, WARD)
    assert (await archive.add_query(asked(), WARD)).id > removed.id


@pytest.mark.parametrize("id", [0, -1, 2**31, 2**63, 10**30])
async def test_a_question_that_is_not_there_is_not_found(archive: Archive, id: int) -> None:
    assert await archive.load_query(id, WARD) is None
    assert await archive.load_result(1, id, WARD) is None
    assert not await archive.delete_query(id, WARD)
    for refused in (
        archive.update_query(replace(FULL, id=id), WARD),
        archive.add_result(SavedResult(0, id, "x"), WARD),
    ):
        with pytest.raises(NotFound) as missing:
            await refused
        assert missing.value.code == "query_not_found"


async def test_nobody_sees_or_touches_the_question_of_another(archive: Archive) -> None:
    """S3-15: another user, who asks without a name, another workflow: the same as if it were not there."""
    kept = await archive.add_query(FULL, ANN)
    result = await archive.add_result(SavedResult(0, kept.id, "hers"), ANN)
    for stranger in (BOB, WARD, GARAGE, Scope("garage", "ann")):
        assert await archive.list_queries(stranger, limit=9) == []
        assert await archive.count_queries(stranger) == 0
        assert await archive.load_query(kept.id, stranger) is None
        assert await archive.list_results(kept.id, stranger) == []
        assert await archive.load_result(kept.id, result.id, stranger) is None
        assert not await archive.delete_query(kept.id, stranger)
        for refused in (
            archive.update_query(kept, stranger),
            archive.update_query(replace(kept, version=9), stranger),
            archive.add_result(SavedResult(0, kept.id, "his"), stranger),
        ):
            with pytest.raises(NotFound):
                await refused
    assert await archive.load_query(kept.id, ANN) == replace(kept, results_count=1)
    assert list(await archive.list_results(kept.id, ANN)) == [result]


async def test_what_is_nobodys_is_its_workflows(archive: Archive) -> None:
    kept = await archive.add_query(asked(), WARD)
    assert await archive.load_query(kept.id, ANN) == await archive.load_query(kept.id, BOB) == kept
    assert await archive.load_query(kept.id, Scope("garage", "ann")) is None


@given(st.lists(st.tuples(st.sampled_from(["w", "W", "w%", "w_"]), st.sampled_from([None, "a", "A", "%", ""]))))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_each_sees_its_own_of_many(owners: list[tuple[str, str | None]]) -> None:
    """S3-15: names of workflows and users are compared as they are."""
    archive = SqlArchive(ArchiveDatabase(None))
    kept = [await archive.add_query(asked(), Scope(*owner)) for owner in owners]
    for workflow, user in {*owners, ("w", None), ("w", "a")}:
        mine = {q.id for q, (w, u) in zip(kept, owners, strict=True) if w == workflow and u in (None, user)}
        assert {query.id for query in await archive.list_queries(Scope(workflow, user), limit=99)} == mine
    await archive.close()


async def test_an_edited_preset_is_kept_once_by_its_name(archive: Archive) -> None:
    """S0-90, S0-91, S0-85: the last edit stands, until it is taken back."""
    assert await archive.load_edited_presets() == {}
    await archive.save_edited_preset("workbench", {"top_k": 10}, "narrow")
    await archive.save_edited_preset("workbench", {"top_k": 30, "coverage_min": 0.5})
    await archive.save_edited_preset("classical", {"neighbours": 1}, "wide")
    assert await archive.load_edited_presets() == {
        "workbench": {"top_k": 30, "coverage_min": 0.5},
        "classical": {"neighbours": 1},
    }
    assert await archive.load_preset_descriptions() == {"workbench": "", "classical": "wide"}
    await archive.save_edited_preset("workbench", None)
    await archive.save_edited_preset("workbench", None)
    assert list(await archive.load_edited_presets()) == ["classical"]


async def test_an_edited_prompt_is_kept_once_by_its_tag(archive: Archive) -> None:
    """S0-92."""
    assert await archive.load_edited_prompts() == {}
    for wording in ("Expand: {query}", "Expand it well: {query}"):
        await archive.save_edited_prompt("query_expansion", wording)
    await archive.save_edited_prompt("rag_augmentation", "{context}")
    assert await archive.load_edited_prompts() == {
        "query_expansion": "Expand it well: {query}",
        "rag_augmentation": "{context}",
    }
    await archive.save_edited_prompt("query_expansion", None)
    assert list(await archive.load_edited_prompts()) == ["rag_augmentation"]


async def test_a_document_is_kept_as_it_came_in_place_of_the_earlier(archive: Archive) -> None:
    """S0-93."""
    work = Original("manual", "ward", "Manual", "manual.pdf", "pdf", "h1", bytes(range(256)) * 8)
    assert await archive.load_original("manual", "ward") is None
    for kept in (work, replace(work, content_hash="h2", data=b"", title="New")):
        await archive.save_original(kept)
        assert await archive.load_original("manual", "ward") == kept
    await archive.save_original(replace(work, workflow_id="garage"))
    assert await archive.list_original_hashes("ward") == {"manual": "h2"}
    await archive.delete_original("manual", "ward")
    assert await archive.load_original("manual", "ward") is None
    assert (await archive.load_original("manual", "garage") or work).content_hash == "h1"


async def test_a_purged_document_is_forgotten_wherever_its_text_was_copied(archive: Archive) -> None:
    """S3-16, (RELIABILITY C21): in the questions of everyone of the workflow, and of no other."""
    quoting = [await archive.add_query(FULL, scope) for scope in (ANN, BOB, GARAGE)]
    other = await archive.add_query(replace(FULL, retrieved_context=({"document_id": "leaflet"},)), ANN)
    for scope, query in zip((ANN, BOB, GARAGE, ANN), (*quoting, other), strict=True):
        await archive.add_result(SavedResult(0, query.id, "7 bar"), scope)
    for workflow in ("ward", "garage"):
        await archive.save_original(Original("manual", workflow, "Manual", "manual.pdf", "pdf", "h", b"7 bar"))
    await archive.purge_document("manual", "ward")
    assert await archive.load_original("manual", "ward") is None
    assert await archive.load_original("manual", "garage")
    for scope, query in zip((ANN, BOB), quoting, strict=False):
        left = await archive.load_query(query.id, scope)
        assert left
        assert (left.retrieved_context, left.clean_retrieval_context, left.hyde_answer) == (None, None, "")
        assert (left.vector_status, left.embedding_original) == ("vec", FULL.embedding_original)
        assert (left.embedding_hyde, left.steps, left.results_count) == (None, {}, 0)
        assert (left.expanded_queries, left.embeddings_mqe, left.intent, left.entities) == ((), (), "", ())
        assert left.original_query == FULL.original_query
    for scope, query in ((GARAGE, quoting[2]), (ANN, other)):
        assert await archive.load_query(query.id, scope) == replace(query, results_count=1)


@pytest.mark.parametrize(
    "holding",
    [
        {"clean_retrieval_context": ({"parts": [PASSAGE], "metadata": {"document_ids": 7}},)},
        {"steps": {"expand": {"went_in": {"document_ids": ["leaflet", "manual"]}}}},
    ],
    ids=["consolidated", "expanded"],
)
async def test_a_document_is_forgotten_also_where_the_question_quotes_others_by_now(
    archive: Archive, holding: dict[str, Any]
) -> None:
    kept = await archive.add_query(asked(), WARD)
    kept = await archive.update_query(replace(kept, **holding), WARD)
    moved = replace(kept, retrieved_context=({"document_id": "leaflet"},), clean_retrieval_context=None, steps={})
    await archive.update_query(moved, WARD)
    await archive.add_result(SavedResult(0, kept.id, "It opens at 7 bar."), WARD)
    await archive.purge_document("manual", "ward")
    assert await archive.list_results(kept.id, WARD) == []


async def test_who_read_the_question_before_the_purge_cannot_write_the_text_back(archive: Archive) -> None:
    """S3-16."""
    held = await archive.add_query(FULL, WARD)
    await archive.purge_document("manual", "ward")
    with pytest.raises(Conflict):
        await archive.update_query(held, WARD)


async def test_a_response_that_was_made_before_the_purge_and_comes_after_it_is_not_kept(archive: Archive) -> None:
    """S3-16: a model may take two minutes to write what it had read before."""
    kept = await archive.add_query(FULL, WARD)
    await archive.purge_document("manual", "ward")
    for details in ({"document_ids": ["manual"]}, {"claims": [{"citations": [{"document_id": "manual"}]}]}):
        with pytest.raises(Conflict) as refused:
            await archive.add_result(SavedResult(0, kept.id, "7 bar", details=details), WARD)
        assert refused.value.code == "query_changed"
    assert await archive.list_results(kept.id, WARD) == []
    await archive.add_result(SavedResult(0, kept.id, "of something else"), WARD)


async def test_an_intent_of_more_than_50_characters_is_refused_on_every_database(archive: Archive) -> None:
    """S0-86: the column has 50, which SQLite alone would not mind."""
    kept = await archive.add_query(replace(FULL, intent="é" * 50), WARD)
    for refused in (
        archive.add_query(replace(FULL, intent="e" * 51), WARD),
        archive.update_query(replace(kept, intent="e" * 51), WARD),
    ):
        with pytest.raises(InvalidRequest) as told:
            await refused
        assert told.value.field == "intent"
    assert await archive.load_query(kept.id, WARD) == kept

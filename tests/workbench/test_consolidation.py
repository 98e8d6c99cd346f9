from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from rag_core.core.model import Original
from rag_core.workbench import augmentation_step, expansion_step, retrieval_steps
from rag_core.workbench.session import WorkbenchSession
from tests.fakes import SCOPE, filled
from tests.workbench.sessions import QUESTION, again, bench, part

LINES = [f"Line {n} of the manual speaks of the gearbox and of its lamp P0700." for n in range(1, 41)]
FILE = "\n".join(LINES)


def lines(first: int, last: int, ordinal: int) -> object:
    return part(f"c{ordinal}", "\n".join(LINES[first - 1 : last]), first, ordinal=ordinal, heading_path=("Codes",))


@pytest.fixture
async def table() -> AsyncIterator[WorkbenchSession]:
    """Lines 1 to 10 and 13 to 22 of the manual are indexed, those between are not."""
    made = await bench(index=await filled(lines(1, 10, 0), lines(13, 22, 1)))  # type: ignore[arg-type]
    yield made
    await made.kit.close()


def work(**changed: object) -> Original:
    known = Original(
        "manual", SCOPE.workflow_id, "The manual", "manual.md", "markdown", "hash of manual", FILE.encode()
    )
    return replace(known, **changed)  # type: ignore[arg-type]


async def consolidated(at: WorkbenchSession) -> list[dict[str, object]]:
    query = await expansion_step.expand_and_save_query(QUESTION, again(at))
    await retrieval_steps.embed_saved_query(query.id, again(at))
    await retrieval_steps.retrieve_for_saved_query(query.id, again(at))
    done = await retrieval_steps.consolidate_saved_query(query.id, again(at))
    return [dict(group) for group in done.clean_retrieval_context or ()]


async def test_a_group_has_the_fields_of_the_document(table: WorkbenchSession) -> None:
    """S0-61: chunk_ids, parent_id, work_id, content, heading_chain, score."""
    [group] = await consolidated(table)
    assert group.keys() >= {"chunk_ids", "parent_id", "work_id", "content", "heading_chain", "score"}
    assert (group["chunk_ids"], group["work_id"], group["heading_chain"]) == (["c0", "c1"], "manual", ["Codes"])
    assert (group["line_start"], group["line_end"], group["coverage"]) == (1, 22, round(20 / 22, 4))


async def test_the_text_between_is_read_from_the_document_as_it_came(table: WorkbenchSession) -> None:
    """S0-59, S0-93."""
    await table.kit.archive.save_original(work())
    [group] = await consolidated(table)
    assert (group["content"], group["enriched"]) == ("\n".join(LINES[:22]), True)


@pytest.mark.parametrize(
    "changed",
    [{"content_hash": "of another version"}, {"kind": "pdf"}, {"workflow_id": "other"}, {"data": b"Other\n" * 40}],
)
async def test_another_version_another_kind_or_another_workflows_document_is_not_read(
    table: WorkbenchSession, changed: dict[str, object]
) -> None:
    """S0-59: the stored chunks then are all there is."""
    await table.kit.archive.save_original(work(**changed))
    [group] = await consolidated(table)
    assert LINES[10] not in str(group["content"])
    assert group["enriched"] is False


async def test_a_group_that_is_too_short_is_left_out_and_it_is_said(table: WorkbenchSession) -> None:
    """S0-60: 350 characters unless edited; when none is left, the retrieved chunks are still there."""
    at = await bench()
    query = await expansion_step.expand_and_save_query(QUESTION, again(at))
    await retrieval_steps.embed_saved_query(query.id, again(at))
    retrieved = await retrieval_steps.retrieve_for_saved_query(query.id, again(at))
    asked = again(at)
    done = await retrieval_steps.consolidate_saved_query(query.id, asked)
    assert done.clean_retrieval_context == ()
    assert [warning.code for warning in asked.run.warnings] == ["groups_short", "nothing_consolidated"]
    made = await augmentation_step.build_augmented_prompt(query.id, 5, again(at))
    assert made.context_count == len(retrieved.retrieved_context or ())
    await at.kit.close()


async def test_a_store_that_does_not_answer_leaves_the_groups_as_they_were_found(table: WorkbenchSession) -> None:
    query = await expansion_step.expand_and_save_query(QUESTION, again(table))
    await retrieval_steps.embed_saved_query(query.id, again(table))
    await retrieval_steps.retrieve_for_saved_query(query.id, again(table))
    store = table.kit.index.store

    async def down(*_: object, **__: object) -> object:
        from rag_core.core.errors import Unavailable

        raise Unavailable("it is down", code="down")

    store.load_neighbours = down  # type: ignore[method-assign, assignment]
    asked = again(table)
    done = await retrieval_steps.consolidate_saved_query(query.id, asked)
    assert [told.step for told in asked.run.degraded] == ["enrich"]
    assert len(done.clean_retrieval_context or ()) == 1


async def test_a_document_of_several_groups_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at = await bench(index=await filled(lines(1, 8, 0), lines(30, 37, 1)))  # type: ignore[arg-type]
    await at.kit.archive.save_original(work())
    asked: list[str] = []
    kept = at.kit.archive.load_original

    async def counted(document_id: str, workflow_id: str) -> Original | None:
        asked.append(document_id)
        return await kept(document_id, workflow_id)

    monkeypatch.setattr(type(at.kit.archive), "load_original", staticmethod(counted))
    assert len(await consolidated(at)) == 2
    assert asked == ["manual"]
    await at.kit.close()

"""The documented RAG engine on the embedded store."""

import re
from dataclasses import replace

import pytest

from rag_core.composition import assembly
from rag_core.core.errors import InvalidRequest, NotFound, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.engine import RAGEngine, TextBlock
from tests import local
from tests.fakes import ConceptEmbedder, Down, filled, kit

ANN = Scope("garage", user_id="ann")
BOB = Scope("garage", user_id="bob")
BLOCKS = (
    TextBlock("Care of the transmission", "heading", 1, 1, page=3, bbox=(72, 40, 300, 60)),
    TextBlock(
        "The transmission fluid is changed every 60,000 km.\nIts temperature must not pass 120 degrees.",
        "paragraph",
        2,
        3,
        page=3,
        bbox=(72, 80, 300, 110),
        headings=("Care of the transmission",),
    ),
    TextBlock("The brake caliper is held by two bolts.", "paragraph", 4, 4, page=4, bbox=(72, 40, 300, 60)),
)


@pytest.fixture
async def parts() -> Kit:
    """The local models over a store in memory."""
    index = await filled(embedder=local.embedder())
    return replace(assembly.build_in_memory_kit(), index=index, reranker=local.reranker())


async def test_each_block_becomes_a_chunk_that_knows_its_place(parts: Kit) -> None:
    """S3-19, S3-21: one chunk a block, with its page, box and lines."""
    indexed = await RAGEngine(parts, ANN).index_document("manual", BLOCKS)
    chunks = await parts.index.store.select(ANN, limit=10)
    assert (indexed.chunks, indexed.embedded, indexed.pages) == (3, 3, 4)
    places = [place for chunk in chunks if (place := chunk.locate(0, len(chunk.content)))]
    assert [(place.page, place.line_start, place.line_end) for place in places] == [(3, 1, 1), (3, 2, 3), (4, 4, 4)]
    assert [place.bbox for place in places] == [block.bbox for block in BLOCKS]


async def test_a_question_gets_an_answer_and_the_contexts_it_was_made_from(parts: Kit) -> None:
    """S3-14, S3-17, S3-18, S3-20: by meaning, at most five contexts, each below its tag."""
    engine = RAGEngine(parts, ANN)
    await engine.index_document("manual", BLOCKS)
    reply = await engine.query("How often is the transmission fluid changed?")
    assert reply.answer.status == "answered"
    assert "60,000 km" in reply.answer.text
    [citation] = reply.answer.claims[0].citations[:1]
    assert (citation.document_id, citation.place and citation.place.page) == ("manual", 3)
    assert 1 <= len(reply.contexts) <= 5
    assert "[Source: Page 3, Lines 2-3]\nThe transmission fluid" in reply.context
    assert len(re.findall(r"^\[Source: ", reply.context, re.MULTILINE)) == len(reply.contexts)


async def test_what_the_documents_do_not_say_is_not_known(parts: Kit) -> None:
    """S3-20, S2-42: the contexts are then the nearest passages."""
    engine = RAGEngine(parts, ANN)
    await engine.index_document("manual", BLOCKS)
    reply = await engine.query("Who painted the ceiling of the Sistine Chapel?")
    assert (reply.answer.status, reply.answer.claims) == ("unknown", ())
    assert reply.contexts


async def test_the_question_is_embedded_and_without_an_embedder_there_is_no_answer() -> None:
    """S3-14: a search by meaning is never quietly another."""
    embedder = ConceptEmbedder()
    engine = RAGEngine(kit(await filled(embedder=embedder)), ANN)
    await engine.index_document("manual", BLOCKS)
    embedder.asked.clear()
    await engine.query("gearbox?")
    assert embedder.asked == ["gearbox?"]
    down = replace(engine.rag.kit, index=replace(engine.rag.kit.index, embedder=Down()))  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        await RAGEngine(down, ANN).query("gearbox?")


async def test_five_contexts_are_the_nearest_five() -> None:
    """S3-17: k is 5, by cosine similarity, best first."""
    engine = RAGEngine(kit(await filled()), ANN)
    words = ["transmission"] * 3 + ["transmission cylinder"] * 3 + ["cylinder"] * 4
    blocks = [TextBlock(f"{said} number {n}.", "paragraph", n, n) for n, said in enumerate(words, start=1)]
    await engine.index_document("manual", blocks)
    contexts = (await engine.query("transmission")).contexts
    cosines = [passage.hit.signals["meaning"] for passage in contexts]
    assert [round(cosine, 2) for cosine in cosines] == [1.0, 1.0, 1.0, 0.71, 0.71]


async def test_a_user_is_answered_from_the_users_own_documents_only(parts: Kit) -> None:
    """S3-15: another's document is neither found nor, when it is named, there."""
    await RAGEngine(parts, ANN).index_document("manual", BLOCKS)
    for other in (BOB, Scope("garage"), replace(ANN, workflow_id="elsewhere")):
        engine = RAGEngine(parts, other)
        reply = await engine.query("How often is the transmission fluid changed?")
        assert (reply.answer.status, reply.contexts, reply.context) == ("unknown", (), "")
        with pytest.raises(NotFound):
            await engine.query("How often is the transmission fluid changed?", document_id="manual")
    with pytest.raises(NotFound):
        await RAGEngine(parts, BOB).index_document("manual", BLOCKS)


async def test_a_deleted_document_answers_nothing_until_it_is_restored(parts: Kit) -> None:
    """S3-16."""
    engine = RAGEngine(parts, ANN)
    await engine.index_document("manual", BLOCKS)
    assert await parts.index.store.delete("manual", ANN)
    reply = await engine.query("How often is the transmission fluid changed?")
    assert (reply.answer.status, reply.contexts) == ("unknown", ())
    with pytest.raises(NotFound):
        await engine.query("How often is the transmission fluid changed?", document_id="manual")
    assert await parts.index.store.restore("manual", ANN)
    assert (await engine.query("How often is the transmission fluid changed?")).answer.status == "answered"


async def test_a_question_to_one_document_is_answered_from_that_one() -> None:
    """S3-20."""
    engine = RAGEngine(kit(await filled()), ANN)
    for name in ("old", "new"):
        block = TextBlock(f"The {name} transmission.", "paragraph", 1, 1)
        await engine.index_document(name, [block])
    contexts = (await engine.query("transmission", document_id="old")).contexts
    assert [passage.text for passage in contexts] == ["The old transmission."]
    narrow = RAGEngine(engine.rag.kit, replace(ANN, document_ids=("old",)))
    with pytest.raises(NotFound):
        await narrow.query("transmission", document_id="new")


async def test_another_preset_may_answer_but_not_one_that_counts() -> None:
    engine = RAGEngine(kit(await filled()), ANN, preset="standard")
    await engine.index_document("manual", BLOCKS)
    assert (await engine.query("transmission")).contexts
    with pytest.raises(InvalidRequest):
        await RAGEngine(engine.rag.kit, ANN, preset="facets").query("transmission")

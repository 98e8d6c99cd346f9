"""Replies for models: what is left of a reply when each token is paid for, and that nothing of weight is missing."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rag_core import compact_replies
from rag_core.compact_replies import format_compact_score
from rag_core.core.errors import NotFound
from rag_core.core.model import Chunk, Hit, Span
from rag_core.core.settings import Settings
from rag_core.ingestion.upload import Upload
from rag_core.rag import RAG, open
from rag_core.text.tokens import count_tokens

EXAMPLES = Path(__file__).parents[1] / "examples"
MOST_TOKENS = 1.3  # of a reply, by those of its passages
TABLE = "# Prices\n\n| item | “kind” | price |\n| --- | --- | --- |\n" + "\n".join(
    f"| valve {n} | \\type {n}\t| {n},50 € |" for n in range(40)
)
SENTENCES = (
    "第{n}章 変速機の油の温度は、エンジンを動かしたまま測ります。Η θερμοκρασία είναι {n} βαθμοί. 🛠️ Ölstand prüfen. "
)
OTHER_SCRIPTS = "\n\n".join(SENTENCES.format(n=n) * 3 for n in range(12))

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rag(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RAG]:
    """Without models: what is found is not the point."""
    async with open(Settings(data_dir=None, models_dir=tmp_path_factory.mktemp("none"))) as opened:
        for name in ("tcm-diagnostic-manual.pdf", "nara-plan-2022.pdf", "how-memory-functions.md"):
            await opened.index(EXAMPLES / name, scope="prose")
        await opened.index(EXAMPLES / "trouble-codes.csv", scope="rows")
        await opened.index(Upload(TABLE, document_id="prices", source="prices.md"), scope="table")
        await opened.index(Upload(OTHER_SCRIPTS, document_id="scripts", source="s.md"), scope="scripts")
        yield opened


def count_reply_tokens(reply: Mapping[str, Any]) -> int:
    """As HTTP and MCP write it."""
    return count_tokens(json.dumps(reply, ensure_ascii=False))


@pytest.mark.parametrize(
    ("scope", "query", "most"),
    [
        ("prose", "records of the temperature", MOST_TOKENS),
        ("table", "price of valve 7", MOST_TOKENS),
        ("scripts", "Ölstand θερμοκρασία", MOST_TOKENS),
        ("rows", "transmission", MOST_TOKENS),
    ],
)
async def test_a_reply_for_a_model_is_little_more_than_its_passages(
    rag: RAG, scope: str, query: str, most: float
) -> None:
    reply = await rag.search(query, scope=scope, pipeline="standard", search_type="keyword", top_k=50)
    passages = sum(count_tokens(hit.chunk.content) for hit in reply.hits)
    compact = compact_replies.format_compact_search(reply)
    assert len(compact["passages"]) == len(reply.hits) > 0
    assert count_reply_tokens(compact) <= most * passages
    assert count_reply_tokens(reply.to_json()) > MOST_TOKENS * passages  # so that the bound is worth something


async def test_rows_of_a_table_have_their_columns_named_once(rag: RAG) -> None:
    """And each of their cells stands below its column, also where one is empty or has a bar in it."""
    reply = await rag.search("transmission", scope="rows", pipeline="standard", search_type="keyword", top_k=50)
    compact = compact_replies.format_compact_search(reply)
    assert compact["documents"]["A"]["columns"] == "| code | manufacturer | type | is_generic | description |"
    first, code = compact["passages"][0].partition("\n")[2], reply.hits[0].chunk.metadata["code"]
    assert first.startswith(f"| {code} | ")
    assert reply.hits[0].chunk.content.rpartition(": ")[2] in first
    rows = {"1": {"a": "x|y", "b": "", "c": "z"}, "2": {"a": "1", "c": "2"}, "3": {"d": "other"}, "4": {}}
    assert compact_replies.format_rows(rows) == ("| a | b | c |", {"1": "| x\\|y |  | z |", "2": "| 1 |  | 2 |"})


async def test_a_passage_says_where_it_stands_and_can_be_read_on_from(rag: RAG) -> None:
    """Its id is the letter of a document and the number that `read` begins at."""
    reply = await rag.search("fluid level", scope="prose", pipeline="standard", search_type="keyword", top_k=3)
    compact = compact_replies.format_compact_search(reply)
    (head, _, text), best = compact["passages"][0].partition("\n"), reply.hits[0]
    assert (head, text) == (
        f"A{best.chunk.ordinal} {format_compact_score(best.score)} p{best.chunk.page}",
        best.chunk.content,
    )
    assert compact["documents"]["A"] == {"document_id": best.chunk.document_id, "title": best.chunk.title}
    read = await rag.read(best.chunk.document_id, first_passage=best.chunk.ordinal, max_tokens=1, scope="prose")
    assert [chunk.content for chunk in read.chunks] == [text]


@pytest.mark.parametrize(
    ("signals", "head"),
    [
        ({"words": 7.0, "semantic": 0.98, "grade": 9.5, "relevance": 0.5}, "A3 9.5/10 p4"),
        ({"semantic": 0.87, "relevance": 0.5}, "A3 .87/1 p4"),
        ({"relevance": 0.5}, "A3 .5/1 p4"),
        ({"words": 7.0}, "A3 .1 p4"),
    ],
)
async def test_the_score_of_a_passage_is_the_one_that_ordered_it_and_says_its_scale(
    rag: RAG, signals: dict[str, float], head: str
) -> None:
    """A passage that was graded 9.5 of 10 was once shown with its fused 0.1."""
    chunk = Chunk("c", "d", 3, "text", "", "", "c", spans=(Span(0, 4, 4, 1, 1),))
    reply = await rag.search("fluid level", scope="prose", pipeline="standard", search_type="keyword", top_k=1)
    found = replace(reply, result=replace(reply.result, hits=[Hit(chunk, 0.1, signals)]))
    assert compact_replies.format_compact_search(found)["passages"] == [f"{head}\ntext"]


async def test_a_document_is_read_in_parts_and_whole(rag: RAG) -> None:
    """Each part says where the next one begins; together they are all of it, each passage once."""
    (document,) = (await rag.documents(scope="rows")).documents
    first, numbers = 0, list[str]()
    while True:
        read = await rag.read(document.id, first_passage=first, max_tokens=3000, scope="rows")
        reply = compact_replies.format_compact_document(read, rag.start_run())
        assert sum(count_tokens(chunk.content) for chunk in read.chunks) <= 3000
        numbers += [passage.split()[0] for passage in reply["passages"]]
        if "next" not in reply:
            break
        first = reply["next"]
    assert numbers == [str(number) for number in range(204)]


async def test_a_document_of_another_workflow_cannot_be_read(rag: RAG) -> None:
    (document,) = (await rag.documents(scope="rows")).documents
    with pytest.raises(NotFound):
        await rag.read(document.id, scope="prose")


async def test_a_list_of_documents_comes_in_parts(rag: RAG) -> None:
    documents = (await rag.documents(scope="prose")).documents
    first = compact_replies.format_compact_documents(documents, 0, 2, rag.start_run())
    rest = compact_replies.format_compact_documents(documents, first["next"], 2, rag.start_run())
    ids = [line.split()[0] for line in (*first["documents"], *rest["documents"])]
    assert (ids, first["total"], "next" in rest) == ([document.id for document in documents], 3, False)


async def test_an_answer_cites_the_passages_that_come_with_it(rag: RAG) -> None:
    asked = "At what temperature is the fluid level checked?"
    reply = await rag.answer(asked, scope="prose", pipeline="standard")
    compact = compact_replies.format_compact_answer(reply, asked)
    assert compact["status"] == "answered"
    ids = [passage.split()[0] for passage in compact["passages"]]
    assert all(f"[{id}]" in compact["answer"] for id in ids)
    words = count_tokens(compact["answer"]) + sum(count_tokens(p.partition("\n")[2]) for p in compact["passages"])
    del compact["notes"]  # of the models that are missing here
    assert count_reply_tokens(compact) <= MOST_TOKENS * words


async def test_what_fell_back_is_said_and_an_unknown_answer_has_the_nearest_passages(rag: RAG) -> None:
    """Nothing found is never confused with could not look."""
    asked = "Who won the cycling race of 1903 on the moon?"
    reply = await rag.answer(asked, scope="prose", pipeline="standard")
    compact = compact_replies.format_compact_answer(reply, asked)
    assert (compact["status"], len(compact["passages"])) == ("unknown", len(reply.evidence))
    assert any("fell back" in note for note in compact["notes"])
    assert len(compact["notes"]) == len(reply.run.degraded) + len(reply.run.warnings)


@pytest.mark.parametrize(
    ("score", "text"),
    [(0.0293, ".029"), (0.87, ".87"), (1.0, "1"), (12.34, "12"), (1234.5, "1200"), (0.0, "0"), (-0.5, "-0.5")],
)
async def test_a_score_is_its_first_two_digits(score: float, text: str) -> None:
    assert format_compact_score(score) == text


async def test_the_letters_of_documents_go_on_after_z() -> None:
    assert [compact_replies._count_in_letters(n) for n in (0, 25, 26, 51, 52, 702)] == [
        "A",
        "Z",
        "AA",
        "AZ",
        "BA",
        "AAA",
    ]

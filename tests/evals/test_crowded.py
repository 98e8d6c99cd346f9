"""A log that repeats a code does not hide the page of the manual that defines it."""

from collections.abc import AsyncIterator, Sequence
from zlib import crc32

import pytest

from evals.answers import SCOPE
from evals.crowded import DEPTH, find_last_rank, format_report, rank_pages
from evals.crowded_corpus import MOST_FREQUENT, CrowdedQuestion, build_questions, build_uploads
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Hit, Vector
from rag_core.core.run import Run
from rag_core.evaluation.bulk_indexing import index_uploads
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.pipelines import search_with_pipeline
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.stores.embedded import EmbeddedStore
from rag_core.text.terms import extract_terms
from tests.fakes import OverlapReranker, chunk, kit, query

QUESTIONS = [question for question in build_questions() if question.kind != "words"]  # words need a model


class HashEmbedder:
    """The terms of a text, each on one of 64 axes."""

    space = "hashes-64"
    dimensions = 64

    async def embed_query(self, text: str) -> Vector:
        axes = [0.001] * self.dimensions
        for term in extract_terms(text):
            axes[crc32(term.encode()) % self.dimensions] += 1.0
        return axes

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self.embed_query(text) for text in texts]


@pytest.fixture
async def crowded() -> AsyncIterator[Kit]:
    reranker = OverlapReranker()
    techniques = LocalTechniques(reranker, select_key_sentences)
    crowded = kit(Index(EmbeddedStore(None), HashEmbedder()), llm=techniques, reranker=reranker)
    await index_uploads([(SCOPE, upload) for upload in build_uploads()], crowded)
    yield crowded
    await crowded.close()


@pytest.mark.parametrize("pipeline", ["standard", "rerank", "advanced"])
async def test_the_page_that_defines_a_code_is_in_the_first_ten(pipeline: str, crowded: Kit) -> None:
    asked = [question for question in QUESTIONS if MOST_FREQUENT in question.text]
    ranks = await rank_pages(asked, crowded, [pipeline])
    assert max(ranks[pipeline]) <= DEPTH
    assert ranks[pipeline], format_report(asked, ranks)


async def test_one_row_is_shown_and_the_others_are_counted(crowded: Kit) -> None:
    asked = query(f"What does {MOST_FREQUENT} mean?", "standard", captions=0, answers=0)
    asked = asked.preset.build_query(asked.text, SCOPE)
    found = await search_with_pipeline(asked, crowded, Run(), pipeline="standard")
    rows = [hit for hit in found.hits if hit.chunk.metadata.get("code") == MOST_FREQUENT]
    assert max(hit.similar_count for hit in rows) > 20


def test_the_corpus_is_the_same_every_time_and_has_forty_questions() -> None:
    assert build_uploads() == build_uploads()
    assert len(build_questions()) == 40
    assert len({question.text for question in build_questions()}) == 40


def test_the_rank_is_that_of_the_last_page_asked_for() -> None:
    pages = [Hit(chunk(str(page), "text", source="manual.md"), 1.0) for page in (1, 2)]
    assert find_last_rank(pages, frozenset({1})) == 1
    assert find_last_rank(pages, frozenset({1, 9})) == 1000


def test_the_report_has_the_shares_by_kind() -> None:
    questions = [CrowdedQuestion("a", "code", frozenset({1})), CrowdedQuestion("b", "words", frozenset({1}))]
    assert "| standard | 0.50 | 1.00 | 0.00 | 11 | 11 |" in format_report(questions, {"standard": [1, 11]})

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_core.core.model import Vector
from rag_core.evaluation.evaluation_cache import CachedEmbedder, CachedReranker, EvaluationCache


@dataclass
class Counting:
    """An embedder and a reranker in one that notes what it was given."""

    space: str = "counted"
    name: str = "counting"
    dimensions: int = 2
    seen: list[str] = field(default_factory=list)

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_documents([text]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.seen += texts
        return [[float(len(text)), 1 / 3] for text in texts]

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        self.seen += passages
        return [len(text + passage) / 7 for passage in passages]


async def test_a_documents_vector_is_made_once_and_a_questions_every_time(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    made = await CachedEmbedder(first, EvaluationCache(tmp_path / "c")).embed_documents(["a", "bb", "a"])
    again = CachedEmbedder(second, EvaluationCache(tmp_path / "c"))
    assert [list(v) for v in await again.embed_documents(["bb", "c", "a"])] == [made[1], [1.0, 1 / 3], made[0]]
    assert (first.seen, second.seen) == (["a", "bb"], ["c"])
    await again.embed_query("bb")
    assert second.seen == ["c", "bb"]


async def test_vectors_of_another_model_are_not_taken_for_its_own(tmp_path: Path) -> None:
    other = Counting(space="other")
    await CachedEmbedder(Counting(), EvaluationCache(tmp_path / "c")).embed_documents(["a"])
    await CachedEmbedder(other, EvaluationCache(tmp_path / "c")).embed_documents(["a"])
    assert other.seen == ["a"]


async def test_a_pair_is_judged_once_unless_it_is_to_be_judged_afresh(tmp_path: Path) -> None:
    judge, cache = Counting(), EvaluationCache(tmp_path / "c")
    once = await CachedReranker(judge, cache, recompute=True).score_passages("q", ["a", "bb"])
    assert await CachedReranker(judge, cache, recompute=False).score_passages("q", ["bb", "a"]) == [once[1], once[0]]
    await CachedReranker(judge, cache, recompute=False).score_passages("another q", ["a"])
    await CachedReranker(judge, cache, recompute=True).score_passages("q", ["a"])
    assert judge.seen == ["a", "bb", "a", "a"]

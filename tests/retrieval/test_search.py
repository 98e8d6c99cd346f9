import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.model import QueryVariant, SearchType
from rag_core.retrieval.search import compute_candidate_limit, embed_variants, label_variants, search_index
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import ConceptEmbedder, DownStore, chunk, filled, query

WORDINGS = ["gearbox fault", "transmission fault"]


def test_wordings_are_labelled_as_queries_used_has_them() -> None:
    """S1-40, C45: "original", "expanded1", "hyde"."""
    assert [a.label for a in label_variants(WORDINGS, ["An answer."])] == ["original", "expanded1", "hyde"]


async def test_every_wording_is_embedded_as_a_question_but_not_for_keyword() -> None:
    """S1-03, S1-12, C37: the imagined answer too."""
    embedder = ConceptEmbedder()
    index = Index(EmbeddedStore(None), embedder)
    asked = label_variants(WORDINGS, ["An answer."])
    assert list(await embed_variants(asked, index, search_type="hybrid")) == ["original", "expanded1", "hyde"]
    assert embedder.asked == [*WORDINGS, "An answer."]
    assert await embed_variants(asked, index, search_type="keyword") == {}
    assert len(embedder.asked) == 3


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("keyword", ["words"]),
        ("vector", ["meaning"]),
        ("hybrid", ["meaning", "words"]),
        ("semantic", ["meaning", "words"]),
    ],
)
async def test_the_search_type_chooses_the_legs(how: SearchType, found: list[str]) -> None:
    """S1-45, S1-13: keyword finds the exact word, vector the meaning, hybrid both."""
    index = await filled(chunk("words", "A gearbox."), chunk("meaning", "P0700 and the TCM"), chunk("none", "Caliper"))
    asked = [QueryVariant("original", "transmission" if how == "vector" else "gearbox")]
    vectors = await embed_variants(asked, index, search_type=how)
    rankings = await search_index(
        asked, vectors, query("", search_type=how, top_k=2, overretrieve=1, candidates=1), index
    )
    near = {h.chunk.id for h in rankings["original"] if h.signals.get("meaning", 0) > 0.9 or h.signals.get("words")}
    assert set(found) <= near if how != "keyword" else near == {"words"}


async def test_an_imagined_answer_is_searched_by_meaning_only() -> None:
    """S1-12: its words are the model's, not the user's."""
    index = await filled(chunk("a", "A gearbox."), chunk("b", "Caliper"))
    asked = [QueryVariant("hyde", "Caliper, caliper, transmission, gearbox, tcm")]
    [ranking] = (
        await search_index(asked, await embed_variants(asked, index, search_type="hybrid"), query(""), index)
    ).values()
    assert ranking[0].chunk.id == "a"
    assert all("words" not in h.signals for h in ranking)


async def test_without_vectors_words_are_searched_and_the_imagined_answer_is_not() -> None:
    """C25."""
    index = await filled(chunk("a", "A gearbox."))
    assert list(await search_index(label_variants(WORDINGS, ["An answer."]), {}, query(""), index)) == [
        "original",
        "expanded1",
    ]


@pytest.mark.parametrize("how", ["vector"])
async def test_a_search_by_vector_without_vectors_is_unavailable(how: SearchType) -> None:
    """C25: never an empty ranking."""
    with pytest.raises(Unavailable) as failure:
        await search_index(
            label_variants(WORDINGS), {}, query("", search_type=how), await filled(chunk("a", "A gearbox."))
        )
    assert failure.value.code == "retrieval_unavailable"


async def test_a_store_that_is_down_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await search_index(label_variants(WORDINGS), {}, query(""), Index(DownStore(), ConceptEmbedder()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("numbers", "limit"),
    [
        ({"top_k": 100}, 300),
        ({"top_k": 10}, 50),
        ({"top_k": 10, "candidates": 20}, 30),
        ({"top_k": 2, "candidates": 20}, 20),
        ({"top_k": 100, "rerank": 0}, 100),
    ],
)
def test_three_times_the_results_are_looked_for_when_they_are_graded(numbers: dict[str, int], limit: int) -> None:
    """S1-08, C09: and never fewer than the judges take."""
    assert compute_candidate_limit(query("", "rerank", **numbers)) == limit


@pytest.mark.parametrize(("graded", "found"), [(20, ["log", "log", "log", "manual"]), (0, ["log", "log", "log"])])
async def test_other_documents_follow_one_that_takes_most_of_what_is_reranked(graded: int, found: list[str]) -> None:
    crowd = [chunk(f"log{n}", f"Gearbox gearbox {n}", document="log") for n in range(6)]
    index = await filled(*crowd, chunk("page", "Of the gearbox and of much more than that."))
    numbers = {"top_k": 3, "overretrieve": 1, "candidates": 1, "rerank": graded}
    rankings = await search_index(label_variants(["gearbox"]), {}, query("", **numbers), index)
    assert [hit.chunk.document_id for hit in rankings["original"]] == found


async def test_the_other_documents_of_a_crowded_ranking_stand_in_it_once() -> None:
    """Twice, rank fusion counted them twice, and the best page of a long handbook came after all of them."""
    crowd = [chunk(f"log{n}", f"Gearbox gearbox {n}", document="log") for n in range(4)]
    others = [chunk(f"page{n}", f"Of the gearbox and of much more than that {n}.") for n in range(2)]
    index = await filled(*crowd, *others)
    numbers = {"top_k": 5, "overretrieve": 1, "candidates": 1, "rerank": 20}
    (ranking,) = (await search_index(label_variants(["gearbox"]), {}, query("", **numbers), index)).values()
    ids = [hit.chunk.id for hit in ranking]
    assert sorted(ids) == ["log0", "log1", "log2", "log3", "page0", "page1"]

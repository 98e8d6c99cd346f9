from collections.abc import Sequence

from rag_core.core.index import Index
from rag_core.core.model import Hit, Ranking, Scope
from rag_core.core.ports import Probe
from tests.fakes import SCOPE, ConceptEmbedder, chunk, filled, hit

NEIGHBOURS = [chunk(str(n), f"P07{n} transmission overheating gearbox temperature") for n in range(10, 20)]
ASKED = "what is P0719, transmission overheating"


async def test_a_hybrid_finds_the_code_it_was_asked_for_before_its_neighbours() -> None:
    """S1-13, C28: whatever the vectors make of it; a search by meaning alone is left as it is."""
    index = await filled(*NEIGHBOURS)
    [vector] = await index.embed_queries([ASKED])
    both, meaning = await index.search([Probe("b", ASKED, vector), Probe("m", "", vector)], SCOPE, limit=10)
    assert both[0].chunk.id == "19"
    assert [hit.chunk.id for hit in meaning] == sorted(hit.chunk.id for hit in meaning)


class Found:
    """A store that finds these, in this order."""

    def __init__(self, *hits: Hit) -> None:
        self.hits = hits

    async def load_embedding_space(self) -> str:
        return ""

    async def search(self, probes: Sequence[Probe], scope: Scope, **_: object) -> list[Ranking]:
        return [self.hits for _ in probes]


async def found(probe: Probe, *hits: Hit) -> str:
    [ranking] = await Index(Found(*hits), ConceptEmbedder()).search([probe], SCOPE, limit=10)  # type: ignore[arg-type]
    return "".join(hit.chunk.id for hit in ranking)


CODED = Probe("original", "P0719", (1.0, 0.0))
OTHERS = [hit("b", content="P0711"), hit("c", content="P0719")]


async def test_what_a_stores_own_ranker_has_read_is_left_in_the_stores_order() -> None:
    """S1-07: it has read the first of its own order; in another an unread one would come among them."""
    assert await found(CODED, hit("a"), *OTHERS) == "cab"
    assert await found(CODED, hit("a", semantic=0.4), *OTHERS) == "abc"


async def test_a_period_is_found_by_words_in_its_other_spelling() -> None:
    """ "FY2022" and "fiscal 2022" have no word in common."""
    index = await filled(chunk("token", "FY2022: 5 million."), chunk("words", "In fiscal 2022: 5 million.", ordinal=1))
    [ranking] = await index.search([Probe("original", "FY2022")], SCOPE, limit=10)
    assert {hit.chunk.id for hit in ranking} == {"token", "words"}

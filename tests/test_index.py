from rag_core.ports import Probe
from tests.fakes import SCOPE, chunk, filled

NEIGHBOURS = [chunk(str(n), f"P07{n} transmission overheating gearbox temperature") for n in range(10, 20)]
ASKED = "what is P0719, transmission overheating"


async def test_a_hybrid_finds_the_code_it_was_asked_for_before_its_neighbours() -> None:
    """S1-13, C28: whatever the vectors make of it; a search by meaning alone is left as it is."""
    index = await filled(*NEIGHBOURS)
    [vector] = await index.embed([ASKED])
    both, meaning = await index.find([Probe("b", ASKED, vector), Probe("m", "", vector)], SCOPE, limit=10)
    assert both[0].chunk.id == "19"
    assert [hit.chunk.id for hit in meaning] == sorted(hit.chunk.id for hit in meaning)

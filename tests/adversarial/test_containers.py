"""What reads files takes linear time for the foreign text in them, and for parts of theirs that are many or deep."""

from functools import partial

import pytest

from rag_core.core.errors import RagError
from rag_core.ingestion.chunking import Chunking, split_into_chunks
from rag_core.ingestion.extract import extract_as_kind
from tests.adversarial.containers import CONTAINERS, STRUCTURES
from tests.adversarial.growth import find_excess
from tests.adversarial.shapes import SHAPES
from tests.adversarial.test_readers import CHARS, CORE_SHAPES, FLOOR_S, MAX_S

STRUCTURE_BYTES = 160_000  # and twice as many, unpacked


def cut_file(kind: str, data: bytes) -> None:
    try:
        extraction = extract_as_kind(kind, data)
    except RagError:  # refused in linear time is as good as read
        return
    list(split_into_chunks(extraction.blocks, Chunking("tokens", 200, 50)))


def list_excesses(container: str, names: tuple[str, ...]) -> list[str]:
    kind, pack = CONTAINERS[container]
    cut_file(kind, pack("It is so."))  # what is loaded once is no growth
    growths = {
        name: find_excess(
            partial(cut_file, kind),
            lambda chars, shape=SHAPES[name]: pack(shape(chars)),
            chars=CHARS,
            floor_s=FLOOR_S,
            max_s=MAX_S,
        )
        for name in names
    }
    return [f"{name}: {growth}" for name, growth in growths.items() if growth]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_text_in_a_file_within_a_file_is_read_in_linear_time(container: str) -> None:
    assert list_excesses(container, CORE_SHAPES) == []


@pytest.mark.soak
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_text_of_any_shape_in_a_file_within_a_file_is_read_in_linear_time(container: str) -> None:
    assert list_excesses(container, tuple(SHAPES)) == []


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_file_with_many_or_deep_parts_is_read_in_linear_time(structure: str) -> None:
    kind, make = STRUCTURES[structure]
    cut_file(kind, make(500))
    growth = find_excess(partial(cut_file, kind), make, chars=STRUCTURE_BYTES, floor_s=0.6, max_s=6.0)
    assert not growth, str(growth)

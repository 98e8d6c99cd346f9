"""The arithmetic of docs/reference/cost-and-scale.md."""

from dataclasses import replace

import pytest

from evals.scale import PAGE, TIERS, WAYS, Assumptions, VectorFormat, find_cheapest_service, format_scale_tables

GIVEN = Assumptions()


def test_the_page_is_what_the_script_prints() -> None:
    assert format_scale_tables(GIVEN) in PAGE.read_text("utf-8"), "run python -m evals.scale --write"


def test_a_vector_index_is_as_large_as_microsofts_example_says() -> None:
    """1,000 vectors of 1,536 dimensions, 10 % for the graph and 10 % for deleted ones: 7.434 MB, in their words."""
    example = replace(GIVEN, graph=0.1, deleted=0.1)
    assert example.estimate_vectors_gb(1000) * 1024**3 / 1e6 == pytest.approx(7.434, abs=0.001)


def test_the_chunks_of_a_document_are_counted_with_their_overlap() -> None:
    assert GIVEN.chunks_a_document == 8  # 0-800, 600-1400, ... 4200-5000
    assert replace(GIVEN, pages=1).chunks_a_document == 1


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_chosen_services_hold_the_index_and_a_tenth_of_it_costs_no_more(way: VectorFormat) -> None:
    for power in range(4, 10):
        storage, vectors = GIVEN.estimate_disk_gb(10**power, way), GIVEN.estimate_vectors_gb(10**power, way)
        chosen = find_cheapest_service(storage, vectors)
        assert chosen.partitions * chosen.count * chosen.tier.storage >= storage
        assert chosen.partitions * chosen.count * chosen.tier.vectors >= vectors
        assert find_cheapest_service(storage / 10, vectors / 10).usd_a_month <= chosen.usd_a_month


def test_no_service_is_larger_than_its_tier_allows() -> None:
    assert all(find_cheapest_service(10.0**n, 10.0**n).partitions <= max(t.partitions for t in TIERS) for n in range(6))

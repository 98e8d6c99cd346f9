"""Numbers of other languages, and what the figures below a head are multiplied by."""

import pytest

from rag_core.text.number_notations import has_decimal_commas, read_scale, split_column_scale, write_in_english


@pytest.mark.parametrize(
    ("head", "scale"),
    [
        ("(In millions)", 1_000_000),
        ("£m", 1_000_000),
        ("in Mio. EUR, soweit nicht anders angegeben", 1_000_000),
        ("en millions d'euros", 1_000_000),
        ("EUR million", 1_000_000),
        ("£'000", 1_000),
        ("CHF000", 1_000),
        ("in TEUR", 1_000),
        ("Importi in migliaia di Euro", 1_000),
        ("x € 1.000", 1_000),
        ("miles de millones de euros", 1_000_000_000),
        ("in Mrd. EUR", 1_000_000_000),
        ("Rs. in crore", 10_000_000),
        ("310 million people", 1),
        ("10,000 and 3 m", 1),
        ("12 Mio. EUR", 1),
        ("five miles", 1),
    ],
)
def test_a_head_says_by_what_its_figures_are_multiplied(head: str, scale: int) -> None:
    assert read_scale(head) == scale


def test_the_scale_of_a_column_is_no_part_of_its_name() -> None:
    bare, scale = split_column_scale("Cost (k€)")
    assert (" ".join(bare.split()), scale) == ("Cost ( €)", 1_000)


@pytest.mark.parametrize(
    ("cells", "has_commas"),
    [
        (["1.804,6", "30.09.2024"], True),
        (["−38,4", "112,6"], True),
        (["184.317", "63.540", "8.215"], True),
        (["184.317", "63.540"], False),
        (["1,804.6", "12,345"], False),
        (["184.317", "63.540", "8.215", "0.12"], False),
        (["12", "2024", ""], False),
    ],
)
def test_a_table_tells_how_it_writes_decimals(cells: list[str], has_commas: bool) -> None:
    assert has_decimal_commas(cells) is has_commas


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Der Umsatz ist auf 1.804,6 Mio. EUR gestiegen.", "Der Umsatz ist auf 1804.6 million EUR gestiegen."),
        ("Le résultat est de 2,85 milliards d'euros.", "Le résultat est de 2.85 billion euros."),
        ("Il debito era di 74.530 euro con 3,5 %.", "Il debito era di 74530 euro con 3.5 %."),
        (
            "Le résultat net a reculé d'un cinquième, à 481,4 M€.",
            "Le résultat net a reculé d'un cinquième, à 481.4 million euros.",
        ),
        ("The sections 1,2 and 3 of the act", "The sections 1,2 and 3 of the act"),
        ("Revenue was 1,204.5 million in the year.", "Revenue was 1,204.5 million in the year."),
    ],
)
def test_numbers_of_another_language_are_written_as_in_english(text: str, written: str) -> None:
    assert write_in_english(text) == written

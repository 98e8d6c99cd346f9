"""Entities are found with their type, and what merely looks like one is not."""

import pytest

from rag_core.core.model import Entity
from rag_core.ingestion.entities.extraction import EntitySource, extract_entities, find_entities


def find_values(type: str, text: str) -> list[str]:
    return [entity.value for entity in extract_entities(text) if entity.type == type]


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("dtc", "P0700 and U0100-87, p0715; B1A2F.", ["P0700", "U0100-87", "P0715", "B1A2F"]),
        ("dtc", "P0700 P0700", ["P0700"]),
        ("dtc", "P4700 P07 XP0700 P0700X P07000 A0700 bead0 AP0700-1 c0ffe", []),
        ("code", "Fit 04E 906 016 AB or BP-4471-A, not 04E\n906 016.", ["04E 906 016 AB", "BP-4471-A", "04E 906 016"]),
        ("code", "Fault E023 is cleared by hand, so is E104.", ["E023", "E104"]),
        ("code", "Fault E023 is cleared by hand.", ["E023"]),
        ("code", "Cells E023 of it. Tested by ISO 9001 and EN 60335-2-75.", ["ISO 9001", "EN 60335-2-75"]),
        ("code", "In 2019 USD 100 or 10mm of H2O, MP3 and MP4, COVID-19, 100 200 300, 2023-04-01, Q3, FY22", []),
        ("code", "id 4e07e6af-89ce-11e7-9ae9-3f621925b93b, PLACEHOLDER-44 and PLACEHOLDER-45", []),
        (
            "date",
            "On 3 May 2024, May 5, 2023, 2024-05-06 10:00 or 1.2.2025",
            ["3 May 2024", "May 5, 2023", "2024-05-06", "1.2.2025"],
        ),
        (
            "date",
            "since 2019, in March 2020, in Q3 2025; 2019 bolts may march 12 times",
            ["2019", "March 2020", "Q3 2025"],
        ),
        ("money", "It costs $57 million, EUR 145 or 1.250,00 €; 12 % of 300", ["$57 million", "EUR 145", "1.250,00 €"]),
        (
            "person",
            "From: Priya Raman\nDr. Amara Okafor met David Stenberg.",
            ["Priya Raman", "Amara Okafor", "David Stenberg"],
        ),
        ("person", "Risk Factors, Customer Service Representative and Emergency Department", []),
        (
            "organization",
            "Brera S.p.A., the Bank of Scotland and the National Archives Administration (NAA) met Meyer GmbH.",
            ["Brera S.p.A.", "Bank of Scotland", "National Archives Administration", "NAA", "Meyer GmbH"],
        ),
        ("organization", "The Sales Department and the Annual General Meeting. Our Bank is closed", []),
        ("place", "In Duluth, Minnesota, and in the Netherlands", ["Duluth", "Minnesota", "Netherlands"]),
        ("place", "Reading is fun; it was printed in Reading. The Paris Agreement. Mobile users are Nice", ["Reading"]),
        (
            "product",
            "The PolarBox 12 and the HX Series; see Page 22, Level 10 and Ward 77",
            ["PolarBox 12", "HX Series"],
        ),
        ("product", "See https://example.com/PolarBox and client.PolarBox(3) and #PolarBox", []),
        ("acronym", "The TCM asks over the CAN bus; the TCM has it from the CAN, or (MIL).", ["TCM", "CAN", "MIL"]),
        ("acronym", "WARNING: DO NOT OPEN THE CASE", []),
        ("term", "A transmission control module (TCM) is one.", ["transmission control module"]),
    ],
)
def test_entities_are_found_with_their_type(type: str, text: str, expected: list[str]) -> None:
    """S1-32: typed entities of a chunk."""
    assert sorted(find_values(type, text)) == sorted(expected)


def test_a_name_that_one_passage_shows_to_be_one_is_found_in_the_others() -> None:
    passages = [EntitySource("Kestrel Foods Ltd ordered."), EntitySource("We wrote to Kestrel Foods Ltd and waited")]
    known = Entity("organization", "Kestrel Foods Ltd")
    assert [known in entities for entities in find_entities(passages)] == [True, True]


def test_codes_of_other_documents_show_what_a_code_looks_like() -> None:
    """S1-33: a mail that names one code is filed under it where a manual has its neighbours."""
    mail = [EntitySource("The display shows KX410A again")]
    assert find_entities(mail) == [()]
    assert find_entities(mail, ["KX400B", "KX022A", "KX025A"]) == [(Entity("code", "KX410A"),)]


def test_a_column_says_what_its_cells_are() -> None:
    row = {"supplier": "Acme", "product": "Valve", "operator": "Fleur Bakker", "sku": "none", "remark": "none outdoor"}
    assert find_entities([EntitySource("", row)]) == [
        (Entity("organization", "Acme"), Entity("product", "Valve"), Entity("person", "Fleur Bakker"))
    ]


@pytest.mark.parametrize(
    "part",
    [
        "A",
        "A1",
        "A ",
        "P07",
        "(AB",
        "a (AB) ",
        "AB-123",
        "a-",
        " \n",
        "04E 906 ",
        "1.1 A",
        "Bank of ",
        "A. ",
        "1,000",
        "$1 ",
        "Inc. ",
        "Aa Bb 1 ",
        "AaBb ",
        "of for and A ",
        "A & ",
        "1-",
        "A/1",
        "May 1 ",
        "in 2000 ",
        "St. ",
        "U.S.",
        "\nA: B ",
    ],
)
def test_no_text_makes_an_expression_slow(part: str) -> None:
    """C11: 20 KB of the worst; time in the square of the length would not end."""
    extract_entities(part * (20_000 // len(part)))

"""Organizations are found by the legal form that their names end in."""

import pytest

from rag_core.text.organizations import find_organization, name_without_form


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Commission file 001-1\nACME WIDGETS, INC.\n(Exact name of registrant)", "ACME WIDGETS, INC."),
        ("Contract of Müller & Söhne GmbH with Elm Street Bakery LLC", "Müller & Söhne GmbH"),
        ("LYON -- Étoile Optique S.A. (ETO) today reported", "Étoile Optique S.A."),
        ("Bath and Body Works, Inc.", "Bath and Body Works, Inc."),
        ("The Company and its suppliers. Its company. A limited offer.", ""),
        ("ACCREDITED LP RECORDS", "ACCREDITED LP"),
        ("Handbook of the gearbox, version 3", ""),
        ("", ""),
    ],
)
def test_the_first_name_with_a_legal_form_is_found(text: str, name: str) -> None:
    assert find_organization(text) == name


def test_a_long_line_of_capitals_is_read_in_linear_time() -> None:
    assert find_organization("AB CD " * 20_000) == ""


def test_a_name_is_shown_without_its_form() -> None:
    assert name_without_form("Acme Widgets, Inc.") == "Acme Widgets"
    assert name_without_form("Plain") == "Plain"

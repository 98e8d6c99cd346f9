"""Organizations are found by the legal form that their names end in."""

import pytest

from rag_core.text.organizations import find_captioned_name, find_organization, name_without_form
from tests.adversarial.growth import find_excess


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


@pytest.mark.parametrize("pumped", ["AB CD ", "A.", "A-b'"])
def test_a_long_line_of_capitals_is_read_in_linear_time(pumped: str) -> None:
    """Also one without a space, where a word may begin anew after each dot: 40,000 characters took half a minute."""
    excess = find_excess(find_organization, lambda n: (pumped * n)[:n], chars=10_000, floor_s=0.1, max_s=0.5)
    assert excess is None, str(excess)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Listed on Oak Exchange LLC\n\noakHollow Inc .\n______\n\n(Exact name of registrant)", "oakHollow Inc."),
        ("File 7\n4U Tarnmoor & Co. (full legal name of the company)\n", "4U Tarnmoor & Co."),
        ("Sort the rows (name of the column).", ""),
        ("(State)\n(Exact name of registrant)", ""),
        ("(Exact name of registrant)", ""),
        ("long " * 50 + "\n(Exact name of registrant)", ""),
    ],
)
def test_a_name_is_known_by_its_caption_whatever_its_form(text: str, name: str) -> None:
    assert find_captioned_name(text) == name


def test_a_name_is_shown_without_its_form() -> None:
    assert name_without_form("Acme Widgets, Inc.") == "Acme Widgets"
    assert name_without_form("Plain") == "Plain"

"""What every redactor promises."""

import pytest

from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.errors import Misconfigured
from rag_core.core.ports import Redactor
from rag_core.guard.redaction import merge_spans, replace_spans


@pytest.fixture(params=["rules", "presidio"])
def redactor(request: pytest.FixtureRequest) -> Redactor:
    if request.param == "presidio":
        pytest.importorskip("presidio_analyzer", reason="needs pip install 'azure-rag[presidio]'")
    return assembly.build_kit(
        settings.load_settings({"RAG_DATA_DIR": ":memory:", "RAG_PII_REDACTOR": request.param})
    ).redactor


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("mail jane.doe@example.com today", "mail [EMAIL] today"),
        ("card 4111111111111111 is lost", "card [CREDIT_CARD] is lost"),
        ("IBAN GB82WEST12345698765432 please", "IBAN [IBAN] please"),
        ("my SSN is 219-09-9999", "my SSN is [SSN]"),
        ("call me at +1-212-555-0187", "call me at [PHONE]"),
        ("client ip 106.31.73.20 blocked", "client ip [IP] blocked"),
        ("nothing to see here", "nothing to see here"),
        ("", ""),
    ],
)
def test_what_has_a_grammar_is_found_without_a_network(redactor: Redactor, text: str, left: str) -> None:
    """S4-01: sockets beyond this machine are refused while this runs."""
    assert replace_spans(text, merge_spans(redactor.find_pii_spans(text))) == left


def test_the_name_tells_the_types_so_that_what_is_cached_of_one_choice_is_not_given_for_another() -> None:
    def named(types: str) -> str:
        return assembly.build_kit(
            settings.load_settings({"RAG_DATA_DIR": ":memory:", "RAG_PII_TYPES": types})
        ).redactor.name

    assert named("") != named("email") == "rules for EMAIL"


def test_the_regions_of_telephone_numbers_are_the_operators_choice_and_known_ones() -> None:
    def redactor(regions: str) -> Redactor:
        return assembly.build_kit(
            settings.load_settings({"RAG_DATA_DIR": ":memory:", "RAG_PII_REGIONS": regions})
        ).redactor

    at_home, abroad = redactor("cz, pl"), redactor("sg")
    assert [span.type for span in at_home.find_pii_spans("It was 723 813 266.")] == ["PHONE"]
    assert [*abroad.find_pii_spans("It was 723 813 266.")] == []
    assert at_home.name != abroad.name
    with pytest.raises(Misconfigured, match=r"RAG_PII_REGIONS: no XX among .*PL"):
        redactor("pl, xx")


def test_an_unknown_type_is_refused_with_those_there_are() -> None:
    with pytest.raises(Misconfigured, match=r"RAG_PII_TYPES: no GENES among .*EMAIL"):
        assembly.build_kit(settings.load_settings({"RAG_DATA_DIR": ":memory:", "RAG_PII_TYPES": "email, genes"}))

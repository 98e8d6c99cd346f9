"""What is known of hosted models, and that the defaults are no models on their way out."""

from datetime import UTC, date, datetime, timedelta

import pytest

from rag_core.core.hosted_models import (
    DEFAULT_CHAT_MODEL,
    DEFAULT_EMBEDDING_MODEL,
    FACTS,
    HOSTED_MODELS,
    describe_retirement,
    find_hosted_model,
)

DAY = timedelta(days=1)


def test_no_default_is_retired_within_ninety_days() -> None:
    """Fails by itself when it is time: choose other defaults in hosted_models.json, and `make docs`."""
    today = datetime.now(UTC).date()
    defaults = (DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL)
    assert [describe_retirement(model.name, "azure", today) for model in defaults] == [None, None]


@pytest.mark.parametrize(("before", "said"), [(91, False), (90, True), (30, True), (0, True), (-1, True)])
def test_ninety_days_before_its_end_a_default_is_named(before: int, said: bool) -> None:
    today = DEFAULT_CHAT_MODEL.retires["azure"] - before * DAY
    assert (describe_retirement(DEFAULT_CHAT_MODEL.name, "azure", today) is not None) == said


def test_what_is_said_has_the_model_the_day_and_what_to_do() -> None:
    last = DEFAULT_CHAT_MODEL.retires["azure"]
    named = f"{DEFAULT_CHAT_MODEL.name} {DEFAULT_CHAT_MODEL.version}"
    assert describe_retirement(DEFAULT_CHAT_MODEL.name, "azure", last - 30 * DAY) == (
        f"{named} retires in 30 days, on {last}: calls fail from then on; deploy another model and name it in the "
        "settings (docs/reference/azure-deployment.md)"
    )
    gone = describe_retirement(DEFAULT_CHAT_MODEL.name, "azure", last + DAY)
    assert gone is not None
    assert gone.startswith(f"{named} is retired since {last}: ")


def test_the_defaults_of_before_would_have_been_named() -> None:
    """gpt-4o-mini was deprecated, and so refused for new deployments, before it was replaced here."""
    assert describe_retirement("gpt-4o-mini-2024-07-18", "azure", date(2027, 2, 1))
    assert describe_retirement("gpt-5-mini", "openai", date(2026, 11, 23))
    assert describe_retirement("gpt-5-mini", "gemini", date(2030, 1, 1)) is None
    assert describe_retirement("our-own", "azure", date(2030, 1, 1)) is None


def test_every_fact_names_where_and_when_it_was_read() -> None:
    for facts in FACTS["models"].values():
        assert facts["sources"]
        assert {"usd_per_million", "context_tokens"} <= facts.keys()
        assert ("chat" in facts) != ("dimensions" in facts)
        if "azure" in facts.get("retires", {}):
            assert "microsoft-schedule" in facts["sources"]
        assert any("prices" in source for source in facts["sources"])
    assert {name for facts in FACTS["models"].values() for name in facts["sources"]} == set(FACTS["sources"])
    for source in FACTS["sources"].values():
        assert source["url"].startswith("https://")
        assert date.fromisoformat(source["read"]) <= datetime.now(UTC).date()


def test_a_default_can_be_deployed() -> None:
    for model in (DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL):
        assert model.version
        assert model.sku == "GlobalStandard"
        assert model.retires["azure"]
    assert DEFAULT_CHAT_MODEL.chat
    assert DEFAULT_CHAT_MODEL.chat.structured_output
    assert DEFAULT_EMBEDDING_MODEL.dimensions == 1536


@pytest.mark.parametrize("name", ["gpt-4o-mini", "gpt-4o-mini-2024-07-18", "models/gpt-4o-mini-latest"])
def test_a_model_is_found_by_its_name_with_or_without_a_version(name: str) -> None:
    assert find_hosted_model(name) is HOSTED_MODELS["gpt-4o-mini"]


@pytest.mark.parametrize("name", ["chat", "", "gpt-5", "gpt-4o-mini-mine", "gpt-5.4-mini-2"])
def test_no_model_is_guessed_from_a_name_that_is_like_its(name: str) -> None:
    assert find_hosted_model(name) is None

"""Variables that look like a setting and are none: a tenant's lock must not stay open for want of a letter."""

import pytest

from rag_core.core.setting_names import list_unknown_settings
from rag_core.core.settings import list_misnamed_settings

KNOWN = ["RAG_WORKFLOW_CLAIM", "RAG_DATA_DIR", "AZURE_SEARCH_ENDPOINT", "AZURE_OPENAI_API_KEY", "OLLAMA_MODEL"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RAG_WORKFLOW_CLAIMS", "RAG_WORKFLOW_CLAIMS is no setting and has no effect: is RAG_WORKFLOW_CLAIM meant?"),
        ("RAG_DATADIR", "RAG_DATADIR is no setting and has no effect: is RAG_DATA_DIR meant?"),
        ("RAG_NOTHING_LIKE_IT", "RAG_NOTHING_LIKE_IT is no setting and has no effect"),
        (
            "AZURE_SEARCH_ENDPIONT",
            "AZURE_SEARCH_ENDPIONT is no setting and has no effect: is AZURE_SEARCH_ENDPOINT meant?",
        ),
        ("AZURE_OPENAI_KEY", "AZURE_OPENAI_KEY is no setting and has no effect: is AZURE_OPENAI_API_KEY meant?"),
    ],
)
def test_a_name_that_nearly_is_a_setting_is_told_with_the_one_that_is_meant(name: str, said: str) -> None:
    assert list(list_unknown_settings([name, "RAG_DATA_DIR"], KNOWN)) == [said]


@pytest.mark.parametrize(
    "name",
    ["PATH", "AZURE_CLIENT_ID", "AZURE_LOCATION", "OLLAMA_MODELS", "OPENAI_API_VERSION", "RAGGED"],
)
def test_names_of_other_programs_are_left_alone(name: str) -> None:
    assert list(list_unknown_settings([name], KNOWN)) == []


def test_only_what_the_environment_sets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_PUBLIC_QUERY", "1")
    monkeypatch.setenv("RAG_FUNCTIONS_KEY", "key")
    monkeypatch.setenv("RAG_JUGDE", "")
    assert list(list_misnamed_settings()) == []
    monkeypatch.setenv("RAG_JUGDE", "chat")
    assert list(list_misnamed_settings()) == ["RAG_JUGDE is no setting and has no effect: is RAG_JUDGE meant?"]

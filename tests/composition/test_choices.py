"""Which adapter fills which slot, and why: a function of the settings alone."""

from pathlib import Path

import pytest

from rag_core.composition import assembly, index_assembly, model_assembly
from rag_core.composition.choices import (
    ProviderChoice,
    choose_chat_provider,
    choose_judge,
    describe_admission_to_workflows,
    list_adapter_choices,
    list_ineffective_settings,
)
from rag_core.core import settings
from rag_core.core.errors import Misconfigured, NotChosen, Unavailable
from rag_core.providers import local_models
from tests.entailment import write_entailment_model
from tests.fakes import ScriptedLLM

ALL = {
    "AZURE_OPENAI_ENDPOINT": "https://o.openai.azure.com",
    "OPENAI_API_KEY": "key",
    "GEMINI_API_KEY": "key",
    "OLLAMA_HOST": "127.0.0.1:11434",
}


def slots(**environment: str) -> dict[str, tuple[str, str]]:
    chosen = settings.load_settings({"RAG_DATA_DIR": ":memory:"} | environment)
    embedding = index_assembly.choose_embedding_provider(chosen)
    return {c.slot: (c.adapter, f"{c.where}; {c.why}") for c in list_adapter_choices(chosen, embedding)}


def test_the_first_provider_that_is_set_is_chosen() -> None:
    """S3-10, C40: Azure OpenAI, OpenAI, Gemini, Ollama, and the local models when none is set."""
    left = dict(ALL)
    for expected, name in zip(("azure", "openai", "gemini", "ollama"), ALL, strict=True):
        assert choose_chat_provider(settings.load_settings(left)).name == expected
        del left[name]
    assert choose_chat_provider(settings.load_settings({})).name == "local"


@pytest.mark.parametrize("named", ["azure", "openai", "openai-large", "gemini"])
def test_a_provider_by_name_requires_its_own_variable_and_no_other(named: str) -> None:
    """C40: requirements belong to the provider in use."""
    wanted = {"azure": "AZURE_OPENAI_ENDPOINT", "gemini": "GEMINI_API_KEY"}.get(named, "OPENAI_API_KEY")
    others = {name: value for name, value in ALL.items() if name != wanted}
    with pytest.raises(Misconfigured, match=wanted):
        choose_chat_provider(settings.load_settings(others | {"RAG_LLM_PROVIDER": named}))
    assert choose_chat_provider(settings.load_settings({wanted: ALL[wanted], "RAG_LLM_PROVIDER": named})).name == named


def test_a_provider_by_name_wins_over_those_that_are_set() -> None:
    assert choose_chat_provider(settings.load_settings(ALL | {"RAG_LLM_PROVIDER": "local"})).name == "local"
    assert choose_chat_provider(settings.load_settings(ALL | {"RAG_LLM_PROVIDER": "ollama"})).name == "ollama"


def test_the_search_service_is_the_store_once_its_endpoint_is_set() -> None:
    """S1-23, C33."""
    assert slots()["store"][0] == "embedded"
    adapter, why = slots(AZURE_SEARCH_ENDPOINT="https://s.search.windows.net")["store"]
    assert adapter == "Azure AI Search"
    assert "index rag-chunks" in why
    assert "this machine's identity, for AZURE_SEARCH_API_KEY is not set" in why


def test_every_choice_says_which_setting_made_it() -> None:
    """C40."""
    assert "AZURE_SEARCH_ENDPOINT is not set" in slots()["store"][1]
    for slot in ("chat model", "embedder"):
        assert "AZURE_OPENAI_ENDPOINT, OPENAI_API_KEY" in slots()[slot][1]
    assert "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT is not set" in slots()["documents"][1]
    assert "RAG_FUNCTIONS_URL is not set" in slots()["client"][1]
    with_ollama = slots(OLLAMA_MODEL="qwen2.5:1.5b", RAG_EMBEDDING_PROVIDER="local")
    assert "OLLAMA_MODEL is set" in with_ollama["chat model"][1]
    assert with_ollama["embedder"] == ("local", "this process; RAG_EMBEDDING_PROVIDER is local")


def test_a_budget_for_reading_without_a_service_that_is_paid_is_named_as_idle() -> None:
    budget = {"RAG_LAYOUT_BUDGET_USD": "1"}
    assert list(list_ineffective_settings(settings.load_settings(budget))) == [
        "RAG_LAYOUT_BUDGET_USD has no effect: AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT is not set"
    ]
    reader = {"AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT": "https://d.cognitiveservices.azure.com"}
    assert list(list_ineffective_settings(settings.load_settings(reader | budget))) == []


def test_a_key_without_its_address_is_named_as_idle() -> None:
    alone = settings.load_settings({"AZURE_SEARCH_API_KEY": "key", "AZURE_OPENAI_API_KEY": "key"})
    assert list(list_ineffective_settings(alone)) == [
        "AZURE_SEARCH_API_KEY has no effect: AZURE_SEARCH_ENDPOINT is not set",
        "AZURE_OPENAI_API_KEY has no effect: AZURE_OPENAI_ENDPOINT is not set",
    ]
    assert list(list_ineffective_settings(settings.load_settings(ALL))) == []
    thrice = dict.fromkeys(("RAG_LLM_PROVIDER", "RAG_CHAT_PROVIDER", "RAG_EMBEDDING_PROVIDER"), "openai")
    assert list(list_ineffective_settings(settings.load_settings(ALL | thrice))) == [
        "RAG_LLM_PROVIDER has no effect: RAG_CHAT_PROVIDER and RAG_EMBEDDING_PROVIDER are set"
    ]


@pytest.mark.parametrize(
    ("environment", "chat", "embedding", "dimensions", "where"),
    [
        ({"OPENAI_API_KEY": "k"}, "gpt-4o-mini", "text-embedding-3-small", 1536, "https://api.openai.com/v1"),
        (
            {"OPENAI_API_KEY": "k", "RAG_LLM_PROVIDER": "openai-large"},
            "gpt-5-mini",
            "text-embedding-3-large",
            1536,
            "https://api.openai.com/v1",
        ),
        (
            {"OPENAI_API_KEY": "k", "OPENAI_CHAT_MODEL": "gpt-4o", "OPENAI_BASE_URL": "https://proxy.example/v1"},
            "gpt-4o",
            "text-embedding-3-small",
            1536,
            "https://proxy.example/v1",
        ),
        (
            {"AZURE_OPENAI_ENDPOINT": "https://o.example", "AZURE_OPENAI_CHAT_DEPLOYMENT": "chat"},
            "chat",
            "text-embedding-3-small",
            1536,
            "https://o.example",
        ),
        (
            {"GEMINI_API_KEY": "k"},
            "gemini-1.5-flash",
            "text-embedding-004",
            768,
            "https://generativelanguage.googleapis.com/v1beta/openai/",
        ),
        (
            {"OLLAMA_HOST": "box:11434", "OLLAMA_MODEL": "qwen3:4b"},
            "qwen3:4b",
            "nomic-embed-text",
            768,
            "http://box:11434/v1",
        ),
        (
            {"OPENAI_API_KEY": "k", "RAG_EMBEDDING_DIMENSIONS": "512"},
            "gpt-4o-mini",
            "text-embedding-3-small",
            512,
            None,
        ),
    ],
)
def test_settings_become_the_profile_of_the_provider(
    environment: dict[str, str], chat: str, embedding: str, dimensions: int, where: str | None
) -> None:
    """S3-10..12, S2-46, S2-47, S4-20, C05, C06: models, widths and addresses."""
    chosen = settings.load_settings(environment)
    profile, _ = model_assembly.build_provider_profile(chosen, choose_chat_provider(chosen).name)
    assert (profile.chat_model, profile.embedding_model, profile.dimensions) == (chat, embedding, dimensions)
    assert where is None or profile.base_url == where


def test_the_models_are_those_of_the_profile() -> None:
    kit = assembly.build_kit(settings.load_settings({"OPENAI_API_KEY": "k", "RAG_DATA_DIR": ":memory:"}))
    assert kit.llm.name.endswith("gpt-4o-mini")
    assert kit.index.embedder.space.startswith("text-embedding-3-small")
    assert kit.index.embedder.dimensions == 1536


def test_a_width_that_is_asked_for_is_sent() -> None:
    """C06: text-embedding-3-large is 3072 wide unless asked to be less."""
    large = settings.load_settings({"OPENAI_API_KEY": "k", "OPENAI_EMBEDDING_MODEL": "text-embedding-3-large"})
    profile, _ = model_assembly.build_provider_profile(large, "openai")
    assert (profile.dimensions, profile.send_dimensions) == (1536, True)


def test_ollama_is_given_the_time_that_it_was_promised() -> None:
    """S4-23."""
    profile, _ = model_assembly.build_provider_profile(
        settings.load_settings({"OLLAMA_MODEL": "m", "OLLAMA_TIMEOUT_SECONDS": "150"}), "ollama"
    )
    assert profile.attempt_timeout_s == 150


def test_the_database_is_the_store_when_its_address_is_set_and_shown_without_its_password() -> None:
    """S2-49, S3-01."""
    read = settings.load_settings({"POSTGRES_URL": "postgresql://rag:secret@db:5432/rag?password=secret"})
    store = next(choice for choice in list_adapter_choices(read, ProviderChoice("local", "")) if choice.slot == "store")
    assert (store.adapter, store.where) == ("PostgreSQL", "db:5432/rag")
    assert "secret" not in repr(read)
    both = settings.load_settings(
        {"POSTGRES_URL": "postgresql://db/rag", "AZURE_SEARCH_ENDPOINT": "https://s.search.windows.net"}
    )
    assert "POSTGRES_URL has no effect: AZURE_SEARCH_ENDPOINT is set" in list_ineffective_settings(both)


def test_an_entailment_model_judges_before_a_chat_model_and_that_before_the_local_technique(tmp_path: Path) -> None:
    chat, folder = {"OPENAI_API_KEY": "key"}, {"RAG_MODELS_DIR": str(tmp_path)}
    assert choose_judge(settings.load_settings({})) == "local"
    assert choose_judge(settings.load_settings(folder)) == "local"
    assert choose_judge(settings.load_settings(chat | folder)) == "chat"
    write_entailment_model(tmp_path / "entailment")
    assert choose_judge(settings.load_settings(chat | folder)) == "entailment"
    for judge in ("chat", "entailment", "local"):
        assert choose_judge(settings.load_settings(chat | folder | {"RAG_JUDGE": judge})) == judge
    assert slots(**folder)["judge"][0] == "entailment model"
    assert slots()["judge"][0] == "local technique"
    assert "RAG_JUDGE is auto" in slots()["judge"][1]


@pytest.mark.parametrize(("judge", "required"), [("chat", "OPENAI_API_KEY"), ("entailment", "RAG_MODELS_DIR")])
def test_a_judge_by_name_that_is_not_there_is_refused_and_not_replaced(judge: str, required: str) -> None:
    with pytest.raises(Misconfigured, match=f"RAG_JUDGE is {judge}, which requires .*{required}") as refused:
        choose_judge(settings.load_settings({"RAG_JUDGE": judge}))
    assert refused.value.field == "RAG_JUDGE"


async def test_the_kit_has_the_entailment_model_where_there_is_one(tmp_path: Path) -> None:
    """And embedder and reranker of the package, which the folder does not replace."""
    write_entailment_model(tmp_path / "entailment")
    kit = assembly.build_in_memory_kit(settings.Settings(models_dir=tmp_path))
    without = assembly.build_in_memory_kit(settings.Settings(models_dir=tmp_path, judge="local"))
    assert kit.judge
    assert kit.judge.name == "entailment model counting-nli"
    assert without.judge is None
    assert kit.index.embedder.dimensions == 384
    await kit.close()
    await without.close()


def test_a_folder_that_is_no_entailment_model_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "entailment").mkdir()
    with pytest.raises(Misconfigured, match=r"no model.onnx"):
        assembly.build_in_memory_kit(settings.Settings(models_dir=tmp_path))


def test_an_entailment_model_without_the_libraries_that_run_it_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_entailment_model(tmp_path / "entailment")
    monkeypatch.setattr(local_models, "RUNTIME_LIBRARIES", ("numpy", "not_installed_here"))
    with pytest.raises(Misconfigured, match=r"requires not_installed_here: pip install 'azure-rag\[local\]'"):
        model_assembly.build_judge(settings.Settings(models_dir=tmp_path), ScriptedLLM())


@pytest.mark.parametrize(("provider", "by_choice"), [({"OPENAI_API_KEY": "k"}, True), ({}, False)])
async def test_a_deployment_does_without_a_cross_encoder_where_a_chat_model_checks(
    provider: dict[str, str], by_choice: bool, tmp_path: Path
) -> None:
    """On a laptop, or where nothing checks the answers, a cross-encoder is missing and not left out."""
    models = {"RAG_MODELS_DIR": str(tmp_path / "none"), **provider}
    deployed = {"AZURE_SEARCH_ENDPOINT": "https://s.search.windows.net"}
    for environment, expected in ((models | deployed, by_choice), (models, False)):
        reranker = model_assembly.build_local_reranker(settings.load_settings(environment))
        with pytest.raises(Unavailable) as refused:
            await reranker.score_passages("x", ["y"])
        assert isinstance(refused.value, NotChosen) == expected


def test_a_preview_feature_needs_a_version_that_has_it() -> None:
    asked = {"AZURE_SEARCH_ENDPOINT": "https://s.search.windows.net", "RAG_DATA_DIR": ":memory:"}
    rewriting = settings.load_settings(asked | {"AZURE_SEARCH_QUERY_REWRITES": "3"})
    with pytest.raises(Misconfigured) as refused:
        index_assembly.build_chunk_store(rewriting, model_assembly.build_embedder(rewriting, "local"))
    assert refused.value.field == "AZURE_SEARCH_PREVIEW"
    with pytest.raises(Misconfigured, match="such as 2026-08-01-preview"):
        settings.load_settings({"AZURE_SEARCH_PREVIEW": "2026-04-01"})
    unused = settings.load_settings(asked | {"AZURE_SEARCH_PREVIEW": "2026-08-01-Preview"})
    assert any("AZURE_SEARCH_PREVIEW has no effect" in said for said in list_ineffective_settings(unused))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "every caller may name every workflow: RAG_WORKFLOW_CLAIM is not set"),
        ({"RAG_WORKFLOW_CLAIM": "roles"}, "every caller gets 404: RAG_WORKFLOW_CLAIM is set"),
        ({"RAG_WORKFLOW_CLAIM": "roles", "WEBSITE_AUTH_ENABLED": "yes"}, "WEBSITE_AUTH_ENABLED is not true"),
        ({"RAG_WORKFLOW_CLAIM": "roles", "WEBSITE_AUTH_ENABLED": "true"}, "those of the claim roles"),
    ],
)
def test_who_may_name_which_workflow_is_said(environment: dict[str, str], said: str) -> None:
    assert said in describe_admission_to_workflows(settings.load_settings(environment))

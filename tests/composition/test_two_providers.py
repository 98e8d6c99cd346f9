"""A chat model beside an index that another model embedded: two choices, and the index decides the second one."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from local_emulator.host import run_service
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.cli import main
from rag_core.composition import index_assembly
from rag_core.composition.assembly import KitHolder
from rag_core.composition.choices import choose_chat_provider
from rag_core.core.errors import Misconfigured
from rag_core.core.ports import Prompt
from rag_core.core.settings import Settings, load_settings
from rag_core.stores.embedded.change_mark import get_change_mark_file
from tests import hosted, local
from tests.fakes import Down, ScriptedLLM

TEXTS = {
    "gear.txt": "The gearbox is hot after a long climb. It has to cool for twenty minutes.",
    "brake.txt": "The brake caliper sticks in winter.",
}
QUESTION = "How long does the gearbox have to cool?"
TRUE = "The gearbox has to cool for twenty minutes."
REWORDING = "cooling time of the gearbox"
SNIPPET = "It has to cool for twenty minutes."


def _judge_as_supported(prompt: Prompt) -> str:
    """A reply that finds each claim stated by its first passage."""
    verdict = {"words": "", "verdict": "supported", "probability": 0.9}
    claims: Any = prompt.inputs["claims"]
    return json.dumps(
        {"judgements": [{"claim": claim["id"], "passage": claim["passages"][0], **verdict} for claim in claims]}
    )


def _grade_first_passage(prompt: Prompt) -> str:
    """A reply that grades the first passage 9, the others 0."""
    passages: Any = prompt.inputs["passages"]
    return json.dumps({"grades": [{"id": p["id"], "score": 0 if n else 9} for n, p in enumerate(passages)]})


class ChatService:
    """An OpenAI-compatible service with a chat model alone; it counts its requests by what they ask for."""

    def __init__(self) -> None:
        says = ScriptedLLM(
            query_expansion=json.dumps({"queries": [REWORDING], "hyde": TRUE, "intent": "FACT", "entities": []}),
            rerank=_grade_first_passage,
            judge=_judge_as_supported,
            answer=json.dumps({"answerable": True, "sentences": [{"text": TRUE, "evidence": ["e1"]}]}),
        )
        self._service = ModelService(Down(), says, keys={"key", "none"})  # type: ignore[arg-type]
        self.paths: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.paths.append(environ["PATH_INFO"].rpartition("/v1/")[2])
        return self._service(environ, start_response)


@pytest.fixture
def chat() -> Iterator[tuple[ChatService, str]]:
    service = ChatService()
    with serve_wsgi(service) as url:
        yield service, url


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that was filled offline."""
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    assert main(["index", *(str(tmp_path / name) for name in TEXTS)]) == 0
    return tmp_path / "data"


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    """What a command prints as JSON."""
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def post(url: str, route: str, body: Mapping[str, object]) -> Any:
    with closing(HTTPConnection(url.removeprefix("http://"))) as connection:
        connection.request("POST", f"/api/{route}", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        reply = json.load(response)
        assert response.status == 200, reply
        return reply


def parts(url: str) -> Any:
    with closing(HTTPConnection(url.removeprefix("http://"))) as connection:
        connection.request("GET", "/api/health")
        return json.load(connection.getresponse())["parts"]


def embedding_choice(data_dir: Path | None, **environment: str) -> str:
    folder = ":memory:" if data_dir is None else str(data_dir)
    return index_assembly.choose_embedding_provider(load_settings({"RAG_DATA_DIR": folder} | environment)).name


def test_a_chat_model_answers_over_an_index_that_was_embedded_locally(
    data: Path, chat: tuple[ChatService, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S0-73, S3-13: from the command line, by OPENAI_API_KEY alone; no text goes to the service to be embedded."""
    service, url = chat
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    found = printed(capsys, "query", QUESTION, "--pipeline", "advanced")
    assert REWORDING in found["queries"].values()
    assert (found["degraded"], found["documents"][0]["title"]) == ([], "gear")
    answered = printed(capsys, "ask", QUESTION)
    assert (answered["answer"], answered["degraded"]) == (TRUE, [])
    assert set(service.paths) == {"chat/completions"}


def test_the_http_app_answers_with_the_chat_model_and_embeds_in_process(
    data: Path, chat: tuple[ChatService, str]
) -> None:
    """S0-73, S1-05: consult_rag, ask, and what health says of both."""
    service, url = chat
    settings = Settings(data_dir=data, openai_api_key="key", openai_base_url=f"{url}/v1")
    with run_service(settings) as app:
        found = post(app, "consult_rag", {"query": QUESTION, "pipeline": "advanced"})
        assert REWORDING in found["queries"].values()
        assert (found["degraded"], found["documents"][0]["title"]) == ([], "gear")
        answered = post(app, "rag/ask", {"query": QUESTION})
        assert (answered["answer"], answered["degraded"]) == (TRUE, [])
        assert parts(app)["llm"] == "openai gpt-4o-mini"
        assert parts(app)["embedder"] == local.embedder().space
        post(app, "index_document", {"document_id": "new", "title": "New", "content": "The clutch slips when wet."})
    assert set(service.paths) == {"chat/completions"}


def test_the_doctor_tells_both_choices_and_why(
    data: Path, chat: tuple[ChatService, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C40."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{chat[1]}/v1")
    assert main(["doctor", "--live"]) == 0
    told = capsys.readouterr().out
    assert f"chosen chat model         OpenAI: {chat[1]}/v1; OPENAI_API_KEY is set" in told
    assert "chosen embedder           local: this process; the index was embedded with it" in told


def test_another_embedding_provider_by_name_is_refused_as_before(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S3-13, C05: by configuration alone the model of an index does not change; the error says what changes it."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    for name in ("RAG_EMBEDDING_PROVIDER", "RAG_LLM_PROVIDER"):
        with monkeypatch.context() as set_for_now:
            set_for_now.setenv(name, "openai")
            assert main(["index", str(data.parent / "gear.txt"), "--plan"]) == 2
            error = capsys.readouterr().err
            assert "the index holds vectors of bge-small-en-v1.5-int8" in error
            assert "RAG_EMBEDDING_PROVIDER" in error
            assert "rag reindex" in error
            assert main(["doctor"]) == 1


def test_the_space_of_an_index_is_read_also_without_the_mark_beside_it(data: Path) -> None:
    """An index of an earlier version has none; the database knows."""
    assert embedding_choice(data, OPENAI_API_KEY="key") == "local"
    get_change_mark_file(data).unlink()
    assert embedding_choice(data, OPENAI_API_KEY="key") == "local"


def test_an_index_without_vectors_follows_the_chat_model(tmp_path: Path) -> None:
    assert embedding_choice(tmp_path, OPENAI_API_KEY="key") == "openai"
    assert not list(tmp_path.iterdir())
    assert embedding_choice(None, OPENAI_API_KEY="key") == "openai"
    assert embedding_choice(None) == "local"
    assert embedding_choice(None, GEMINI_API_KEY="key", RAG_CHAT_PROVIDER="local") == "local"


def test_each_provider_is_chosen_by_its_own_name_and_both_by_the_old_one(data: Path) -> None:
    """S0-73, C40."""
    keys = {"OPENAI_API_KEY": "key", "GEMINI_API_KEY": "key", "RAG_DATA_DIR": str(data)}

    def chosen(**names: str) -> tuple[str, str]:
        settings = load_settings(keys | names)
        return choose_chat_provider(settings).name, index_assembly.choose_embedding_provider(settings).name

    assert chosen() == ("openai", "local")
    assert chosen(RAG_CHAT_PROVIDER="gemini") == ("gemini", "local")
    assert chosen(RAG_EMBEDDING_PROVIDER="gemini") == ("openai", "gemini")
    assert chosen(RAG_LLM_PROVIDER="gemini") == ("gemini", "gemini")
    assert chosen(RAG_LLM_PROVIDER="gemini", RAG_EMBEDDING_PROVIDER="local") == ("gemini", "local")
    assert chosen(RAG_LLM_PROVIDER="gemini", RAG_CHAT_PROVIDER="openai") == ("openai", "gemini")
    for name in ("RAG_CHAT_PROVIDER", "RAG_EMBEDDING_PROVIDER", "RAG_LLM_PROVIDER"):
        with pytest.raises(Misconfigured, match=f"{name} is azure, which requires AZURE_OPENAI_ENDPOINT"):
            chosen(**{name: "azure"})


async def test_a_service_embeds_as_the_index_once_another_process_has_filled_it(tmp_path: Path) -> None:
    """The rule is the same for a service that runs and for one that is started afterwards."""
    parts = KitHolder(lambda: Settings(data_dir=tmp_path / "data", openai_api_key="key"))
    first = parts()
    assert first.index.embedder.space == "text-embedding-3-small;1536;"
    (tmp_path / "gear.txt").write_text(TEXTS["gear.txt"])
    offline = ["index", "--data", str(tmp_path / "data"), str(tmp_path / "gear.txt")]
    assert await asyncio.to_thread(main, offline) == 0
    then = parts()
    assert then.index.embedder.space == local.embedder().space
    assert (then.index.store, then.llm) == (first.index.store, first.llm)
    assert parts() is then
    await parts.close()


def test_an_index_of_a_hosted_model_keeps_it_when_the_chat_model_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same the other way round: embedded by OpenAI's model, then another chat model comes first."""
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "gear.txt").write_text(TEXTS["gear.txt"])
    dimensions = {"RAG_EMBEDDING_DIMENSIONS": str(hosted.DIMENSIONS)}
    with hosted.running() as url:
        for name, value in {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{url}/v1", **dimensions}.items():
            monkeypatch.setenv(name, value)
        assert main(["index", str(tmp_path / "gear.txt")]) == 0
    made = {"OPENAI_API_KEY": "key", **dimensions}
    assert embedding_choice(tmp_path / "data", **made, RAG_CHAT_PROVIDER="local") == "openai"
    assert embedding_choice(tmp_path / "data", **made, OLLAMA_MODEL="m", RAG_CHAT_PROVIDER="ollama") == "openai"
    assert embedding_choice(tmp_path / "data", **made, AZURE_OPENAI_ENDPOINT="https://o.example") == "azure"
    assert embedding_choice(tmp_path / "data", GEMINI_API_KEY="key") == "gemini"  # none that is set makes its vectors


def test_another_index_is_embedded_as_the_current_one(data: Path) -> None:
    """`rag eval --hosted` measures the models that the service uses, over a temporary index."""
    keyed = Settings(data_dir=data, openai_api_key="key")
    elsewhere = replace(index_assembly.name_embedding_model(keyed), data_dir=None)
    assert index_assembly.build_current_embedder(elsewhere).space == local.embedder().space
    assert choose_chat_provider(elsewhere).name == "openai"


@contextmanager
def clinic(data: Path, ollama: str) -> Iterator[str]:
    """The app of the documented classical pipeline: an embedder in the process, Ollama for the chat."""
    environment = {"OLLAMA_HOST": ollama, "RAG_EMBEDDING_PROVIDER": "local", "RAG_DATA_DIR": str(data)}
    with run_service(load_settings(environment)) as app:
        yield app


def test_classical_answers_by_ollama_with_the_embedder_in_the_process(
    data: Path, chat: tuple[ChatService, str]
) -> None:
    """S4-07, S4-09, S4-20, C40: Ollama is asked for its chat model and for no vector."""
    service, url = chat
    with clinic(data, url) as app:
        answered = post(app, "rag/ask", {"query": QUESTION, "pipeline": "classical"})
        assert answered["degraded"] == []
        assert "twenty minutes" in answered["answer"]
        assert answered["usage"]["cost_usd"] == 0
        assert parts(app)["llm"] == "ollama qwen2.5:1.5b"
        assert parts(app)["embedder"] == local.embedder().space
    assert set(service.paths) == {"chat/completions"}


def test_classical_gives_snippets_when_ollama_is_down(data: Path) -> None:
    """S4-47: over the real client of a server that is not there, with the vectors of the process."""
    with serve_wsgi(ChatService()) as url:
        pass  # its port is free again, and nothing listens on it
    with clinic(data, url) as app:
        answered = post(app, "rag/ask", {"query": QUESTION, "pipeline": "classical"})
    assert (answered["origin"], answered["status"]) == ("extractive", "answered")
    assert SNIPPET in answered["answer"]
    assert [(each["step"], each["code"]) for each in answered["degraded"]] == [("answer", "llm_unavailable")]

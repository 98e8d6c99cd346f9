"""`rag models fetch`, from a server on this machine."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from local_emulator.search_service.serving import SHUTDOWN_POLL_S
from rag_core.cli import main
from rag_core.core.errors import InvalidRequest
from rag_core.providers.model_downloads import DOWNLOADABLE_MODELS, choose_download
from tests.entailment import write_entailment_model

NAME = "nli-deberta-v3-xsmall"
FILES = {"model.onnx": "onnx/model_quint8_avx2.onnx", "tokenizer.json": "tokenizer.json", "config.json": "config.json"}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A model as the hub has it."""
    folder = tmp_path / "published"
    write_entailment_model(folder, tokenizer="tokenizer.json", has_token_types=False, model_place=FILES["model.onnx"])
    return folder


@pytest.fixture
def hashes(published: Path) -> dict[str, str]:
    return {name: hashlib.sha256((published / path).read_bytes()).hexdigest() for name, path in FILES.items()}


@pytest.fixture
def mirror(published: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(published)))
    thread = threading.Thread(target=server.serve_forever, args=(SHUTDOWN_POLL_S,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(into: Path, mirror: str, hashes: dict[str, str], name: str = NAME) -> int:
    options = [option for file, sha256 in hashes.items() for option in ("--sha256", f"{file}={sha256}")]
    return main(["models", "fetch", name, "--into", str(into), "--from", mirror, *options])


def test_a_model_is_fetched_whole_and_is_then_the_judge(
    tmp_path: Path,
    mirror: str,
    hashes: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    into = tmp_path / "models"
    assert fetch(into, mirror, hashes) == 0
    assert f"Set RAG_MODELS_DIR={into}" in capsys.readouterr().out
    assert [path.name for path in into.iterdir()] == ["entailment"]
    assert {path.name for path in (into / "entailment").iterdir()} == set(FILES)
    monkeypatch.setenv("RAG_MODELS_DIR", str(into))
    assert main(["models", "--data", str(tmp_path / "data")]) == 0
    out = capsys.readouterr().out
    assert "judge           counting-nli\n" in out
    assert f"sha256 {hashes['model.onnx']}, licence not known" in out
    assert "sha256 68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743, MIT" in out  # the package's


@pytest.mark.parametrize("file", FILES)
def test_a_file_with_another_hash_is_not_kept_nor_any_other(
    tmp_path: Path, mirror: str, hashes: dict[str, str], capsys: pytest.CaptureFixture[str], file: str
) -> None:
    into = tmp_path / "models"
    assert fetch(into, mirror, hashes | {file: "0" * 64}) == 2
    error = capsys.readouterr().err
    assert f"{file} at 127.0.0.1" in error
    assert hashes[file] in error
    assert "nothing was kept" in error
    assert list(into.iterdir()) == []


def test_a_file_whose_hash_is_not_known_requires_one(
    tmp_path: Path, mirror: str, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    del hashes["config.json"]
    assert fetch(tmp_path / "models", mirror, hashes) == 2
    assert "--sha256 is required for config.json" in capsys.readouterr().err
    assert not (tmp_path / "models").exists()


def test_a_missing_file_is_named_and_nothing_is_kept(
    tmp_path: Path, published: Path, mirror: str, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (published / "tokenizer.json").unlink()
    assert fetch(tmp_path / "models", mirror, hashes) == 2
    assert "answered 404 for /tokenizer.json" in capsys.readouterr().err
    assert list((tmp_path / "models").iterdir()) == []


def test_a_server_that_does_not_answer_is_named(
    tmp_path: Path, hashes: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert fetch(tmp_path / "models", "http://127.0.0.1:1", hashes) == 2
    assert "127.0.0.1:1 could not be read" in capsys.readouterr().err


def test_a_model_that_could_not_judge_is_not_kept(
    tmp_path: Path, published: Path, mirror: str, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its hash is right, and its labels say nothing."""
    write_entailment_model(published, ("LABEL_0", "LABEL_1", "LABEL_2"), columns=("entailment", "neutral", "neutral"))
    hashes["config.json"] = hashlib.sha256((published / "config.json").read_bytes()).hexdigest()
    assert fetch(tmp_path / "models", mirror, hashes) == 2
    assert "label_0, label_1, label_2, which do not say" in capsys.readouterr().err
    assert list((tmp_path / "models").iterdir()) == []


def test_a_folder_that_is_there_is_not_replaced(
    tmp_path: Path, mirror: str, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "entailment").mkdir()
    assert fetch(tmp_path, mirror, hashes) == 2
    assert "exists: move it away first" in capsys.readouterr().err
    assert list((tmp_path / "entailment").iterdir()) == []


def test_a_mirror_without_tls_is_refused(
    tmp_path: Path, hashes: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch(tmp_path, "http://models.example.org", hashes) == 2
    assert "--from must be an https:// address" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["model.onnx", "model.onnx=12", "weights.bin=" + "0" * 64])
def test_a_hash_of_another_form_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequest, match="must be FILE=SHA256"):
        choose_download(NAME, [given])


def test_a_known_hash_cannot_be_replaced() -> None:
    with pytest.raises(InvalidRequest, match="not the known one"):
        choose_download("nli-deberta-v3-small", ["model.onnx=" + "0" * 64])


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match=", ".join(DOWNLOADABLE_MODELS)):
        choose_download("nli", [])

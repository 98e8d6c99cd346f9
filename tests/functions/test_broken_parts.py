"""A part whose files are broken is named in the replies, and the folder in which they lie is not."""

import json
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.host import Host
from rag_core.core.settings import Settings
from tests.functions.contract import check_reply

CALLS: dict[str, dict[str, Any]] = {
    "index_document": {"document_id": "notes", "content": "P0700 is stored by the TCM."},
    "consult_rag": {"query": "P0700"},
    "documents": {},
}


def call_all(folder: Path) -> list[str]:
    """Make each call to a service on this folder; return the messages of those that were refused."""
    host = Host(function_app.build_app(lambda: Settings(data_dir=folder / "data", models_dir=folder / "models")))
    replies = [Client(host).post(f"/api/{path}", json=fields) for path, fields in CALLS.items()]
    host.close()
    assert not [reply for reply in replies if str(folder) in reply.text]
    refused = [json.loads(reply.data) for reply in replies if reply.status_code != 200]
    for body in refused:
        check_reply("Refusal", body)
    return [body["error"]["message"] for body in refused]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{}", "the model embedder is not described: its config.json needs hidden_size"),
        ('{"hidden_size": 384}', "the model embedder cannot be loaded: ValueError"),
    ],
)
def test_a_broken_model_is_named_without_its_folder(config: str, message: str, tmp_path: Path) -> None:
    for role in ("embedder", "reranker"):
        (tmp_path / "models" / role).mkdir(parents=True)
        for name, content in (("model.onnx", "junk"), ("tokenizer.json", "junk"), ("config.json", config)):
            (tmp_path / "models" / role / name).write_text(content)
    assert message in call_all(tmp_path)


def test_a_broken_data_folder_is_named_without_its_path(tmp_path: Path) -> None:
    assert call_all(tmp_path) == []
    damage(tmp_path, "jobs.sqlite*")
    assert call_all(tmp_path) == ["the job table: file is not a database"]
    damage(tmp_path, "*.sqlite*")
    assert [message[:25] for message in call_all(tmp_path)] == ["the index file is damaged"] * 3


def damage(folder: Path, pattern: str) -> None:
    for path in (folder / "data").rglob(pattern):
        path.write_bytes(b"junk" * 2000)

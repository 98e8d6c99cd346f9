"""Documents that go and come back, on the command line."""

import asyncio
import json
from pathlib import Path

import pytest

from rag_core.cli import main
from rag_core.composition import assembly
from rag_core.core.model import SavedQuery, Scope
from rag_core.core.run import Run
from rag_core.core.settings import Settings
from rag_core.evaluation import isolation_attempts
from rag_core.ingestion import lifecycle
from rag_core.providers.embedded_cache import EmbeddedCache


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The option that names a folder in which a document is indexed; for words only, which is faster."""
    monkeypatch.setenv("RAG_MODELS_DIR", str(tmp_path / "none"))
    path = tmp_path / "notes.md"
    path.write_text("# Valves\n\nThe relief valve opens at 7 bar. P0700 is stored by the TCM.")
    option = ["--data", str(tmp_path / "data")]
    assert main(["index", *option, str(path)]) == 0
    capsys.readouterr()
    return option


def test_a_document_is_deleted_listed_and_restored(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """S3-16."""
    assert main(["delete", *data, "Valves"]) == 0
    assert "rag restore restores it" in capsys.readouterr().out
    assert main(["documents", *data]) == 0
    assert capsys.readouterr().out == "No documents in the workflow default.\n"
    assert main(["documents", *data, "--deleted"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert "Valves" in line
    assert "+00:00" in line
    assert main(["restore", *data, "Valves"]) == 0
    assert main(["documents", *data]) == 0
    assert "Valves" in capsys.readouterr().out
    assert main(["query", *data, "relief valve", "--pipeline", "standard"]) == 0
    assert "7 bar" in capsys.readouterr().out


def test_what_the_service_took_on_for_a_document_ends_when_it_is_deleted(data: list[str]) -> None:
    """S3-16, C21: by the command too, whose process is another."""
    job = asyncio.run(taken_on(Path(data[1])))
    assert main(["delete", *data, "Valves"]) == 0
    assert asyncio.run(state(Path(data[1]), job)) == "failed"


async def taken_on(data: Path) -> str:
    kit = assembly.build_kit(Settings(data_dir=data, models_dir=data / "none"))
    (known,) = await kit.index.store.list_documents(Scope("default"))
    job, _ = await kit.jobs.add(b"work", Scope("default"), document_id=known.id)
    await kit.close()
    return job.id


async def state(data: Path, job_id: str) -> str:
    kit = assembly.build_kit(Settings(data_dir=data, models_dir=data / "none"))
    job = await kit.jobs.get(job_id, None)
    await kit.close()
    assert job
    return job.state


def test_a_document_that_is_deleted_already_is_not_taken_for_one_of_a_like_name(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "valves-2024.txt").write_text("The relief valve opened at 6 bar.")
    assert main(["index", *data, str(tmp_path / "valves-2024.txt")]) == 0
    assert main(["delete", *data, "valves-2024.txt"]) == 0
    assert main(["delete", *data, "valves-2024.txt"]) == 2
    assert capsys.readouterr().err == "rag: valves-2024.txt is deleted already: rag restore restores it\n"


def test_a_deleted_document_can_still_be_purged(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delete", *data, "Valves"]) == 0
    assert main(["delete", *data, "--purge", "Valves"]) == 0
    assert capsys.readouterr().out.endswith(": purged\n")
    for again in (["restore"], ["delete"], ["delete", "--purge"]):
        assert main([*again, *data, "Valves"]) == 2
    told = capsys.readouterr().err
    assert "no deleted document has this id, path or title: there is none here" in told
    assert "no document has this id, path or title: there is none here" in told


def test_a_title_with_a_slip_is_told_which_was_meant(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", *data, "Vavles"]) == 2
    assert capsys.readouterr().err == "rag: no document has this id, path or title; did you mean Valves?\n"
    assert main(["summary", *data, "Something else"]) == 2
    assert "; the documents are Valves" in capsys.readouterr().err


def test_a_purge_forgets_the_answers_that_quote_the_document(data: list[str]) -> None:
    """(RELIABILITY C21): what is purged leaves no byte, in the file of the cache either."""
    path = Path(data[1]) / assembly.CACHE_FILE
    asyncio.run(remembered(path, b"the relief valve opens at 7 bar"))
    assert b"7 bar" in path.read_bytes()
    assert main(["delete", *data, "--purge", "Valves"]) == 0
    assert b"7 bar" not in path.read_bytes()


async def remembered(path: Path, answer: bytes) -> None:
    cache = EmbeddedCache(path, b"secret")
    await cache.set("key", answer, ttl_s=3600)
    await cache.close()


def test_the_log_shows_what_was_asked_and_cannot_steer_the_terminal(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """S4-31, (RELIABILITY C65): also what was refused, and what could not be answered."""
    for question in ("At what pressure?", "\x1b]52;c;aGk=\x07 x'; DROP TABLE valves;--"):
        assert main(["ask", *data, "--preset", "classical", question]) == 2
    capsys.readouterr()
    assert main(["log", *data, "-n", "5"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["log", *data, "--json"]) == 0
    refused, unanswered = json.loads(capsys.readouterr().out)
    assert (refused["status"], unanswered["status"]) == ("suspicious_input", "embedding_unavailable")
    assert (unanswered["preset"], unanswered["workflow_id"]) == ("classical", "default")


def test_the_audit_says_what_it_tried_and_that_nothing_leaked(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """S3-15."""
    assert main(["audit", "isolation", *data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "No scope received data of another scope."
    assert [line.split()[::2] for line in lines if line.startswith("search ")] == [["search", "0"]]
    assert main(["documents", *data]) == 0
    assert "Valves" in capsys.readouterr().out


def test_the_audit_names_a_leak_and_fails(
    data: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "rag_core.evaluation.isolation_audit.ATTEMPTS_BY_PATH",
        {"documents": isolation_attempts.ATTEMPTS_BY_PATH["documents"]},
    )
    monkeypatch.setattr(
        "rag_core.stores.embedded.filters.list_scope_readers", lambda scope: ("*", "user:ann", "user:bob")
    )
    assert main(["audit", "isolation", *data]) == 1
    assert "documents: audit-" in capsys.readouterr().out


async def test_a_purge_takes_the_text_out_of_kept_questions_and_a_deletion_does_not(data: list[str]) -> None:
    """S3-16, (RELIABILITY C21): it may come back until it is purged; then no byte of it stays in the archive either."""
    path, scope = Path(data[1]) / assembly.ARCHIVE_FILE, Scope("default")
    kit = assembly.build_kit(Settings(data_dir=path.parent, models_dir=path.parent / "none"))
    (document,) = await kit.index.store.list_documents(scope)
    quoted = ({"document_id": document.id, "content": "The relief valve opens at 7 bar."},)
    kept = await kit.archive.add_query(SavedQuery(0, "", "At what pressure?", retrieved_context=quoted), scope)
    await lifecycle.delete_document(document.id, scope, kit, Run())
    assert await kit.archive.load_query(kept.id, scope) == kept
    await lifecycle.delete_document(document.id, scope, kit, Run(), purge=True)
    left = await kit.archive.load_query(kept.id, scope)
    assert left
    assert (left.original_query, left.retrieved_context) == ("At what pressure?", None)
    assert b"opens at 7 bar" not in path.read_bytes()
    await kit.close()

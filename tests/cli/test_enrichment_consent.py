"""What a chat model costs at indexing is said, and agreed to, before anything is spent."""

import io
import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.cli import enrichment_consent, main
from rag_core.core.index import Index
from rag_core.core.kit import EnrichmentModel
from rag_core.rag import RAG
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import ConceptEmbedder, kit


def test_an_amount_for_a_chat_model_that_nobody_has_is_said_to_be_without_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once for all files, in a plan as well, and in JSON as a warning."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"The valve {name} is tight.")
    monkeypatch.setenv("RAG_LLM_PROVIDER", "local")
    paying = ["index", str(tmp_path), "--data", str(tmp_path / "data"), "--enrichment-usd", "2"]
    said = "--enrichment-usd has no effect: only a chat model is paid for entities and summaries"
    for more in (["--plan"], []):
        assert main([*paying, *more]) == 0
        output = "".join(capsys.readouterr())
        assert (output.count(said), output.count("no effect")) == (1, 1)
    assert main([*paying, "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning["message"].startswith(said)


@pytest.mark.parametrize(
    ("said", "is_terminal", "answer", "usd"),
    [(None, True, "y\n", 0.01), (None, True, "\n", 0.0), (None, False, "y\n", 0.0), (0.25, False, "", 0.25)],
)
async def test_the_price_of_a_chat_model_is_said_and_agreed_to(
    said: float | None,
    is_terminal: bool,
    answer: str,
    usd: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """S1-31: nothing is spent without a yes or an amount."""
    (tmp_path / "a.txt").write_text("The valve of Acme is tight.")
    parts = replace(kit(Index(EmbeddedStore(None), ConceptEmbedder())), enrichment=EnrichmentModel("mini", 0, 20, 0, 1))
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    monkeypatch.setattr("sys.stdin.isatty", lambda: is_terminal, raising=False)
    arguments = Namespace(enrichment_usd=said, json=False, workflow="default")
    agreed = await enrichment_consent.ask_for_enrichment(arguments, RAG(parts), {tmp_path / "a.txt": True})
    assert agreed == pytest.approx(usd, rel=0.1)
    output = "".join(capsys.readouterr())
    assert ("at most 0.009280 USD" in output) is (said is None and is_terminal)
    assert ("--enrichment-usd N" in output) is (said is None and not is_terminal)

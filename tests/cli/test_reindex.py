"""`rag reindex` and the plans of `rag index`, as a user types them, against the model service on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.cli import main
from rag_core.stores.embedded import current_index
from tests import hosted

TEXTS = {"gear.txt": "The gearbox is hot after a long climb.", "brake.txt": "The brake caliper sticks in winter."}
MODEL = ["reindex", "--profile", "openai", "--dimensions", str(hosted.DIMENSIONS)]
FOLDER = "spaces/text-embedding-3-small-384-59a791-1"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with hosted.running() as url:
        yield url


@pytest.fixture
def here(tmp_path: Path, service: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two documents, indexed by the local model; the other is a service's."""
    for name, said in {
        "RAG_DATA_DIR": str(tmp_path / "data"),
        "RAG_LLM_PROVIDER": "local",
        "OPENAI_API_KEY": "key",
        "OPENAI_BASE_URL": f"{service}/v1",
    }.items():
        monkeypatch.setenv(name, said)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    assert main(["index", *(str(tmp_path / name) for name in TEXTS)]) == 0
    return tmp_path


def judged(folder: Path) -> Path:
    """Questions whose answers are known by file name."""
    folder.mkdir()
    (folder / "queries.jsonl").write_text(
        '{"_id": "1", "text": "hot gearbox"}\n{"_id": "2", "text": "sticking caliper"}\n'
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tgear.txt\t1\n2\tbrake.txt\t1\n")
    return folder


def test_a_plan_of_a_reindex_says_its_price_and_nothing_more(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S3-13."""
    capsys.readouterr()
    assert main([*MODEL, "--plan"]) == 0
    assert capsys.readouterr().out == (
        "text-embedding-3-small;384;: 2 texts to embed, 17 tokens by text-embedding-3-small, for 3.4e-07 USD\n"
    )
    assert not (here / "data" / "spaces").exists()


def test_a_reindex_is_compared_switched_to_followed_and_rolled_back(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S3-13, C05: after the switch the index chooses the model that embeds, whatever the settings say."""
    data = here / "data"
    assert main([*MODEL, "--evaluate", str(judged(here / "judged")), "--build-only"]) == 0
    out = capsys.readouterr().out
    assert "| meaning | old | 1.000 | 1.000 |" in out
    assert "| hybrid | new | 1.000 | 1.000 | +0.000" in out
    assert current_index.read_index_locations(data) == current_index.IndexLocations()
    assert main(MODEL) == 0
    assert f"Current: {FOLDER}, by openai text-embedding-3-small 384" in capsys.readouterr().out
    assert main(["index", str(here / "gear.txt")]) == 0
    assert main(["query", "hot gearbox", "--preset", "standard", "--json"]) == 0
    assert '"input_tokens": 2' in capsys.readouterr().out
    assert main(MODEL) == 0
    assert "already uses this model" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert f"current index             {FOLDER}, by openai" in told
    assert "text-embedding-3-small;384;, 384 dimensions: not checked" in told
    assert main(["reindex", "--rollback"]) == 0
    assert "Current: the first index" in capsys.readouterr().out
    assert main(["index", "--plan", str(here / "gear.txt")]) == 0
    assert "0 tokens by the local model" in capsys.readouterr().out
    assert main(["reindex", "--drop-others"]) == 0
    assert "Deleted the other indexes. Current: the first index" in capsys.readouterr().out
    assert not (data / FOLDER).exists()


def test_a_reindex_stops_at_its_budget_and_goes_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """S3-13."""
    assert main([*MODEL, "--budget-usd", "0.0000001"]) == 3
    assert "Stopped: the next 17 tokens cost 3.4e-07 USD" in capsys.readouterr().out
    assert current_index.read_index_locations(here / "data") == current_index.IndexLocations()
    assert main([*MODEL, "--budget-usd", "0.01"]) == 0


def test_a_vector_of_another_model_is_refused_before_any_write(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-13, C05: by configuration alone the model does not change."""
    monkeypatch.setenv("RAG_LLM_PROVIDER", "openai")
    monkeypatch.setenv("RAG_EMBEDDING_DIMENSIONS", "384")
    assert main(["index", str(here / "gear.txt")]) == 2
    assert main(["index", "--plan", str(here / "gear.txt")]) == 2


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["--profile", "gemini"], "GEMINI_API_KEY: it is not set"),
        ([], "--profile is required"),
        (["--rollback"], "no previous index"),
        (["--profile", "openai", "--model", "own", "--budget-usd", "1"], "the price of own is not known"),
    ],
)
def test_what_cannot_be_done_is_refused_and_says_why(
    here: Path, capsys: pytest.CaptureFixture[str], said: list[str], why: str
) -> None:
    assert main(["reindex", *said]) == 2
    assert why in capsys.readouterr().err


def test_another_store_is_reindexed_by_hand(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_SEARCH_ENDPOINT", "https://search.example")
    assert main(MODEL) == 2
    assert "docs/reference/stores.md" in capsys.readouterr().err


def test_index_stops_before_the_file_that_it_has_no_money_for(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2-17: done again with more, it pays for the rest only."""
    monkeypatch.setenv("RAG_LLM_PROVIDER", "openai")
    monkeypatch.setenv("RAG_EMBEDDING_DIMENSIONS", "384")
    to = ["index", "--data", str(here / "other"), *(str(here / name) for name in TEXTS)]
    capsys.readouterr()
    assert main([*to, "--plan"]) == 0
    assert "2 to add, 0 to update, 0 to skip, 0 to delete" in capsys.readouterr().out
    assert main([*to, "--budget-usd", "0.0000002"]) == 3
    out = capsys.readouterr().out
    assert "1 indexed" in out
    assert "1 file left. Run the same command again to continue from here." in out
    assert main(to) == 0
    assert "1 unchanged, 1 indexed" in capsys.readouterr().out
    assert main([*to, "--plan"]) == 0
    assert "2 to skip" in capsys.readouterr().out


@pytest.mark.parametrize("amount", ["-1", "much", "nan", "inf"])
def test_a_budget_is_an_amount(amount: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["index", "--budget-usd", amount, "x"])
    assert "must be an amount" in capsys.readouterr().err

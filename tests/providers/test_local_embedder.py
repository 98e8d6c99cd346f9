import json
import os
from pathlib import Path

import pytest

from rag_core.core.errors import Misconfigured
from rag_core.core.ports import LocatedWords
from rag_core.providers import local_models
from rag_core.providers.local_embedder import LocalEmbedder
from tests import local


def _linked(parent: Path, **described: object) -> Path:
    """The pinned embedder under another roof, with files of its own beside it."""
    folder = parent / "embedder"
    pinned = local.folder("embedder")
    (folder / "1_Pooling").mkdir(parents=True)
    for name in local_models.MODEL_FILES:
        os.symlink(pinned / name, folder / name)
    for name, content in described.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_what_the_embedder_is_is_known_without_loading_it() -> None:
    """C05: an index binds one profile; model, pooling and windows all change vectors, so all are in its name."""
    embedder = LocalEmbedder(local.folder("embedder"), threads=1)
    assert (embedder.space, embedder.dimensions) == ("bge-small-en-v1.5-int8;cls;512x64", 384)
    assert embedder._model._loaded is None


async def test_a_question_is_embedded_with_the_prefix_of_its_model() -> None:
    question, passage = (
        await local.embedder().embed_query("keys"),
        (await local.embedder().embed_documents(["keys"]))[0],
    )
    prefixed = await local.embedder().embed_documents([f"{local.embedder().profile.query_prefix}keys"])
    assert list(question) == list(prefixed[0]) != list(passage)


def test_the_same_model_elsewhere_makes_the_same_vectors_and_says_so(tmp_path: Path) -> None:
    assert LocalEmbedder(_linked(tmp_path), threads=1).space == local.embedder().space


async def test_another_model_is_used_as_its_folder_describes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _linked(
        tmp_path,
        config={"hidden_size": 384},
        **{"1_Pooling/config": {"pooling_mode_cls_token": False}},
        config_sentence_transformers={"prompts": {"query": "query: "}},
    )
    monkeypatch.setattr(local_models, "BGE_SMALL_SHA256", "another digest")
    embedder = LocalEmbedder(folder, threads=1)
    assert embedder.profile.query_prefix == "query: "
    assert embedder.space.startswith("sha256-")
    assert ";mean;" in embedder.space
    assert list(await embedder.embed_query("keys")) != list(await local.embedder().embed_query("keys"))


def test_a_folder_that_does_not_say_how_wide_its_vectors_are_is_for_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_models, "BGE_SMALL_SHA256", "another digest")
    with pytest.raises(Misconfigured, match="hidden_size"):
        _ = LocalEmbedder(_linked(tmp_path), threads=1).dimensions


async def test_words_are_compared_by_what_they_mean_where_they_stand() -> None:
    first = LocatedWords("The doctor starts at noon.", ((4, 10), (0, 0)))
    (near,) = await local.embedder().compare_words(
        first, [LocatedWords("A physician and a bicycle.", ((2, 11), (18, 25)))]
    )
    assert near[0][0] > 0.7 > near[0][1] > 0
    assert near[1] == [0.0, 0.0]  # a word that is nowhere in its text


async def test_words_beyond_what_the_model_reads_are_near_to_none() -> None:
    text = "pump " * 600
    (near,) = await local.embedder().compare_words(
        LocatedWords("pump", ((0, 4),)), [LocatedWords(text, ((0, 4), (2995, 2999)))]
    )
    assert near[0][0] > 0.5
    assert near[0][1] == 0.0

"""What the folder of an entailment model says of itself, before the model is loaded."""

from pathlib import Path

import pytest

from rag_core.core.errors import Misconfigured
from rag_core.providers import local_models
from rag_core.providers.entailment_folder import (
    EntailmentLabels,
    find_entailment_folder,
    read_entailment_folder,
    read_labels,
)
from tests.entailment import write_entailment_model


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["contradiction", "entailment", "neutral"], EntailmentLabels(3, 1, 0)),
        (["entailment", "neutral", "contradiction"], EntailmentLabels(3, 0, 2)),
        (["Entailment", "Contradiction", "Neutral"], EntailmentLabels(3, 0, 1)),
        (["entailment", "not-entailment"], EntailmentLabels(2, 0)),
        (["contradiction", "entailment"], EntailmentLabels(2, 1)),
        (["hallucinated", "consistent"], EntailmentLabels(2, 1)),
        (["consistent", "hallucination"], EntailmentLabels(2, 0)),
        (["LABEL_0", "LABEL_1"], EntailmentLabels(2, 1)),
        (["0", "1"], EntailmentLabels(2, 1)),
        (["anything"], EntailmentLabels(1, 0)),
    ],
)
def test_labels_are_read_by_their_names(names: list[str], labels: EntailmentLabels) -> None:
    assert read_labels({str(number): name for number, name in enumerate(names)}) == labels


@pytest.mark.parametrize(
    "id2label",
    [
        None,
        {},
        ["entailment", "neutral"],
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "positive", "1": "negative"},
        {"0": "entailment", "1": "neutral", "2": "neutral"},
        {"0": "entailment", "1": "entailment"},
        {"0": "entailment", "1": "neutral", "2": "contradiction", "3": "other"},
        {"1": "entailment", "2": "neutral", "3": "contradiction"},
        {"0": "LABEL_1", "1": "LABEL_0"},
    ],
)
def test_labels_that_say_nothing_are_refused_with_what_would_be_right(id2label: object) -> None:
    with pytest.raises(Misconfigured, match=r"entailment/config.json .*it must have \"id2label\": {\"0\"") as refused:
        read_labels(id2label)
    assert refused.value.field == "RAG_MODELS_DIR"


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("model.onnx", "no model.onnx and no onnx/model.onnx"),
        ("vocab.txt", "no tokenizer.json and no vocab.txt"),
        ("config.json", "no config.json"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, missing: str, named: str) -> None:
    write_entailment_model(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(Misconfigured, match=named):
        read_entailment_folder(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"id2label": '])
def test_a_damaged_configuration_is_named(tmp_path: Path, text: str) -> None:
    write_entailment_model(tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(Misconfigured, match=r"entailment/config.json must be a JSON object"):
        read_entailment_folder(tmp_path)


@pytest.mark.parametrize(
    ("config", "max_tokens"),
    [
        ({"max_position_embeddings": 512}, 512),
        ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, 512),
        ({"max_position_embeddings": 258, "model_type": "xlm-roberta", "pad_token_id": 1}, 256),
        ({"max_position_embeddings": 8192}, 512),
        ({"max_position_embeddings": None}, 512),
    ],
)
def test_no_more_is_read_than_the_model_has_positions(
    tmp_path: Path, config: dict[str, object], max_tokens: int
) -> None:
    assert read_entailment_folder(write_entailment_model(tmp_path, config=config)).max_tokens == max_tokens


def test_the_name_is_the_saved_ones_last_part_or_the_folders(tmp_path: Path) -> None:
    for saved, name in [
        ("a/b-nli", "b-nli"),
        ("/home/me/results/", "results"),
        ("", "entailment"),
        (None, "entailment"),
    ]:
        folder = write_entailment_model(tmp_path / "entailment", config={"_name_or_path": saved})
        assert read_entailment_folder(folder).name == name


def test_an_entailment_model_alone_is_added_to_the_models_of_the_package(tmp_path: Path) -> None:
    """Whoever fetches one and sets RAG_MODELS_DIR keeps embedder and reranker."""
    assert find_entailment_folder(tmp_path) is None
    assert find_entailment_folder(None) is None
    assert local_models.find_model_folder("embedder", tmp_path) is None
    (tmp_path / "entailment").mkdir()
    assert find_entailment_folder(tmp_path) == tmp_path / "entailment"
    assert local_models.find_model_folder("embedder", tmp_path) == local_models.find_model_folder("embedder", None)
    (tmp_path / "embedder").mkdir()
    assert local_models.find_model_folder("embedder", tmp_path) is None
    assert "embedder/model.onnx" in local_models.explain_missing_model("embedder", tmp_path)

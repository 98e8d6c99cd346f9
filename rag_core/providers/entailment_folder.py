"""The folder of an entailment model: which files it has, what its labels mean, and how long a text it reads."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.core.errors import Misconfigured

ENTAILMENT_FOLDER = "entailment"  # below RAG_MODELS_DIR
MODEL_PLACES = ("model.onnx", "onnx/model.onnx")  # the second is where the models of the hub have it
TOKENIZER_PLACES = ("tokenizer.json", "vocab.txt")
MAX_WINDOW_TOKENS = 512  # of the models that are trained on pairs of sentences; more hides a single fact from them
LEARNED_POSITION_OFFSET_TYPES = ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl")  # positions begin at pad + 1

_ENTAILMENT_LABELS = frozenset({"entailment", "supported", "consistent"})
_CONTRADICTION_LABELS = frozenset({"contradiction"})
_NEUTRAL_LABELS = frozenset({"neutral"})
_OTHER_THAN_ENTAILMENT_LABELS = frozenset(
    {"not_entailment", "unsupported", "not_supported", "hallucinated", "hallucination"}
)
# names without meaning, of two labels: 1 is the positive class, as in MiniCheck, whose labels are "0" and "1"
_UNNAMED_PAIRS = (("0", "1"), ("label_0", "label_1"))
_EXAMPLE = '"id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}, in the order of its training'


@dataclass(frozen=True, slots=True)
class EntailmentLabels:
    """How many outputs a model has and which of them is which; `contradiction` is None where no output says that."""

    count: int
    entailment: int
    contradiction: int | None = None


@dataclass(frozen=True, slots=True)
class EntailmentFolder:
    """The files of an entailment model with what its config.json says; `max_tokens` includes special tokens."""

    name: str
    model_file: Path
    tokenizer_file: Path
    labels: EntailmentLabels
    max_tokens: int
    lower_case: bool


def find_entailment_folder(models_dir: Path | None) -> Path | None:
    """Return the folder `entailment` of RAG_MODELS_DIR; None where there is none."""
    folder = models_dir / ENTAILMENT_FOLDER if models_dir else None
    return folder if folder and folder.is_dir() else None


def read_entailment_folder(folder: Path) -> EntailmentFolder:
    """Return the files and the description of the model in a folder, without loading it.

    Raises:
        Misconfigured: a file is missing or damaged, or the labels cannot be understood. The file is named.
    """
    model_file = _find_file(folder, MODEL_PLACES)
    tokenizer_file = _find_file(folder, TOKENIZER_PLACES)
    config = _read_object(_find_file(folder, ("config.json",)))
    tokenizer_config_file = folder / "tokenizer_config.json"
    tokenizer_config = _read_object(tokenizer_config_file) if tokenizer_config_file.is_file() else {}
    return EntailmentFolder(
        name=_read_model_name(config, folder),
        model_file=model_file,
        tokenizer_file=tokenizer_file,
        labels=read_labels(config.get("id2label")),
        max_tokens=_read_max_tokens(config, tokenizer_config),
        lower_case=bool(tokenizer_config.get("do_lower_case", True)),  # BERT's default
    )


def read_labels(id2label: object) -> EntailmentLabels:
    """Return the meaning of a model's outputs from `id2label` of its config.json.

    One output is the probability of support, whatever its name. Two are support and its opposite, three entailment,
    neutral and contradiction, in any order and case.

    Raises:
        Misconfigured: the names do not say which output is which.
    """
    names = _list_label_names(id2label)
    if len(names) == 1:
        return EntailmentLabels(1, 0)
    if tuple(names) in _UNNAMED_PAIRS:
        return EntailmentLabels(2, 1)
    entailment = [index for index, name in enumerate(names) if name in _ENTAILMENT_LABELS]
    contradiction = [index for index, name in enumerate(names) if name in _CONTRADICTION_LABELS]
    others = {name for name in names if name not in _ENTAILMENT_LABELS}
    is_pair = len(names) == 2 and others <= (_CONTRADICTION_LABELS | _NEUTRAL_LABELS | _OTHER_THAN_ENTAILMENT_LABELS)
    is_triple = len(names) == 3 and len(contradiction) == 1 and others == _CONTRADICTION_LABELS | _NEUTRAL_LABELS
    if len(entailment) != 1 or not (is_pair or is_triple):
        raise _make_label_error(f"has the labels {', '.join(names)}, which do not say what supports a claim")
    return EntailmentLabels(len(names), entailment[0], contradiction[0] if is_triple else None)


def _list_label_names(id2label: object) -> list[str]:
    """Return the names of the labels in their order, in lower case, with "_" between words."""
    if not isinstance(id2label, Mapping) or not id2label:
        raise _make_label_error("has no id2label")
    numbers = [str(number) for number in range(len(id2label))]
    if set(id2label) != set(numbers):
        raise _make_label_error("has an id2label whose keys are not 0, 1 and so on")
    return [re.sub(r"[\W_]+", "_", str(id2label[number])).strip("_").casefold() for number in numbers]


def _make_label_error(problem: str) -> Misconfigured:
    return Misconfigured(
        f"{ENTAILMENT_FOLDER}/config.json {problem}: it must have {_EXAMPLE}; of two labels, supported and unsupported "
        "or consistent and hallucinated are known too",
        field="RAG_MODELS_DIR",
    )


def _find_file(folder: Path, names: tuple[str, ...]) -> Path:
    """Return the first of the files that the folder has. Raises Misconfigured when it has none of them."""
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise Misconfigured(
            f"the folder {ENTAILMENT_FOLDER} of RAG_MODELS_DIR has no {' and no '.join(names)}: an entailment model is "
            "an ONNX file, its tokenizer and its config.json",
            field="RAG_MODELS_DIR",
        )
    return found


def _read_object(file: Path) -> Mapping[str, Any]:
    """Return the object of a JSON file. Raises Misconfigured when it has none."""
    try:
        value = json.loads(file.read_bytes())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Misconfigured(
            f"{ENTAILMENT_FOLDER}/{file.name} must be a JSON object, as the model was published with",
            field="RAG_MODELS_DIR",
        )
    return value


def _read_model_name(config: Mapping[str, Any], folder: Path) -> str:
    """Return the last part of the name that the model was saved under, else the folder's name."""
    saved_name = re.sub(r"[^\w.-]+", "", str(config.get("_name_or_path") or "").rstrip("/").rpartition("/")[2])
    return saved_name[:80] or folder.name


def _read_max_tokens(config: Mapping[str, Any], tokenizer_config: Mapping[str, Any]) -> int:
    """Return how many tokens of a pair the model reads: what its configuration says, and at most 512."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in LEARNED_POSITION_OFFSET_TYPES:
        positions -= int(config.get("pad_token_id") or 0) + 1
    stated = [tokenizer_config.get("model_max_length"), positions]
    return int(min([number for number in stated if isinstance(number, int) and number > 0] + [MAX_WINDOW_TOKENS]))

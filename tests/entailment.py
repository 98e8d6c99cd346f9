"""Small entailment models in folders, made with the onnx package: they count which words of a claim a passage has."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

NLI_LABELS = ("contradiction", "entailment", "neutral")
SPECIAL_WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
FUNCTION_WORDS = "not . , the a is are at on in of to and every by"
CONTENT_WORDS = (
    "days ninety thirty signing keys rotated team warranty covers engine pump shop opens closes eight nine weekdays "
    "red blue bus stops here night w x y z"
)
VOCABULARY = (*SPECIAL_WORDS, *FUNCTION_WORDS.split(), *CONTENT_WORDS.split())
MAX_TOKENS = 64  # a longer sequence has no position in the graph, which then fails


def write_entailment_model(
    folder: Path,
    labels: Sequence[str] = NLI_LABELS,
    *,
    columns: Sequence[str] | None = None,
    has_token_types: bool = True,
    model_place: str = "model.onnx",
    tokenizer: str = "vocab.txt",
    config: dict[str, object] | None = None,
) -> Path:
    """Write a model whose outputs are in the order of `columns` (entailment, neutral, contradiction, not_entailment).

    A claim is entailed by a passage with all of its words, contradicted when just one of both has "not". The columns
    are those of the labels unless given. With a tokenizer.json there are no token types: the pair is told by [SEP].
    """
    columns = labels if columns is None else columns
    (folder / model_place).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(_make_model(columns, has_token_types=has_token_types), folder / model_place)
    stated = {
        "_name_or_path": "someone/counting-nli",
        "id2label": dict(zip(map(str, range(len(labels))), labels, strict=True)),
        "max_position_embeddings": MAX_TOKENS,
    }
    (folder / "config.json").write_text(json.dumps(stated | (config or {})))
    if tokenizer == "vocab.txt":
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY))
    else:
        _make_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def _make_tokenizer() -> Tokenizer:
    """Return a tokenizer of whole words whose pairs have no token types, as those of RoBERTa."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", VOCABULARY.index("[CLS]")), ("[SEP]", VOCABULARY.index("[SEP]"))],
    )
    return tokenizer


def _make_model(columns: Sequence[str], *, has_token_types: bool) -> onnx.ModelProto:
    names = ["input_ids", "attention_mask"] + (["token_type_ids"] if has_token_types else [])
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "length"]) for name in names]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, len(columns)])
    graph = helper.make_graph(
        [*_make_nodes(has_token_types), *_make_output_nodes(columns)],
        "counting",
        inputs,
        [output],
        _make_constants(has_token_types),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model


def _make_constants(has_token_types: bool) -> list[TensorProto]:
    """Return the numbers of the graph: the words' weights, those of "not", and the table of positions."""
    weights = [[float(word in CONTENT_WORDS.split()) for word in VOCABULARY]]
    negations = [[float(word == "not") for word in VOCABULARY]]
    arrays = {
        "weights": np.array(weights, np.float32),
        "negations": np.array(negations, np.float32),
        "positions": np.zeros(MAX_TOKENS, np.float32),
        "depth": np.array(len(VOCABULARY), np.int64),
        "off_on": np.array([0, 1], np.float32),
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "axis": np.array([1], np.int64),
        "last": np.array([-1], np.int64),
        "least": np.array(1, np.float32),
        "enough": np.array(0.8, np.float32),
        "steepness": np.array(12, np.float32),
        "veto": np.array(24, np.float32),
        "neutral": np.zeros((1, 1), np.float32),
    }
    if not has_token_types:
        arrays["separator"] = np.array(VOCABULARY.index("[SEP]"), np.int64)
    return [numpy_helper.from_array(array, name) for name, array in arrays.items()]


def _make_nodes(has_token_types: bool) -> list[onnx.NodeProto]:
    """Return the nodes up to the logits of entailment and contradiction."""
    node = helper.make_node
    if has_token_types:
        segment = [node("Identity", ["token_type_ids"], ["segment"])]
    else:
        segment = [
            node("Equal", ["input_ids", "separator"], ["is_separator"]),
            node("Cast", ["is_separator"], ["separators"], to=TensorProto.INT64),
            node("CumSum", ["separators", "one"], ["count"], exclusive=1),
            node("Min", ["count", "one"], ["segment"]),
        ]
    return [
        *segment,
        node("Shape", ["input_ids"], ["shape"]),
        node("Gather", ["shape", "one"], ["length"]),
        node("Range", ["zero", "length", "one"], ["places"]),
        node("Gather", ["positions", "places"], ["offsets"]),
        node("OneHot", ["input_ids", "depth", "off_on"], ["seen"], axis=-1),
        node("Cast", ["segment"], ["in_claim_flat"], to=TensorProto.FLOAT),
        node("Add", ["in_claim_flat", "offsets"], ["in_claim_placed"]),
        node("Unsqueeze", ["in_claim_placed", "last"], ["in_claim"]),
        node("Sub", ["least", "in_claim"], ["in_passage"]),
        node("Mul", ["seen", "in_claim"], ["claim_words"]),
        node("Mul", ["seen", "in_passage"], ["passage_words"]),
        node("ReduceMax", ["claim_words"], ["claim_bag"], axes=[1], keepdims=0),
        node("ReduceMax", ["passage_words"], ["passage_bag"], axes=[1], keepdims=0),
        node("Mul", ["claim_bag", "weights"], ["wanted"]),
        node("Mul", ["wanted", "passage_bag"], ["found"]),
        node("ReduceSum", ["wanted", "axis"], ["wanted_count"]),
        node("ReduceSum", ["found", "axis"], ["found_count"]),
        node("Max", ["wanted_count", "least"], ["wanted_at_least_one"]),
        node("Div", ["found_count", "wanted_at_least_one"], ["share"]),
        node("Sub", ["share", "enough"], ["excess"]),
        node("Mul", ["excess", "steepness"], ["agreement"]),
        node("Sub", ["claim_bag", "passage_bag"], ["difference"]),
        node("Abs", ["difference"], ["differences"]),
        node("Mul", ["differences", "negations"], ["negation_differences"]),
        node("ReduceSum", ["negation_differences", "axis"], ["negation"]),
        node("Mul", ["negation", "veto"], ["vetoed"]),
        node("Sub", ["agreement", "vetoed"], ["entailment"]),
        node("Add", ["agreement", "vetoed"], ["against"]),
        node("Sub", ["against", "steepness"], ["contradiction"]),
    ]


def _make_output_nodes(columns: Sequence[str]) -> list[onnx.NodeProto]:
    """Return the node that joins the logits; "not_entailment" is a constant as "neutral" is."""
    names = [column if column in ("entailment", "contradiction") else "neutral" for column in columns]
    return [helper.make_node("Concat", names, ["logits"], axis=1)]

"""A BERT-shaped ONNX model in a folder: its tokenizer and session, loaded on first use and shared by all threads.

The libraries that run it are imported with it: a question by words alone does without.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.foreign_failures import ForeignFailures
from rag_core.providers import local_models

T = TypeVar("T")
R = TypeVar("R")

SLOW_FUSIONS = ("SkipLayerNormFusion",)  # ONNX Runtime's fused kernel takes ten times as long as its two parts
ROW_COUNT = "row_count"  # the input of an optimized graph that says how many rows of its last layer are computed
MAX_SEQUENCE_TOKENS = 512  # the size of BERT's position table, special tokens included


@cache
def list_onnx_runtime_errors() -> tuple[type[Exception], ...]:
    """Return the classes of ONNX Runtime's errors, which have no common parent."""
    from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

    kinds = vars(ort_errors).values()
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))


@dataclass(frozen=True, slots=True)
class _LoadedBert:
    tokenizer: Any
    session: Any
    cls_id: int
    sep_id: int
    inputs: frozenset[str]


class LocatedToken(NamedTuple):
    """A token's id, and the characters of the text that it stands for, the end excluded."""

    id: int
    start: int
    end: int


class BertModel:
    """A model that runs one sequence per call, because outputs of a dynamically quantized model depend on the batch.

    `model_file` is another model than the folder's, which reads its tokenizer and may refer to its weights.
    """

    def __init__(self, folder: Path, *, threads: int, model_file: Path | None = None) -> None:
        self.folder, self._model_file = folder, model_file
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=folder.name)
        self._lock = threading.Lock()
        self._loaded: _LoadedBert | None = None

    async def map(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Apply `function` to every item on the model's threads; return the results in the order of the items."""
        return await map_on_threads(self._executor, function, items)

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of a text without special tokens; a lone surrogate becomes "?"."""
        return list(self._encode(text).ids)

    def locate_tokens(self, text: str) -> list[LocatedToken]:
        """Return the tokens of a text as `tokenize` does, each with its characters in the text."""
        encoded = self._encode(text)
        return [LocatedToken(id, *place) for id, place in zip(encoded.ids, encoded.offsets, strict=True)]

    def run(
        self, first_ids: Sequence[int], second_ids: Sequence[int] | None = None, *, row_count: int = MAX_SEQUENCE_TOKENS
    ) -> npt.NDArray[np.float32]:
        """Return the model's output for [CLS] first [SEP], or [CLS] first [SEP] second [SEP], without the batch axis.

        Who reads only the first rows says so by `row_count`: a graph that can computes no others.

        Raises:
            Unavailable: ONNX Runtime failed.
        """
        loaded = self._load_once()
        head = [loaded.cls_id, *first_ids, loaded.sep_id]
        tail = [] if second_ids is None else [*second_ids, loaded.sep_id]
        input_ids = np.array([head + tail], dtype=np.int64)
        token_type_ids = np.array([[0] * len(head) + [1] * len(tail)], dtype=np.int64)
        inputs = {
            "input_ids": input_ids,
            "attention_mask": np.ones_like(input_ids),
            "token_type_ids": token_type_ids,
            ROW_COUNT: np.array([row_count], dtype=np.int64),
        }
        try:
            known = {name: value for name, value in inputs.items() if name in loaded.inputs}
            output: npt.NDArray[np.float32] = loaded.session.run(None, known)[0][0]
        except list_onnx_runtime_errors() as error:
            raise Unavailable(f"the model {self.folder.name} failed: {type(error).__name__}") from error
        return output

    def _encode(self, text: str) -> Any:
        encodable = text.encode("utf-8", "replace").decode()  # of as many characters
        return self._load_once().tokenizer.encode(encodable, add_special_tokens=False)

    def _load_once(self) -> _LoadedBert:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_bert(self.folder, self._model_file)
            return self._loaded


async def map_on_threads(executor: ThreadPoolExecutor, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Apply `function` to every item on the executor's threads; return the results in the order of the items."""
    loop = asyncio.get_running_loop()
    return await asyncio.gather(*(loop.run_in_executor(executor, function, item) for item in items))


def load_onnx_session(
    model_file: Path, model_name: str, *, weights_folder: Path | None = None, is_optimized: bool = False
) -> Any:
    """Open an ONNX model on the CPU, on the thread that calls it; weights that it refers to are in `weights_folder`.

    A graph that is optimized already is taken as it is.

    Raises:
        Misconfigured: the file is damaged.
    """
    import onnxruntime

    load_errors: tuple[type[Exception], ...] = (*list_onnx_runtime_errors(), ValueError)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # costs 4 times the CPU on 2 cores
    if is_optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if weights_folder:  # only a model given as bytes may have its weights in another folder than its own
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights_folder))
    try:
        return onnxruntime.InferenceSession(
            model_file.read_bytes() if weights_folder else str(model_file),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=SLOW_FUSIONS,
        )
    except load_errors as error:
        raise _make_load_error(model_name, error) from error


def compute_probabilities(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the softmax of logits; of a single one the sigmoid."""
    values = np.asarray(logits, dtype=np.float64)
    if len(values) == 1:
        values = np.array([values[0], 0.0])  # softmax([x, 0]) begins with the sigmoid of x
    exponentials = np.exp(values - values.max())
    probabilities: npt.NDArray[np.float64] = exponentials / exponentials.sum()
    return probabilities


def parse_tokenizer(data: bytes, model_name: str) -> Any:
    """Return the tokenizer of a tokenizer.json, which neither truncates nor pads. Raises Misconfigured."""
    from tokenizers import Tokenizer

    def translate(failure: BaseException) -> Misconfigured | None:
        is_damage = type(failure) is Exception or isinstance(failure, ValueError)  # tokenizers raises no other class
        return _make_load_error(model_name, failure) if is_damage else None

    with ForeignFailures(translate):
        tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _load_bert(folder: Path, model_file: Path | None = None) -> _LoadedBert:
    graph = local_models.find_optimized_graph(folder)
    tokenizer = parse_tokenizer((folder / "tokenizer.json").read_bytes(), folder.name)
    file = model_file or graph
    session = load_onnx_session(
        file or folder / "model.onnx",
        folder.name,
        weights_folder=folder if file else None,
        is_optimized=file is not None and file == graph,
    )
    cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    if cls_id is None or sep_id is None:
        raise Misconfigured(f"the tokenizer of the model {folder.name} has no [CLS] and [SEP]: not a BERT-shaped model")
    return _LoadedBert(tokenizer, session, cls_id, sep_id, frozenset(one.name for one in session.get_inputs()))


def _make_load_error(model_name: str, error: BaseException) -> Misconfigured:
    return Misconfigured(f"the model {model_name} cannot be loaded: {type(error).__name__}")

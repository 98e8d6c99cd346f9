"""Write the packaged models' graphs as ONNX Runtime optimizes them, so that no start does it again.

python -m evals.optimize_graphs [FOLDER]

The weights stay in the package's `model.onnx`, and only the graphs ship (docs/decisions/0082-waiting-and-searching.md).
It is run again when the pinned models or ONNX Runtime change what `tests/providers/test_bert.py` compares.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import onnx
import onnxruntime

from evals.bert_graphs import drop_batch_parts, keep_asked_rows, keep_first_row
from rag_core.providers import local_models
from rag_core.providers.bert import SLOW_FUSIONS

MIN_EXTERNAL_BYTES = 10_000  # of weights: what is smaller ships
WEIGHT_TYPES = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)  # a byte each, so that they may begin anywhere in a file

KEPT_ROWS: Mapping[local_models.ModelRole, Callable[[onnx.GraphProto], None]] = {
    "embedder": keep_asked_rows,  # the first for a vector, all where words are compared
    "reranker": keep_first_row,
}


def optimize_graph(model_file: Path, keep_rows: Callable[[onnx.GraphProto], None] | None = None) -> onnx.ModelProto:
    """Return a model's optimized graph for one sequence at a time, its weights by their places in the model's file.

    Rows that `keep_rows` leaves out are not computed in the last layer. Raises ValueError for weights that do not stand
    there as they are.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # for any machine
        options.optimized_model_filepath = f"{folder}/optimized.onnx"
        providers = ["CPUExecutionProvider"]
        onnxruntime.InferenceSession(str(model_file), options, providers=providers, disabled_optimizers=SLOW_FUSIONS)
        model = onnx.load(options.optimized_model_filepath)
    drop_batch_parts(model.graph)
    if keep_rows:
        keep_rows(model.graph)
    _refer_to_weights(model, model_file)
    used = {node.domain for node in model.graph.node}
    operator_sets = [one for one in model.opset_import if one.domain in used]
    del model.opset_import[:], model.graph.value_info[:]
    model.opset_import.extend(operator_sets)
    return model


def _refer_to_weights(model: onnx.ModelProto, model_file: Path) -> None:
    given = model_file.read_bytes()
    for tensor in model.graph.initializer:
        raw = tensor.raw_data
        if tensor.data_type not in WEIGHT_TYPES or len(raw) < MIN_EXTERNAL_BYTES:
            continue
        place = {"location": model_file.name, "offset": given.index(raw), "length": len(raw)}
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(local_models.__file__).parent
    parser.add_argument("folder", type=Path, nargs="?", default=default, help="where to write them; of the package")
    chosen = parser.parse_args()
    for role, keep_rows in KEPT_ROWS.items():
        folder = local_models.find_model_folder(role, None)
        if folder is None:
            raise SystemExit(local_models.MODELS_NOT_INSTALLED)
        file = chosen.folder / local_models.GRAPH_FILES[local_models.hash_model(folder)]
        model = optimize_graph(folder / "model.onnx", keep_rows)
        onnx.save(model, str(file))
        print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

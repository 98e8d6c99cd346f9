"""A BERT-shaped graph without what a single sequence does not need, since `BertModel` runs one at a time.

It takes the graphs of the two packaged models, as ONNX Runtime optimized them. What is left out changes no bit of the
output, but for rows that are not computed (docs/decisions/0131-fewer-and-cheaper-pairs.md).
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from rag_core.providers.bert import ROW_COUNT

HEADS, HEAD_SIZE = 12, 32  # of both models
MASKED_OUTPUTS = ("MatMul", "FusedMatMul")  # that the mask is added to


def drop_batch_parts(graph: onnx.GraphProto) -> None:
    """Leave out the mask, which masks nothing, and what computes shapes and scales that are always the same."""
    _drop_masks(graph)
    _drop_unused(graph)
    _fix_shapes(graph)
    _fix_scales(graph)
    _drop_unused(graph)


def keep_first_row(graph: onnx.GraphProto) -> None:
    """Compute of the last layer only the first row, that of [CLS], beside the keys and values of all rows.

    Only for a model that reads no other row. The first row alone has another range than all, so that it is rounded to
    other bytes.
    """
    _keep_rows(graph)


def keep_asked_rows(graph: onnx.GraphProto) -> None:
    """Compute of the last layer so many first rows as the input ROW_COUNT says; all rows give what they gave before."""
    graph.input.append(helper.make_tensor_value_info(ROW_COUNT, onnx.TensorProto.INT64, [1]))
    _keep_rows(graph, ROW_COUNT)


def _keep_rows(graph: onnx.GraphProto, end: str = "") -> None:
    """Compute of the last layer the rows before `end`, which names a value of the graph; "" is the first row alone."""
    makers = _map_makers(graph)
    last = [node for node in graph.node if node.op_type == "Softmax"][-1]
    query = makers[last.input[0]]
    while query.op_type != "MatMulIntegerToFloat":
        query = makers[query.input[0]]
    hidden = makers[query.input[0]].input[0]
    (residual,) = (node for node in graph.node if node.op_type == "Add" and hidden in node.input)
    slices = [_slice_rows(graph, name, end) for name in (query.input[0], hidden)]
    _replace_input(query, query.input[0], slices[0].output[0])
    _replace_input(residual, hidden, slices[1].output[0])
    position = list(graph.node).index(query)
    for node in slices:
        graph.node.insert(position, node)


def _drop_masks(graph: onnx.GraphProto) -> None:
    makers = _map_makers(graph)
    for softmax in (node for node in graph.node if node.op_type == "Softmax"):
        (scores,) = (name for name in makers[softmax.input[0]].input if makers[name].op_type in MASKED_OUTPUTS)
        _replace_input(softmax, softmax.input[0], scores)


def _fix_shapes(graph: onnx.GraphProto) -> None:
    """Give every reshape its shape: to the heads, or after the transposition behind them back to one row a token."""
    heads = _add_constant(graph, "shape_of_heads", np.array([1, -1, HEADS, HEAD_SIZE], dtype=np.int64))
    rows = _add_constant(graph, "shape_of_rows", np.array([1, -1, HEADS * HEAD_SIZE], dtype=np.int64))
    makers = _map_makers(graph)
    for node in (node for node in graph.node if node.op_type == "Reshape"):
        node.input[1] = rows if makers[node.input[0]].op_type == "Transpose" else heads


def _fix_scales(graph: onnx.GraphProto) -> None:
    """Give queries and keys the scale that the graph computes of the size of a head; some graphs have it already."""
    scale = np.sqrt(np.float32(1) / np.sqrt(np.float32(HEAD_SIZE)))
    name = _add_constant(graph, "scale_of_heads", np.array(scale, dtype=np.float32))
    makers = _map_makers(graph)
    for node in (node for node in graph.node if node.op_type == "Mul"):
        if node.input[1] in makers and makers[node.input[1]].op_type == "Sqrt":
            node.input[1] = name


def _drop_unused(graph: onnx.GraphProto) -> None:
    """Leave out nodes, weights and inputs that no output needs."""
    needed = {output.name for output in graph.output}
    nodes: list[onnx.NodeProto] = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            nodes.insert(0, node)
            needed.update(node.input)
    weights = [tensor for tensor in graph.initializer if tensor.name in needed]
    inputs = [one for one in graph.input if one.name in needed]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)
    graph.input.extend(inputs)


def _slice_rows(graph: onnx.GraphProto, name: str, end: str) -> onnx.NodeProto:
    first, axis = (_add_constant(graph, f"row_{n}", np.array([n], dtype=np.int64)) for n in (0, 1))
    return helper.make_node("Slice", [name, first, end or axis, axis], [f"{name}_first_row"], name=f"{name}_first_row")


def _add_constant(graph: onnx.GraphProto, name: str, array: np.ndarray) -> str:
    """Add a constant unless the graph has it; return its name."""
    if name not in (tensor.name for tensor in graph.initializer):
        graph.initializer.append(numpy_helper.from_array(array, name))
    return name


def _map_makers(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    """Return the node that makes each value."""
    return {name: node for node in graph.node for name in node.output}


def _replace_input(node: onnx.NodeProto, old: str, new: str) -> None:
    for position, name in enumerate(node.input):
        if name == old:
            node.input[position] = new

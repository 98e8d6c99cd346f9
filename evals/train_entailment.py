"""Train the small entailment model that ships with the package, and write it as ONNX with weights of eight bits.

`python -m evals.train_entailment OUT --rows evals/data/entailment_rows --minutes 55`

It begins with the cross-encoder of the pinned package (ms-marco-MiniLM-L-12-v2, Apache-2.0), whose weights are read
back from its ONNX file, and learns from evals/data/entailment_rows, which language models wrote for this purpose:
pairs of a claim and a passage (supported, contradicted, not stated), and of a question and a passage (answered or not).
One passage in 25 is held out, by a hash of its text; what is reported is of these. It requires torch, onnx and sklearn
besides the package's own: `pip install torch onnx scikit-learn`. docs/decisions/0075-a-small-entailment-model.md
"""

import argparse
import gzip
import json
import random
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from sklearn.metrics import roc_auc_score
from tokenizers import Tokenizer
from torch import Tensor, nn

from rag_core.providers.local_models import find_model_folder
from rag_core.text.sentences import find_sentences

LABELS = {"s": 0, "c": 1, "n": 2}
CLAIM, QUESTION = 0, 1
WIDTH, LAYERS, HEADS, INNER = 384, 12, 12, 1536
MAX_TOKENS = 224
HELD_OUT = 25  # one passage in so many
FROZEN_LAYERS = 6  # the lowest, and the embeddings: they are read from the cross-encoder's file, and not shipped again
DISTRACTED = 0.12  # share of training pairs whose passage has another passage beside it
COPIED = 2  # sentences of each passage that are claims as they stand: closeness must not speak against a claim
MAX_NEGATED_WORDS = 18
AUXILIARY = re.compile(r"\b(is|are|was|were|may|must|can|will|has|have|does|do|should)\b")
NEGATED_AUXILIARY = re.compile(r"\b(is|are|was|were|may|must|can|will|has|have|does|do|should) ?not\b")
ELSEWHERE = 0.08  # share of true claims that are compared with another passage as well, which does not state them


@dataclass(frozen=True, slots=True)
class Pair:
    """Token ids and types of a pair, what it is (CLAIM or QUESTION), its label, and the kind its author gave."""

    ids: list[int]
    types: list[int]
    task: int
    label: int
    kind: str


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.output, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        rows, tokens, _ = hidden.shape
        query, key, value = (
            part(hidden).view(rows, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        if torch.onnx.is_in_onnx_export():
            scores = query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
            mixed = scores.softmax(-1) @ value
        else:
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.norm(hidden + self._drop(self.output(mixed.transpose(1, 2).reshape(rows, tokens, WIDTH))))

    def _drop(self, hidden: Tensor) -> Tensor:
        return nn.functional.dropout(hidden, 0.1, self.training)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        hidden = self.attention(hidden, mask)
        changed = self.outer(nn.functional.gelu(self.inner(hidden)))
        return self.norm(hidden + nn.functional.dropout(changed, 0.1, self.training))


class EntailmentEncoder(nn.Module):
    """BERT of the cross-encoder's shape, with four outputs: supported, contradicted, not stated; answered."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds = (
            nn.Embedding(30522, WIDTH),
            nn.Embedding(512, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 4)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        places = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        hidden = self.norm(self.words(input_ids) + self.places(places) + self.kinds(token_type_ids))
        mask = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        for layer in self.layers:
            hidden = layer(hidden, mask)
        pooled = torch.tanh(self.pooler(hidden[:, 0]))
        logits: Tensor = self.head(nn.functional.dropout(pooled, 0.1, self.training))
        return logits


def load_cross_encoder(file: Path) -> EntailmentEncoder:
    """Return an encoder with the weights of the quantized cross-encoder, whose score is where "answered" begins."""
    graph = onnx.load(str(file)).graph
    arrays = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights = {part: _restore(arrays, name) for part, name in _locate_weights(graph, arrays)}
    encoder = EntailmentEncoder()
    state = encoder.state_dict()
    for ours, theirs in _map_names().items():
        weight = weights[theirs] if theirs in weights else arrays[f"{theirs}.weight"]
        is_linear = f"{ours}.bias" in state and theirs in weights
        state[f"{ours}.weight"] = torch.tensor(weight.T if is_linear else weight)
        if f"{ours}.bias" in state:
            state[f"{ours}.bias"] = torch.tensor(arrays[f"{theirs}.bias"])
    state["head.weight"] *= 0.2
    state["head.bias"] *= 0
    state["head.weight"][3] = torch.tensor(weights["classifier"])[:, 0] * 0.3
    encoder.load_state_dict(state)
    return encoder


def _restore(arrays: Mapping[str, Any], name: str) -> np.ndarray[Any, Any]:
    base = name.removesuffix("_quantized")
    restored: np.ndarray[Any, Any] = (
        arrays[name].astype(np.float32) - arrays[f"{base}_zero_point"].astype(np.float32)
    ) * arrays[f"{base}_scale"]
    return restored


def _map_names() -> dict[str, str]:
    """Return the names of the cross-encoder's parts by ours."""
    names = {"words": "word_embeddings", "places": "position_embeddings", "kinds": "token_type_embeddings"}
    mapped = {ours: f"bert.embeddings.{theirs}" for ours, theirs in (names | {"norm": "LayerNorm"}).items()}
    for n in range(LAYERS):
        parts = {
            "attention.query": "attention.self.query",
            "attention.key": "attention.self.key",
            "attention.value": "attention.self.value",
            "attention.output": "attention.output.dense",
            "attention.norm": "attention.output.LayerNorm",
            "inner": "intermediate.dense",
            "outer": "output.dense",
            "norm": "output.LayerNorm",
        }
        mapped |= {f"layers.{n}.{ours}": f"bert.encoder.layer.{n}.{theirs}" for ours, theirs in parts.items()}
    return mapped | {"pooler": "bert.pooler.dense"}


def read_rows(folder: Path) -> list[Mapping[str, Any]]:
    """Return the rows of all files, in the order of their names, each passage once."""
    texts = [gzip.decompress(file.read_bytes()).decode() for file in sorted(folder.glob("*.jsonl.gz"))]
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    return list({row["passage"]: row for row in rows}.values())


def _is_held_out(row: Mapping[str, Any]) -> bool:
    return zlib.crc32(row["passage"].encode()) % HELD_OUT == 0


def make_pairs(rows: Sequence[Mapping[str, Any]], tokenizer: Tokenizer, draw: random.Random | None) -> list[Pair]:
    """Return the pairs of rows; with `draw`, some passages have another beside or instead of them."""
    pairs: list[Pair] = []

    def add(first: str, second: str, task: int, label: int, kind: str) -> None:
        encoded = tokenizer.encode(first, second)
        pairs.append(Pair(encoded.ids[:MAX_TOKENS], encoded.type_ids[:MAX_TOKENS], task, label, kind))

    for n, row in enumerate(rows):
        neighbour = rows[(n + (draw.choice((-2, -1, 1, 2)) if draw else 1)) % len(rows)]["passage"]
        copies = _copy_claims(row["passage"], draw) if draw else []
        for text, label, kind in (*row.get("claims", ()), *copies):
            passage = row["passage"]
            if draw and draw.random() < DISTRACTED:
                passage = "\n".join(draw.sample((passage, neighbour), 2))
            add(text, passage, CLAIM, LABELS[label], kind)
            if draw and label == "s" and draw.random() < ELSEWHERE:
                add(text, neighbour, CLAIM, LABELS["n"], "elsewhere")
        for text, label, kind in row.get("questions", ()):
            add(text.rstrip("? "), row["passage"], QUESTION, int(label == "a"), kind)
            if draw and label == "a" and draw.random() < ELSEWHERE:
                add(text.rstrip("? "), neighbour, QUESTION, 0, "elsewhere")
    return pairs


def _copy_claims(passage: str, draw: random.Random) -> list[tuple[str, str, str]]:
    """Return some sentences of a passage as they stand, and one of them with its negation put in, or left out."""
    sentences = [passage[start:end].strip() for start, end in find_sentences(passage)]
    copied = [(one, "s", "copy") for one in draw.sample(sentences, min(COPIED, len(sentences)))]
    short = [one for one in sentences if len(one.split()) <= MAX_NEGATED_WORDS and len(AUXILIARY.findall(one)) == 1]
    if not short:
        return copied
    chosen = draw.choice(short)
    turned = (
        NEGATED_AUXILIARY.sub(r"\1", chosen) if NEGATED_AUXILIARY.search(chosen) else AUXILIARY.sub(r"\1 not", chosen)
    )
    return [*copied, (turned, "c", "negation")]


def batch_pairs(pairs: Sequence[Pair], tokens: int, draw: random.Random | None) -> Iterator[list[Pair]]:
    """Yield batches of pairs of nearly one length, in any order with `draw`."""
    order = sorted(pairs, key=lambda pair: len(pair.ids) + (12 * draw.random() if draw else 0))
    batches: list[list[Pair]] = [[]]
    for pair in order:
        batches[-1].append(pair)
        if len(batches[-1]) * len(pair.ids) >= tokens:
            batches.append([])
    batches = [batch for batch in batches if batch]
    if draw:
        draw.shuffle(batches)
    yield from batches


def run_batch(encoder: EntailmentEncoder, batch: Sequence[Pair]) -> Tensor:
    """Return the outputs for each pair."""
    longest = max(len(pair.ids) for pair in batch)
    ids, types, mask = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(3))
    for n, pair in enumerate(batch):
        size = len(pair.ids)
        ids[n, :size], types[n, :size], mask[n, :size] = torch.tensor(pair.ids), torch.tensor(pair.types), 1
    with torch.autocast("cpu", torch.bfloat16):  # four times as fast where the processor has it
        logits: Tensor = encoder(ids, types, mask)
    return logits.float()


def compute_loss(logits: Tensor, batch: Sequence[Pair]) -> Tensor:
    """Return the mean cross-entropy: of three labels for claims, of two for questions."""
    labels = torch.tensor([pair.label for pair in batch])
    claims = torch.tensor([pair.task == CLAIM for pair in batch])
    of_claims = nn.functional.cross_entropy(logits[claims, :3], labels[claims], label_smoothing=0.03, reduction="sum")
    target = labels[~claims].float() * 0.96 + 0.02
    of_questions = nn.functional.binary_cross_entropy_with_logits(logits[~claims, 3], target, reduction="sum")
    return (of_claims + of_questions) / len(batch)


def train(
    encoder: EntailmentEncoder,
    read_pairs: Callable[[random.Random], Sequence[Pair]],
    held_out: Sequence[Pair],
    chosen: argparse.Namespace,
) -> None:
    """Train for so many minutes, with a rate that rises and falls linearly; report a quarter of the way each time.

    The pairs are made anew for each pass: with other neighbours and copies, and with the rows that came meanwhile.
    """
    trained = freeze_lower_layers(encoder)
    groups = [
        {"params": [p for p in trained if p.ndim > 1]},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=chosen.rate, betas=(0.9, 0.98), weight_decay=0.01)
    draw, began, reported, losses = random.Random(1), time.monotonic(), 0, []
    while True:
        pairs = read_pairs(draw)
        print(f"a pass over {len(pairs)} pairs of {np.mean([len(pair.ids) for pair in pairs]):.0f} tokens", flush=True)
        for batch in batch_pairs(pairs, chosen.tokens, draw):
            done = (time.monotonic() - began) / (60 * chosen.minutes)
            if done >= 1:
                return
            loss = compute_loss(run_batch(encoder, batch), batch)
            losses.append(take_step(loss, optimizer, trained, chosen.rate * share_of_rate(done)))
            if len(losses) % 100 == 0:
                print(f"{len(losses)} batches, {done:.0%}, loss {np.mean(losses[-100:]):.4f}", flush=True)
            if int(done * 4) > reported:
                reported = int(done * 4)
                report(encoder, held_out)
                torch.save(encoder.state_dict(), chosen.out / "state.pt")


def freeze_lower_layers(encoder: EntailmentEncoder) -> list[nn.Parameter]:
    """Freeze the vocabulary and the lower layers, which the package has already, and return what is to be trained."""
    for part in (encoder.words, encoder.places, encoder.kinds, encoder.norm, *list(encoder.layers)[:FROZEN_LAYERS]):
        part.requires_grad_(requires_grad=False)
    return [parameter for parameter in encoder.parameters() if parameter.requires_grad]


def share_of_rate(done: float) -> float:
    """Return the share of the highest rate after a share of the training: it rises for 6 %, then falls to 1 %."""
    return min(done / 0.06, (1 - done) / 0.94 + 0.01)


def take_step(loss: Tensor, optimizer: torch.optim.Optimizer, trained: Sequence[nn.Parameter], rate: float) -> float:
    """Move the parameters against the gradient of a loss, clipped to a norm of 1, and return the loss."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss.backward()
    nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.item())


def report(encoder: EntailmentEncoder, pairs: Sequence[Pair]) -> None:
    """Print how far the outputs tell the labels of held-out pairs."""
    encoder.eval()
    rows: list[tuple[Pair, np.ndarray[Any, Any]]] = []
    with torch.no_grad():
        for batch in batch_pairs(pairs, 4096, None):
            rows += zip(batch, run_batch(encoder, batch).numpy(), strict=True)
    encoder.train()
    claims = [(pair, logits[:3]) for pair, logits in rows if pair.task == CLAIM]
    labels = np.array([pair.label for pair, _ in claims])
    shares = np.array([np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum() for _, logits in claims])
    found = {
        "right of three": float((shares.argmax(1) == labels).mean()),
        "AUC supported": roc_auc_score(labels == 0, shares[:, 0]),
        "AUC contradicted": roc_auc_score(labels == 1, shares[:, 1]),
    }
    least = np.quantile(shares[labels != 0, 0], 0.98)
    for kind in ("light", "own"):
        of_kind = np.array([pair.kind == kind for pair, _ in claims]) & (labels == 0)
        found[f"{kind} above 98 % of false"] = float((shares[of_kind, 0] > least).mean())
    questions = [(pair.label, logits[3]) for pair, logits in rows if pair.task == QUESTION]
    if questions:
        found["AUC answered"] = roc_auc_score(*(np.array(column) for column in zip(*questions, strict=True)))
    print(
        f"{len(claims)} claims, {len(questions)} questions held out:",
        {k: round(float(v), 3) for k, v in found.items()},
        flush=True,
    )


def export(encoder: EntailmentEncoder, file: Path, cross_encoder: Path) -> None:
    """Write the model with weights of eight bits; of the frozen parts where they stand in the cross-encoder's file."""
    encoder.eval()
    ids = torch.randint(1000, 20000, (1, 40))
    axes = {"input_ids": {1: "tokens"}, "token_type_ids": {1: "tokens"}}
    whole = file.with_suffix(".whole")
    torch.onnx.export(
        encoder,
        (ids, torch.zeros_like(ids)),
        str(whole),
        input_names=list(axes),
        output_names=["logits"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(whole, file, weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()
    model = onnx.load(str(file))
    _refer_to_frozen(model, cross_encoder)
    onnx.save(model, str(file))


def _refer_to_frozen(model: Any, cross_encoder: Path) -> None:
    """Replace the frozen weights by references into the cross-encoder's file, with its scales and zero points."""
    given, theirs = cross_encoder.read_bytes(), onnx.load(str(cross_encoder)).graph
    arrays = {one.name: one for one in theirs.initializer}
    places = dict(_locate_weights(theirs, arrays))
    ours = {one.name: one for one in model.graph.initializer}
    frozen = ("words", "places", "kinds", *(f"layers.{n}." for n in range(FROZEN_LAYERS)))
    for part, name in _locate_weights(model.graph, ours):
        if not part.startswith(frozen):
            continue
        source = arrays[places[_map_names()[part]]]
        for suffix in ("_scale", "_zero_point"):
            kept = ours[name.removesuffix("_quantized") + suffix].name
            scalar = arrays[source.name.removesuffix("_quantized") + suffix]
            ours[kept].CopyFrom(scalar)
            ours[kept].name = kept
        raw = source.raw_data
        ours[name].CopyFrom(source)
        ours[name].name = name
        ours[name].ClearField("raw_data")
        ours[name].data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", cross_encoder.name), ("offset", given.index(raw)), ("length", len(raw))):
            ours[name].external_data.add(key=key, value=str(value))
    del model.graph.value_info[:]


def _locate_weights(graph: Any, arrays: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each part of a quantized graph with the name of its weights: of a linear one by the bias added after it."""
    readers: dict[str, Any] = {given: node for node in graph.node for given in node.input}
    for name in arrays:
        if name.endswith(".weight_quantized"):
            yield name.removesuffix(".weight_quantized"), name
    for node in graph.node:
        if node.op_type == "MatMulInteger" and node.input[1] in arrays:
            reader = node
            while reader.op_type != "Add":
                reader = readers[reader.output[0]]
            bias = next(name for name in reader.input if name in arrays)
            yield bias.removesuffix(".bias"), node.input[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=Path, default=Path("evals/data/entailment_rows"))
    parser.add_argument("--minutes", type=float, default=55.0)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--tokens", type=int, default=2400, help="of a batch")
    parser.add_argument("--start", type=Path, help="a state.pt to train on from; with --minutes 0, to write as ONNX")
    chosen = parser.parse_args()
    folder = find_model_folder("reranker", None)
    assert folder, "the models of the package are not installed: make install"
    torch.manual_seed(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    encoder = load_cross_encoder(folder / "model.onnx")
    if chosen.start:
        encoder.load_state_dict(torch.load(chosen.start))
    if chosen.minutes:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        held_out = make_pairs([row for row in read_rows(chosen.rows) if _is_held_out(row)], tokenizer, None)

        def read_pairs(draw: random.Random) -> list[Pair]:
            return make_pairs([row for row in read_rows(chosen.rows) if not _is_held_out(row)], tokenizer, draw)

        train(encoder, read_pairs, held_out, chosen)
        report(encoder, held_out)
        torch.save(encoder.state_dict(), chosen.out / "state.pt")
    export(encoder, chosen.out / "model.onnx", folder / "model.onnx")


if __name__ == "__main__":
    main()

"""Train a small model that chooses the program which a question about a table asks for: `evals/table_programs.py`.

`python -m evals.train_programs OUT --rows evals/data/table_programs --minutes 25`

It begins with the packaged cross-encoder, as `evals/train_entailment.py` does, with the same lower layers frozen. A
question with the heads of its table is read once; each part or program is a block beside it that sees the question and
itself, so that twenty of them cost little more than five pairs. One table in ten is held out, by a hash of its title.
It requires torch, onnx and sklearn: `pip install torch onnx scikit-learn`; on a busy machine set OMP_NUM_THREADS=1.
Three passes are too few for the product: docs/decisions/0108-programs-by-a-cross-encoder.md
"""

import argparse
import gzip
import json
import random
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from evals.table_programs import (
    NONE,
    Condition,
    Program,
    Table,
    combine_parts,
    execute,
    list_conditions,
    list_skeletons,
    read_program,
    write_question,
)
from evals.train_entailment import (
    FROZEN_LAYERS,
    EntailmentEncoder,
    freeze_lower_layers,
    load_cross_encoder,
    share_of_rate,
    take_step,
)
from rag_core.providers.local_models import find_model_folder

PROGRAM, CONDITION, SKELETON = 0, 1, 2  # of the model's outputs
HELD_OUT = 10  # one table in so many
MAX_QUESTION_TOKENS = 80
MAX_BLOCK_TOKENS = 40
BLOCKS = 24  # beside one reading of the question
KEPT_SKELETONS, KEPT_CONDITIONS = 6, 8  # of which programs are made


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a table, and the program that it asks for."""

    question: str
    table: Table
    program: Program


@dataclass(frozen=True, slots=True)
class Reading:
    """A question and its blocks, each with its output and its label."""

    question: list[int]
    blocks: list[list[int]]
    outputs: list[int]
    labels: list[int]

    @property
    def size(self) -> int:
        return len(self.question) + sum(map(len, self.blocks))


class Texts:
    """The tokenizer, with the ids of texts kept."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._known: dict[str, list[int]] = {}

    def question(self, text: str) -> list[int]:
        return self._encode(text)[:MAX_QUESTION_TOKENS]

    def block(self, text: str) -> list[int]:
        return self._encode(text)[:MAX_BLOCK_TOKENS]

    def _encode(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text).ids  # [CLS] text [SEP]
        return self._known[text]


def read_asked(folder: Path) -> list[Asked]:
    """Return the questions of all files below a folder whose program can be computed."""
    found = []
    for file in sorted(folder.glob("*.jsonl.gz")):
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            row = json.loads(line)
            table = Table(row["title"], tuple(row["heads"]), tuple(map(tuple, row["rows"])))
            for question in row["questions"]:
                program = read_program(question["program"], table)
                if execute(program, table) is not None:
                    found.append(Asked(question["q"], table, program))
    return found


def is_held_out(asked: Asked) -> bool:
    return zlib.crc32(asked.table.title.encode()) % HELD_OUT == 0


def make_reading(asked: Asked, texts: Texts, draw: random.Random) -> Reading:
    """Return a question with the right parts and program among wrong ones of the same table."""
    table, program = asked.table, asked.program
    skeletons = [one for one in list_skeletons(table) if one != program.skeleton]
    known = list_conditions(asked.question, table)
    conditions = [one for one in known if one not in program.conditions]
    chosen = [(program.skeleton, 1), *((one, 0) for one in _draw_near(skeletons, program, 7, draw))]
    if program != NONE:
        chosen.append((NONE, 0))
    blocks = [(skeleton.write(table), SKELETON, label) for skeleton, label in chosen]
    if program != NONE:
        right = [(one.write(table), CONDITION, 1) for one in program.conditions]
        of_columns = {one.column for one in program.conditions}
        near = [one for one in conditions if one.column in of_columns]
        wrong = {*draw.sample(near, min(3, len(near))), *draw.sample(conditions, min(4, len(conditions)))}
        blocks += right + [(one.write(table), CONDITION, 0) for one in wrong]
    programs = [(program, 1), *((one, 0) for one in _draw_programs(program, skeletons, conditions, table, draw))]
    blocks += [(one.write(table), PROGRAM, label) for one, label in programs]
    draw.shuffle(blocks)
    written, outputs, labels = map(list, zip(*blocks, strict=True))
    return Reading(
        texts.question(write_question(asked.question, table)), list(map(texts.block, written)), outputs, labels
    )


def _draw_near(skeletons: Sequence[Program], program: Program, count: int, draw: random.Random) -> list[Program]:
    near = [one for one in skeletons if one.operation == program.operation or program.of == one.of != -1]
    drawn = draw.sample(near, min(count // 2, len(near)))
    rest = [one for one in skeletons if one not in drawn]
    return drawn + draw.sample(rest, min(count - len(drawn), len(rest)))


def _draw_programs(
    program: Program, skeletons: Sequence[Program], conditions: Sequence[Condition], table: Table, draw: random.Random
) -> list[Program]:
    """Return wrong programs: of other conditions, of other operations or columns, and that nothing is in the table."""
    drawn = draw.sample(conditions, min(5, len(conditions)))
    if program == NONE:
        kept = draw.sample(skeletons, min(6, len(skeletons)))
        return draw.sample(made := combine_parts(kept, drawn), min(9, len(made))) if kept else []
    others = [c for n, one in enumerate(program.where) for c in (*drawn[:3], one) if n < 2]
    made = combine_parts([program.skeleton], [*dict.fromkeys((*others, *program.other, *drawn))])
    changed = [
        Program(one.operation, one.of, one.give, program.where, program.other)
        for one in _draw_near(skeletons, program, 5, draw)
        if (one.operation in ("difference", "ratio")) == (program.operation in ("difference", "ratio"))
    ]
    result = execute(program, table)
    wrong = [one for one in made[1:] if one != program and execute(one, table) != result]
    wrong = draw.sample(wrong, min(6, len(wrong)))
    return [NONE, *wrong, *(one for one in changed if execute(one, table) not in (None, result))]


def pack(readings: Sequence[Reading]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return ids, types, places and attention of some readings, and where the blocks begin in them all."""
    longest = max(reading.size for reading in readings)
    ids, types, places = (torch.zeros(len(readings), longest, dtype=torch.long) for _ in range(3))
    sees = torch.zeros(len(readings), longest, longest, dtype=torch.bool)
    sees[:, range(longest), range(longest)] = True
    starts = []
    for n, reading in enumerate(readings):
        size = len(reading.question)
        ids[n, :size], places[n, :size] = torch.tensor(reading.question), torch.arange(size)
        sees[n, :size, :size] = True
        begin = size
        for block in reading.blocks:
            end = begin + len(block)
            ids[n, begin:end] = torch.tensor(block)
            types[n, begin + 1 : end] = 1
            places[n, begin + 1 : end] = torch.arange(size, size + len(block) - 1)  # its [CLS] is at 0
            sees[n, begin:end, 1:size] = sees[n, begin:end, begin:end] = True
            starts.append(n * longest + begin)
            begin = end
    return ids, types, places, sees[:, None], torch.tensor(starts)


def run_packed(encoder: EntailmentEncoder, readings: Sequence[Reading]) -> Tensor:
    """Return the outputs for each block of all readings."""
    ids, types, places, sees, starts = pack(readings)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            hidden = encoder.norm(encoder.words(ids) + encoder.places(places) + encoder.kinds(types))
            for layer in list(encoder.layers)[:FROZEN_LAYERS]:
                layer.eval()
                hidden = layer(hidden, sees)
        for layer in list(encoder.layers)[FROZEN_LAYERS:]:
            hidden = layer(hidden, sees)
        pooled = torch.tanh(encoder.pooler(hidden.flatten(0, 1)[starts]))
        logits: Tensor = encoder.head(nn.functional.dropout(pooled, 0.1, encoder.training))
    return logits.float()


def compute_loss(logits: Tensor, readings: Sequence[Reading]) -> Tensor:
    """Return the mean of three losses: one skeleton and one program of each question are right, and any conditions."""
    begin, losses = 0, []
    for reading in readings:
        outputs, labels = torch.tensor(reading.outputs), torch.tensor(reading.labels)
        own = logits[begin : begin + len(labels)]
        begin += len(labels)
        for kind in (PROGRAM, SKELETON):
            scores, right = own[outputs == kind, kind], labels[outputs == kind].argmax()
            losses.append(nn.functional.cross_entropy(scores[None], right[None], label_smoothing=0.02))
        of_conditions = outputs == CONDITION
        if of_conditions.any():
            target = labels[of_conditions].float() * 0.96 + 0.02
            losses.append(nn.functional.binary_cross_entropy_with_logits(own[of_conditions, CONDITION], target))
    return torch.stack(losses).sum() / len(readings)


def batch_readings(readings: Sequence[Reading], tokens: int, draw: random.Random) -> Iterator[list[Reading]]:
    order = sorted(readings, key=lambda reading: reading.size + 20 * draw.random())
    batches: list[list[Reading]] = [[]]
    for reading in order:
        batches[-1].append(reading)
        if len(batches[-1]) * reading.size >= tokens:
            batches.append([])
    batches = [batch for batch in batches if batch]
    draw.shuffle(batches)
    yield from batches


Score = Callable[[Sequence[Reading]], np.ndarray[Any, Any]]


def score_blocks(asked: Asked, written: Sequence[str], texts: Texts, score: Score) -> np.ndarray[Any, Any]:
    """Return the outputs for texts beside a question."""
    question = texts.question(write_question(asked.question, asked.table))
    parts = [written[n : n + BLOCKS] for n in range(0, len(written), BLOCKS)]
    readings = [Reading(question, list(map(texts.block, part)), [], []) for part in parts]
    return score(readings)


def rank_programs(asked: Asked, texts: Texts, score: Score) -> list[tuple[Program, str, float]]:
    """Return the programs that the best parts make, each with its result and its share, best first."""
    table = asked.table
    skeletons, conditions = list_skeletons(table), list_conditions(asked.question, table)
    parts: tuple[Program | Condition, ...] = (*skeletons, *conditions)
    scores = score_blocks(asked, [one.write(table) for one in parts], texts, score)
    of_skeletons, of_conditions = scores[: len(skeletons), SKELETON], scores[len(skeletons) :, CONDITION]
    best = [skeletons[n] for n in of_skeletons.argsort()[::-1][:KEPT_SKELETONS]]
    kept = [conditions[n] for n in of_conditions.argsort()[::-1][:KEPT_CONDITIONS]]
    programs = [one for one in combine_parts(best, kept) if execute(one, table) is not None]
    logits = score_blocks(asked, [one.write(table) for one in programs], texts, score)[:, PROGRAM]
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    order = shares.argsort()[::-1]
    return [(programs[n], execute(programs[n], table) or "", float(shares[n])) for n in order]


def choose_result(ranked: Sequence[tuple[Program, str, float]]) -> tuple[str, float, float]:
    """Return the best result, its share over all programs that give it, and its lead on the next result."""
    shares: dict[str, float] = {}
    for _, result, share in ranked:
        shares[result] = shares.get(result, 0.0) + share
    best, *rest = sorted(shares.items(), key=lambda item: -item[1])
    return best[0], best[1], best[1] - (rest[0][1] if rest else 0.0)


def report(asked: Sequence[Asked], texts: Texts, score: Score) -> list[Mapping[str, Any]]:
    """Print how often the right result comes first on held-out questions, and how many are wrong at some thresholds."""
    outcomes: list[Mapping[str, Any]] = []
    for one in asked:
        ranked = rank_programs(one, texts, score)
        result, share, lead = choose_result(ranked)
        wanted = execute(one.program, one.table)
        reached = any(r == wanted for _, r, _ in ranked)
        outcomes.append(
            {
                "right": result == wanted,
                "said": result,
                "wanted": wanted,
                "share": share,
                "lead": lead,
                "reached": reached,
                "asked": one,
                "program": ranked[0][0],
            }
        )
    computed = [o for o in outcomes if o["wanted"] != "none"]
    none = [o for o in outcomes if o["wanted"] == "none"]
    print(
        f"{len(computed)} answerable: first {np.mean([o['right'] for o in computed]):.3f}, "
        f"among the programs {np.mean([o['reached'] for o in computed]):.3f}; "
        f"{len(none)} not: first {np.mean([o['right'] for o in none]):.3f}",
        flush=True,
    )
    for least in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        said = [o for o in outcomes if o["said"] != "none" and o["share"] >= least]
        of_computed = [o for o in said if o["wanted"] != "none"]
        right = sum(o["right"] for o in of_computed)
        print(
            f"  share {least}: right {right}, wrong {len(of_computed) - right} of {len(computed)}; "
            f"computed though not in the table {len(said) - len(of_computed)} of {len(none)}",
            flush=True,
        )
    return outcomes


def make_torch_score(encoder: EntailmentEncoder) -> Score:
    def score(readings: Sequence[Reading]) -> np.ndarray[Any, Any]:
        encoder.eval()
        with torch.no_grad():
            scores: np.ndarray[Any, Any] = run_packed(encoder, readings).numpy()
        return scores

    return score


def train(encoder: EntailmentEncoder, texts: Texts, chosen: argparse.Namespace) -> None:
    """Train for so many minutes, with a rate that rises and falls linearly; rows that came meanwhile join each pass."""
    trained = freeze_lower_layers(encoder)
    optimizer = torch.optim.AdamW(trained, lr=chosen.rate, betas=(0.9, 0.98), weight_decay=0.01)
    draw, began, losses, passes = random.Random(1), time.monotonic(), [], 0
    while True:
        asked = [one for one in read_asked(chosen.rows) if not is_held_out(one)]
        readings = [make_reading(one, texts, draw) for one in asked]
        passes += 1
        mean = np.mean([reading.size for reading in readings])
        print(f"pass {passes} over {len(readings)} questions of {mean:.0f} tokens", flush=True)
        encoder.train()
        for batch in batch_readings(readings, chosen.tokens, draw):
            done = (time.monotonic() - began) / (60 * chosen.minutes)
            if done >= 1:
                return
            loss = compute_loss(run_packed(encoder, batch), batch)
            losses.append(take_step(loss, optimizer, trained, chosen.rate * share_of_rate(done)))
            if len(losses) % 50 == 0:
                print(
                    f"{len(losses)} batches, {done:.0%}, loss {np.mean(losses[-50:]):.4f},"
                    f" {time.process_time():.0f} s of CPU",
                    flush=True,
                )
        torch.save(encoder.state_dict(), chosen.out / "state.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=Path, default=Path("evals/data/table_programs"))
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--tokens", type=int, default=4000, help="of a batch")
    parser.add_argument("--start", type=Path, help="a state.pt to begin with; with --minutes 0, to report on")
    parser.add_argument("--limit", type=int, default=10**6, help="of the held-out questions")
    chosen = parser.parse_args()
    folder = find_model_folder("reranker", None)
    assert folder, "the models of the package are not installed: make install"
    torch.manual_seed(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    encoder = load_cross_encoder(folder / "model.onnx")
    with torch.no_grad():
        encoder.head.weight[: SKELETON + 1] = encoder.head.weight[3]
    if chosen.start:
        encoder.load_state_dict(torch.load(chosen.start))
    texts = Texts(folder)
    if chosen.minutes:
        train(encoder, texts, chosen)
        torch.save(encoder.state_dict(), chosen.out / "state.pt")
    held_out = [one for one in read_asked(chosen.rows) if is_held_out(one)]
    report(held_out[: chosen.limit], texts, make_torch_score(encoder))


if __name__ == "__main__":
    main()

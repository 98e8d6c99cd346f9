"""`rag eval compare` and `rag eval ablate`: what a stage is worth on labelled questions, and what it takes."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evals import beir, markdown, metrics
from evals.bill import MODELS, Bill
from evals.cache import Cache
from evals.retrieval import CACHE, Bench, Progress, Row, indexed, preset, row
from rag_core.settings import DEFAULTS, Settings

BASE = "hybrid"
ABLATED: Mapping[str, tuple[str, str]] = {  # what it is called: the preset, and what the specification expects of it
    "vector only": ("advanced:rewordings=0,imaginings=0,rerank=0,how=vector", "fast, medium recall and precision"),
    BASE: ("advanced:rewordings=0,imaginings=0,rerank=0", "medium, high recall"),
    "+ expansion": ("advanced:imaginings=0,rerank=0", "+200 ms, recall +20 %, precision 0"),
    "+ HyDE": ("advanced:rewordings=0,rerank=0", "+300 ms, recall +15 %, precision +10 %"),
    "+ reranking": ("advanced:rewordings=0,imaginings=0", "+500 ms, recall 0, precision +25 %"),
    "full advanced": ("advanced", "+1 s, recall +35 %, precision +35 %"),
}
COMPARED = ("recall@10", "precision@5", "ndcg@10")


@dataclass(frozen=True, slots=True)
class Tried:
    """One way of searching, and what 1,000 of its questions would have cost with a hosted chat model, in USD."""

    row: Row
    usd: float

    @property
    def p50_ms(self) -> float:
        return float(np.percentile(self.row.times_ms, 50))


def tried(
    directory: Path,
    said: Mapping[str, str],
    *,
    queries: int | None = None,
    settings: Settings = DEFAULTS,
    cache: Path = CACHE,
    progress: Progress = lambda *_: None,
) -> dict[str, Tried]:
    """Ask a BEIR folder's questions by each of these presets ("advanced:rewordings=0"), by what it is called.

    Raises:
        Misconfigured: the folder is not in BEIR's layout.
        InvalidRequest: there is no such preset or number.
    """
    collection = beir.load(directory, queries=queries)
    presets = {name: preset(written) for name, written in said.items()}
    remembered = Cache(cache)

    async def one(name: str, bench: Bench) -> Tried:
        bill = Bill()
        scored = await row(name, bench.pipeline(presets[name], bill=bill), collection, progress)
        return Tried(scored, 1000 * bill.usd(MODELS[0]) / len(scored.scores))

    async def every() -> dict[str, Tried]:
        async with indexed(collection, settings, remembered, progress) as bench:
            return {name: await one(name, bench) for name in presets}

    try:
        return asyncio.run(every())
    finally:
        remembered.close()


def table(found: Mapping[str, Tried], base: str, *, beside: Mapping[str, str] | None = None) -> str:
    """Markdown: every way against `base`, paired; `*` where the 95 % interval leaves out 0. `beside` has last cells."""
    columns = ["", *COMPARED, *(f"{measure} against {base}" for measure in COMPARED), "p50 ms", f"USD, {MODELS[0]}"]
    rows = [
        [name, *_means(one), *_differences(one, found[base]), *_price(one, found[base])] for name, one in found.items()
    ]
    if beside:
        columns.append("the specification expects")
        rows = [[*row, beside[name]] for row, name in zip(rows, found, strict=True)]
    return markdown.table(columns, rows)


def halves(found: Mapping[str, Tried]) -> Iterator[tuple[str, dict[str, Tried]]]:
    """The same for every second question, from the first and from the second: to tune on one, and report the other."""
    for place, name in enumerate(("first half", "second half")):
        yield name, {called: _half(one, place) for called, one in found.items()}


def _half(one: Tried, place: int) -> Tried:
    chosen = list(one.row.scores)[place::2]
    scores = {query: one.row.scores[query] for query in chosen}
    return Tried(Row(one.row.pipeline, scores, one.row.times_ms), one.usd)


def _means(one: Tried) -> Sequence[str]:
    return [f"{metrics.mean(one.row.scores, measure):.3f}" for measure in COMPARED]


def _differences(one: Tried, base: Tried) -> Sequence[str]:
    if one is base:
        return [""] * len(COMPARED)
    return [str(metrics.compare(one.row.scores, base.row.scores, measure)) for measure in COMPARED]


def _price(one: Tried, base: Tried) -> Sequence[str]:
    more = "" if one is base else f" ({one.p50_ms - base.p50_ms:+.0f})"
    return [f"{one.p50_ms:.0f}{more}", f"{one.usd:.2f}"]

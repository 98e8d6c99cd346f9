"""`python -m evals.pictures`: docs/pictures/*.svg, drawn from what evals/results holds and from nothing else.

The same numbers give the same bytes. Ours is blue in every picture; a peer, and a loss, never is.
"""

import io
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evals import record
from rag_core.evaluation.model_usage import PRICED_MODELS

STYLE = Path(__file__).with_suffix(".mplstyle")
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
OURS, LOSS, GREY, PALE = "#0072B2", "#D55E00", "#6E6E6E", "#EEEEEE"  # blue and vermilion: Okabe and Ito, 2008
PEERS = {  # by the name in the tables of bench_store
    "LanceDB": ("LanceDB", LOSS, "s"),
    "Zvec": ("Zvec", "#B8860B", "v"),
    "Chroma, vectors only": ("Chroma, vectors only", "#00805C", "D"),
    "Haystack, in memory": ("Haystack", "#AA4499", "^"),
}
REACH = 0.24  # of nDCG@10: with more, the interval of what matters is too short to read
PARETO_REACH = 0.05  # of nDCG@10 below the best that is drawn to scale; what is further down is an arrow
PARETO_ROWS = 6  # of other pictures, for the height
LABEL_PLACES = (((-6, 5), "right"), ((0, 10), "center"), ((6, -5), "left"))  # of neighbours, in turn, in points
SHOWN = 6  # sets, the first: more are too narrow to read, and stand in the table
WIDTH = 9.0  # inches, about the column of a README on GitHub
WAYS = {"words": GREY, "meaning": GREY, "hybrid": OURS, "standard": OURS, "advanced": OURS}  # a leg alone is grey
STAGES = ("vector only", "+ expansion", "+ reranking", "full advanced")  # + HyDE is hybrid without a chat model
LEAST, MOST = 0.03, 5000  # of ours: names stand beside their points
MEASURED = {  # by the heading of the table of bench_store
    "2 % filter p50 ms": "question in 2 % of them",
    "hybrid p50 ms": "question in all of them",
    "by meaning alone p50 ms": "by meaning alone",
    "open s": "open and answer",
    "replaced and found p50 ms": "replace and find",
    "memory MB": "memory",
    "disk MB": "disk",
    "searchable after s": "store all and answer",
}


def draw_quality(result: Mapping[str, Any]) -> Figure:
    """nDCG@10 on every set, its mean over the questions and the 95 % interval."""
    figure, panels = _build_panels(result, SHOWN, WAYS)
    for axes, (name, of) in zip(panels, result["found"].items(), strict=False):
        rows = {row["pipeline"]: row for row in of["rows"]}
        axes.set_title(f"{name}\n{rows['hybrid']['n']} questions")
        axes.set(xlim=(0, 1.02))
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        for place, (way, colour) in enumerate(WAYS.items()):
            mean = rows[way]["ndcg@10"]
            _draw_interval(axes, place, mean, rows[way]["interval"], colour, f"{mean:.2f}")
    return figure


def draw_stages(result: Mapping[str, Any]) -> Figure:
    """What each stage adds to both legs fused, in nDCG@10, and the 95 % interval; grey where that may be chance."""
    figure, panels = _build_panels(result, SHOWN, STAGES)
    for axes, (name, of) in zip(panels, result["found"].items(), strict=False):
        gaps = {row["name"]: row["differences"]["ndcg@10"] for row in of["rows"] if row["differences"]}
        axes.set_title(f"{name}\n{of['questions']} questions")
        axes.axvline(0, color=GREY, linewidth=0.5)
        axes.set(xlim=(-REACH, REACH))
        axes.set_xticks([-0.2, 0, 0.2], ["−0.2", "0", "+0.2"])
        for place, stage in enumerate(STAGES):
            _draw_difference(axes, place, gaps[stage])
    return figure


def draw_pareto(result: Mapping[str, Any]) -> Figure:
    """Mean nDCG@10 over all sets against CPU milliseconds of a question; the line joins what nothing beats in both."""
    points = average_sets(result["found"])
    figure, (axes,) = _build_panels(result, 1, [""] * PARETO_ROWS, left=0.06)
    best = max(mean for _, mean in points.values())
    axes.set(xscale="log", xlim=(1, 1000), ylim=(best - PARETO_REACH, best + 0.01))
    axes.set_xticks([1, 10, 100, 1000], ["1 ms", "10 ms", "100 ms", "1 s"])
    axes.set_yticks([])
    axes.set_title(f"mean nDCG@10 of {len(result['found'])} sets, and CPU of a question", pad=14)
    front = find_pareto_front(points)
    axes.plot(*zip(*(points[name] for name in front), strict=True), color=OURS, linewidth=1)
    cheapest_first = sorted(points.items(), key=lambda point: point[1][0])
    for turn, (name, (cpu_ms, mean)) in enumerate(cheapest_first):
        label, colour = f"{name} {mean:.3f}, {cpu_ms:.0f} ms", OURS if name in front else GREY
        shown, shape = (mean, "o") if mean > best - PARETO_REACH else (best - 0.95 * PARETO_REACH, "v")
        axes.plot(cpu_ms, shown, shape, color=colour)
        shift, align = LABEL_PLACES[turn % len(LABEL_PLACES)]
        text = axes.annotate(label, (cpu_ms, shown), shift, textcoords="offset points", ha=align, va="center_baseline")
        text.set(color=colour, fontsize=8)
    return figure


def average_sets(found: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the means over the sets by pipeline: CPU milliseconds of a question, and nDCG@10."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in (row for of in found.values() for row in of["rows"]):
        rows.setdefault(row["pipeline"], []).append(row)
    return {
        name: (fmean(row["cpu_ms"] for row in of), fmean(row["ndcg@10"] for row in of)) for name, of in rows.items()
    }


def find_pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names of those that none at the same or less cost is better than, cheapest first."""
    front: list[str] = []
    for name, (_, mean) in sorted(points.items(), key=lambda point: (point[1][0], -point[1][1])):
        if not front or mean > points[front[-1]][1]:
            front.append(name)
    return front


def _draw_difference(axes: Axes, place: float, gap: Mapping[str, float]) -> None:
    """Draw a difference, as an arrow at the edge when it is further than the panel."""
    mean, label = gap["mean"], f"{gap['mean']:+.3f}".replace("-", "−")
    if abs(mean) < REACH:
        _draw_interval(axes, place, mean, (gap["low"], gap["high"]), choose_colour(gap), label)
    else:
        edge = math.copysign(0.95 * REACH, mean)
        _draw_labelled_point(axes, edge, place, "<" if mean < 0 else ">", choose_colour(gap), label, left=mean > 0)


def choose_colour(gap: Mapping[str, float]) -> str:
    """Return the colour of a difference: a gain or a loss only where the whole interval is one."""
    return OURS if gap["low"] > 0 else LOSS if gap["high"] < 0 else GREY


def draw_stores(result: Mapping[str, Any]) -> Figure:
    """Times and sizes of other stores as multiples of ours; left of the line another is ahead."""
    drawn = {case: of for case, of in result["found"].items() if case.endswith(" chunks") and len(of) > 1}
    figure, panels = _build_panels(result, len(drawn), MEASURED.values(), row=0.56, left=0.19, right=0.92, between=0.28)
    for axes, (case, of) in zip(panels, drawn.items(), strict=True):
        _prepare_axes(axes, case)
        for place, heading in enumerate(MEASURED):
            _draw_peers(axes, place, heading, {name: numbers[heading] for name, numbers in of.items()})
    return figure


def _draw_peers(axes: Axes, place: int, heading: str, of: Mapping[str, float]) -> None:
    """Draw the peers below each other, told by name in the first row; ours in its unit at the right."""
    ours = of["embedded"]
    axes.text(1.02, place, _format_amount(ours, heading), color=OURS, va="center", transform=axes.get_yaxis_transform())
    peers = [peer for peer in PEERS if peer in of]
    for turn, peer in enumerate(peers):
        (name, colour, shape), times = PEERS[peer], of[peer] / ours
        label = f"{times:.{1 if times < 10 else 0}f}" + ("" if place else f" {name}")
        below = 0.81 / len(peers) * (turn - (len(peers) - 1) / 2)
        _draw_labelled_point(axes, times, place + below, shape, colour, label, left=times < 1)


def _prepare_axes(axes: Axes, title: str) -> None:
    axes.set_title(title, pad=18)
    axes.set(xscale="log", xlim=(LEAST, MOST))
    axes.set_xticks([0.1, 1, 10, 100, 1000], ["÷ 10", "1", "× 10", "× 100", "× 1000"])
    axes.set_xticks([], minor=True)
    axes.axvspan(LEAST, 1, color=PALE, linewidth=0)
    axes.axvline(1, color=OURS, linewidth=2)
    for times, label, align in ((LEAST, "ahead", "left"), (1, " ours", "left"), (MOST, "behind", "right")):
        colour = OURS if times == 1 else GREY
        axes.text(times, 1.01, label, color=colour, ha=align, transform=axes.get_xaxis_transform())


def _format_amount(number: float, heading: str) -> str:
    unit = heading.rpartition(" ")[2]
    return f"{number:.{1 if number < 10 else 0}f} {unit}"


def draw_costs(result: Mapping[str, Any]) -> Figure:
    """USD for 1,000 questions with a hosted model, by pipeline: chat and embedding."""
    found = result["found"]
    figure, (axes,) = _build_panels(result, 1, found, left=0.16)
    axes.set(xscale="log", xlim=(0.05, 120))
    axes.set_xticks([0.1, 1, 10, 100], ["$0.10", "$1", "$10", "$100"])
    axes.set_title("USD for 1,000 questions with {} (●) and {} (■)".format(*PRICED_MODELS))
    for place, of in enumerate(found.values()):
        if of["calls"]:
            _draw_prices(axes, place, *(of["usd"][model] for model in PRICED_MODELS))
        else:
            axes.text(0.055, place, "no chat call", color=OURS, va="center")
    return figure


def _draw_prices(axes: Axes, place: float, cheap: float, dear: float) -> None:
    axes.plot([cheap, dear], [place, place], color=OURS, linewidth=1)
    _draw_labelled_point(axes, cheap, place, "o", OURS, f"{cheap:.2f}", left=True)
    _draw_labelled_point(axes, dear, place, "s", OURS, f"{dear:.2f}")


def _build_panels(
    result: Mapping[str, Any],
    panels: int,
    rows: Collection[str],
    *,
    row: float = 0.34,
    left: float = 0.115,
    right: float = 0.98,
    between: float = 0.12,
) -> tuple[Figure, Sequence[Axes]]:
    """Build panels side by side with `rows` of `row` inches; below, by what and when it was measured."""
    height = 1.1 + row * len(rows)
    figure = Figure(figsize=(WIDTH, height))
    edges = {"left": left, "right": right, "bottom": 0.55 / height, "top": 1 - 0.55 / height, "wspace": between}
    drawn = figure.subplots(1, panels, sharey=True, squeeze=False, gridspec_kw=edges)[0]
    for axes in drawn:
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), rows)
    low, high = sorted(result["load"])
    source = f"{result['command']} · {result['date']} · {result['machine']}, load {low} to {high}"
    figure.text(0.99, 0.08 / height, source, ha="right", va="bottom", fontsize=7.5, color=GREY)
    return figure, list(drawn)


def _draw_interval(axes: Axes, place: float, value: float, interval: Sequence[float], colour: str, label: str) -> None:
    axes.plot(interval, [place, place], color=colour, linewidth=1.5, solid_capstyle="butt")
    axes.plot(value, place, "o", color=colour)
    axes.annotate(label, (value, place), (0, 4), textcoords="offset points", ha="center", fontsize=7.5, color=colour)


def _draw_labelled_point(
    axes: Axes, x: float, y: float, shape: str, colour: str, label: str, *, left: bool = False
) -> None:
    axes.plot(x, y, shape, color=colour)
    shift, align = (-6, "right") if left else (6, "left")
    text = axes.annotate(label, (x, y), (shift, 0), textcoords="offset points", ha=align, va="center_baseline")
    text.set(color=colour, fontsize=8)


DRAWINGS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Figure]]] = {  # by picture: the result, and how
    "quality": ("quality", draw_quality),
    "pareto": ("quality", draw_pareto),
    "stages": ("stages", draw_stages),
    "store": ("store", draw_stores),
    "cost": ("cost", draw_costs),
}


def draw_pictures() -> Iterator[tuple[Path, str]]:
    """Yield every picture's file, and what must stand in it."""
    for name, (result, draw) in DRAWINGS.items():
        with mpl.rc_context(fname=STYLE):
            yield PICTURES / f"{name}.svg", _render_svg(draw(record.read_result(result)), title=str(draw.__doc__))


def _render_svg(figure: Figure, title: str) -> str:
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Title": title, "Date": None, "Creator": None})
    return written.getvalue()


def main() -> None:
    for path, text in draw_pictures():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

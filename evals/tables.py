"""`python -m evals.tables`: the tables of docs that say what evals/results holds, each put between its marks."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evals import bench_cold_start, bench_goals, bench_http, bench_store, cost, record
from evals.page_sections import fill_section
from rag_core.evaluation import markdown_tables, metrics
from rag_core.evaluation.ablation import ABLATION_BASELINE, ABLATION_PRESETS

DOCS = Path(__file__).parents[1] / "docs" / "reference"
SHOWN = ("recall@10", "ndcg@10")  # of a stage
STORE_ROWS = (
    "hybrid p50 ms",
    "searchable after s",
    "memory MB",
    "2 % filter p50 ms",
    "by meaning alone p50 ms",
    "its top 20 of brute force's",
    "replaced and found p50 ms",
    "disk MB",
)
FEW = 2  # of these, for every other case
MEASURED = "../../evals/results/README.md"  # what the page of benchmarks has no room for


def format_quality_table(found: record.Result) -> str:
    """Return a table with a row for each set: nDCG@10 and the median time of each pipeline."""
    pipelines = [row["pipeline"] for row in next(iter(found.values()))["rows"]]
    return markdown_tables.format_table(
        ["set", "questions", *pipelines], [_format_set_row(name, of) for name, of in found.items()]
    )


def _format_set_row(name: str, of: record.Result) -> list[str]:
    return [name, str(of["rows"][0]["n"]), *map(_format_pipeline_cell, of["rows"])]


def _format_pipeline_cell(row: record.Result) -> str:
    """Return nDCG@10, starred where it differs beyond chance from the row that it is compared with, and the time."""
    mark = metrics.MeanDifference(**row["difference"]).significance_mark if "difference" in row else ""
    return f"{row['ndcg@10']:.3f}{mark}, {row['p50_ms']:.0f}"


def format_stage_table(found: record.Result) -> str:
    """Format what each stage adds to both legs fused, in recall@10 and nDCG@10, by set; below, what is expected."""
    lines = [[name, *map(_format_stage_cell, of["rows"])] for name, of in found.items()]
    expected = [expects for _, expects in ABLATION_PRESETS.values()]
    return markdown_tables.format_table(["", *ABLATION_PRESETS], [*lines, ["the specification expects", *expected]])


def _format_stage_cell(row: record.Result) -> str:
    if row["name"] == ABLATION_BASELINE:
        return ", ".join(f"{row[measure]:.3f}" for measure in SHOWN)
    gaps = (metrics.MeanDifference(**row["differences"][measure]) for measure in SHOWN)
    return ", ".join(f"{gap.mean:+.3f}{gap.significance_mark}" for gap in gaps)


def format_store_tables(found: record.Result) -> str:
    """Format STORE_ROWS of the largest size that peers have as well, and below the first FEW of every other case."""
    largest = [case for case, of in found.items() if case.endswith(" chunks") and len(of) > 1][-1]
    stores = list(found[largest])
    others = [
        [f"{case}, {row}", *_format_figures(row, of, stores)]
        for case, of in found.items()
        for row in STORE_ROWS[:FEW]
        if case != largest
    ]
    full = [[row, *_format_figures(row, found[largest], stores)] for row in STORE_ROWS]
    tables = [([largest, *stores], full), (["other cases", *stores], others)]
    return "\n\n".join(markdown_tables.format_table(head, rows) for head, rows in tables if rows)


def _format_figures(row: str, of: Mapping[str, Mapping[str, float]], stores: Sequence[str]) -> list[str]:
    """Return the figure of each store; "" for one that was not asked, or an older result that lacks the row."""
    (form,) = (form for name, _, form in bench_store.STORE_MEASURES if name == row)
    return [format(of[store][row], form) if row in of.get(store, {}) else "" for store in stores]


# by the name of the result: the page, and the function that makes the table
PAGE_TABLES: Mapping[str, tuple[str, Callable[[record.Result], str]]] = {
    "quality": ("evaluation-retrieval.md", format_quality_table),
    "stages": ("evaluation-retrieval.md", format_stage_table),
    "cost": ("cost-and-scale.md", cost.format_cost_table),
    "store": ("benchmarks.md", format_store_tables),
    "goals": ("benchmarks.md", bench_goals.format_goal_table),
    "http": (MEASURED, bench_http.format_request_table),
    "cold-start": (MEASURED, bench_cold_start.format_startup_table),
}


def fill_pages() -> dict[Path, str]:
    """Return what must stand in each page."""
    made: dict[Path, str] = {}
    for name, (page, table) in PAGE_TABLES.items():
        path, result = DOCS / page, record.read_result(name)
        text = f"{_format_source(result)}\n\n{table(result['found'])}"
        made[path] = fill_section(made.get(path) or path.read_text("utf-8"), f"evals/results/{name}.json", text)
    return made


def _format_source(result: record.Result) -> str:
    """Return what was run, when and where; the results also have the versions of the packages."""
    low, high = sorted(result["load"])
    return f"`{result['command']}`, {result['date']}, {result['machine']}, load {low} to {high}"


def main() -> None:
    for path, text in fill_pages().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

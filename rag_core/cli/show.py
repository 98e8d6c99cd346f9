"""How results read on a terminal."""

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from rag_core.cli.files import Outcome
from rag_core.graph import MAX_HOPS
from rag_core.model import Chunk, Citation, Claim, Edge, Facet, Graph, Hit, Result, Span
from rag_core.run import Run
from rag_core.service import Summary

MARKS = {"verified": "✓", "partial": "~", "unsupported": "✗"}


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows below their heads; numbers stand to the right."""
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for at, head in enumerate(heads):
        right = all(isinstance(row[at], int | float) for row in rows)
        drawn.add_column(head, justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(str(cell) for cell in row))
    Console(markup=False, highlight=False).print(drawn)


def progress(stream: TextIO) -> Progress:
    """A bar for whoever watches; nothing where the stream is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty())


def counting(bar: Progress) -> Callable[[str, int, int], None]:
    """What reports progress by name, done and total, each name on a line of its own."""
    lines: dict[str, TaskID] = {}

    def report(name: str, done: int, total: int) -> None:
        if name not in lines:
            lines[name] = bar.add_task(name)
        bar.update(lines[name], completed=done, total=total)

    return report


def outcome(found: Outcome, bar: Progress) -> None:
    """A line for what became of a file; on a terminal the bar speaks for those that went well."""
    if bar.disable or found.verdict in ("skipped", "refused"):
        bar.console.print(
            f"{found.verdict:<9} {found.path}: {plain(found.note)}", markup=False, highlight=False, soft_wrap=True
        )


def result(found: Result, pipeline: str, run: Run) -> None:
    """What a pipeline found, best first, and how."""
    asked = f" · asked: {', '.join(asked.label for asked in found.asked)}" if found.asked else ""
    what = "" if found.facets and not found.hits else f": {many(len(found.hits), 'passage')}"
    print(f"{pipeline}{what}{asked} · {1000 * (run.within_s - run.remaining_s):.0f} ms")
    for rank, hit in enumerate(found.hits, start=1):
        print(f"\n{rank:>3}. {_score(hit)}  {where(hit.chunk)}\n{_indented(_gist(hit))}")
    for answer in found.answers[:1]:
        print(f"\nMay answer it ({answer.score:.2f}):\n{_indented(plain(answer.text))}")
    for counted in found.facets:
        facet(counted)


def diary(run: Run) -> None:
    """Who did which step, what a lesser answer stood in for, and what in the request had no effect."""
    if run.techniques:
        print("\nBy: " + "; ".join(f"{step}: {who}" for step, who in run.techniques.items()))
    if run.input_tokens:
        cost = "at a price that is not known" if run.cost_usd is None else f"for {run.cost_usd:.6f} USD"
        print(f"Used: {run.input_tokens} tokens in, {run.output_tokens} out, {cost}")
    for lesser in run.degraded:
        print(f"Degraded: {lesser.step}: {lesser.reason} ({lesser.fallback})")
    for warning in run.warnings:
        print(f"Note: {warning.message}")


def plain(text: str) -> str:
    """Text on one line, without what could steer the terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def where(chunk: Chunk) -> str:
    """Title, page, lines and source of a passage."""
    return _joined(chunk.title, place(chunk.place(0, len(chunk.content))), chunk.source)


def place(span: Span | None) -> str:
    """A page and lines in words; empty when neither is known."""
    if span is None:
        return ""
    page = f"p. {span.page}, " if span.page else ""
    one = span.line_start == span.line_end
    return page + (f"line {span.line_start}" if one else f"lines {span.line_start}-{span.line_end}")


def many(count: int, noun: str) -> str:
    """ "1 passage", "2 passages"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def facet(counted: Facet) -> None:
    """The values of a field and their counts; the total is of all of them."""
    shown = f", the {len(counted.buckets)} most frequent" if len(counted.buckets) < counted.total else ""
    print(f"{counted.field}: {many(counted.total, 'distinct value')}{shown}")
    table((counted.field, "passages"), [(plain(str(bucket.value)), bucket.count) for bucket in counted.buckets])


def paths(graph: Graph, what: str) -> None:
    """The ways from one entity to another, a line each."""
    if not graph.paths:
        print(f"{what}: no way within {MAX_HOPS} steps")
    for path in graph.paths:
        print(" → ".join(path))


def neighbours(entity: str, graph: Graph) -> None:
    """What an entity stands together with, most often first."""
    known = {node.id: node for node in graph.nodes}
    here = next((node for node in graph.nodes if node.id.casefold() == entity.casefold()), None)
    if here:
        print(f"{here.id} ({here.type}) stands in {many(here.count, 'passage')}")
    rows = [(known[_other(edge, entity)], edge.count) for edge in graph.edges]
    if not rows:
        print("No other entity stands with it.")
        return
    table(("with", "type", "together in"), [(node.id, node.type, count) for node, count in rows])


def summary(made: Summary) -> None:
    """A document's summary and what is known of it."""
    pages = many(made.document.pages, "page") if made.document.pages else ""
    print(
        _joined(
            made.document.title, ", ".join(filter(None, (pages, many(made.chunks, "passage")))), made.document.source
        )
    )
    print(f"\n{fill(plain(made.text), 100)}\n\nSummary: {made.origin}")
    if made.entities:
        print("Entities: " + ", ".join(f"{entity.value} ({entity.type})" for entity in made.entities[:20]))


def claim(checked: Claim) -> None:
    """A sentence, whether it is borne out, and by which words of which document."""
    print(f"{MARKS[checked.verdict]} {checked.verdict}: {plain(checked.text)}")
    for citation in checked.citations:
        print(_indented(_quoted(citation)))


def _other(edge: Edge, entity: str) -> str:
    return edge.target if edge.source.casefold() == entity.casefold() else edge.source


def _joined(title: str, stand: str, source: str) -> str:
    path = Path(source)
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return " · ".join(filter(None, (plain(title), stand, plain(str(near)))))


def _score(hit: Hit) -> str:
    """What the order is by: the grade (0 to 10), else the semantic ranker's score, else that of the search."""
    judged = {"grade": "{:.1f} of 10", "semantic": "{:.2f}"}
    return next((form.format(hit.signals[by]) for by, form in judged.items() if by in hit.signals), f"{hit.score:.4f}")


def _gist(hit: Hit) -> str:
    flat = plain(hit.captions[0].text if hit.captions else hit.chunk.content)
    return flat if len(flat) <= 280 else flat[:279].rsplit(" ", 1)[0] + " …"


def _quoted(citation: Citation) -> str:
    stand = _joined(citation.title, place(citation.place), citation.source)
    return f"“{plain(citation.quote)}” — {stand} ({citation.score:.2f})"


def _indented(text: str) -> str:
    return fill(text, 100, initial_indent="     ", subsequent_indent="     ")

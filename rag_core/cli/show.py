"""Formatting of results for the terminal."""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from rag_core.answering.citation_styles import Style, cited, marked, numbered, place_of, plain, where
from rag_core.cli.files import Outcome
from rag_core.core.model import (
    Answer,
    Chunk,
    Citation,
    Claim,
    Document,
    Edge,
    Evidence,
    Facet,
    Graph,
    Hit,
    Result,
    SavedQuery,
)
from rag_core.core.run import Run
from rag_core.ingestion.plan import Plan, Tariff, dollars
from rag_core.proposals.ingest import Ingested
from rag_core.retrieval.graph import MAX_HOPS
from rag_core.service import Summary
from rag_core.workbench.runs import Moved, Placed, Replay

NAMED = 20  # names of skipped proposals that are shown
NONE_KEPT = "No saved queries. With RAG_KEEP_RUNS=1 queries are saved."
MARKS = {"verified": "✓", "partial": "~", "unsupported": "✗"}
ORIGINS = {"model": "Written by a model from these passages.", "extractive": "In the documents' own sentences."}


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows below their headings; columns of numbers are right-aligned."""
    rich_table = Table(box=None, pad_edge=False, header_style="bold")
    for column, heading in enumerate(heads):
        is_numeric = all(isinstance(row[column], int | float) for row in rows)
        rich_table.add_column(heading, justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*(str(cell) for cell in row))
    Console(markup=False, highlight=False).print(rich_table)


def progress(stream: TextIO) -> Progress:
    """Create a progress bar, which shows nothing when the stream is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty())


def counting(bar: Progress) -> Callable[[str, int, int], None]:
    """Create a callback that reports progress by name, done and total, with one bar per name."""
    task_ids: dict[str, TaskID] = {}

    def report(name: str, done: int, total: int) -> None:
        if name not in task_ids:
            task_ids[name] = bar.add_task(name)
        bar.update(task_ids[name], completed=done, total=total)

    return report


def outcome(found: Outcome, bar: Progress, *, planned: bool) -> None:
    """Print the outcome of a file; on a terminal, or in a plan, only when it was skipped or refused."""
    if (bar.disable and not planned) or found.verdict in ("skipped", "refused"):
        bar.console.print(
            f"{found.verdict:<9} {found.path}: {plain(found.note)}", markup=False, highlight=False, soft_wrap=True
        )


def plan(made: Plan) -> None:
    """Print the plan of an indexing: a line per document that would change, the totals and the cost."""
    for step in made.steps:
        if step.action != "skip":
            size = f"{many(step.chunks, 'passage')}, {step.tokens:,} tokens"
            print(f"{step.action:<9} {_joined(step.document.title, size, step.document.source)}")
    print(", ".join(f"{count} to {action}" for action, count in made.counts.items()))
    print(f"{many(made.pages, 'page')}, {many(made.chunks, 'passage')}")
    print(f"To embed: {price(made.tokens, made.tariff)}")


def price(tokens: int, tariff: Tariff) -> str:
    """Format a number of tokens with their model and price."""
    usd = tariff.usd(tokens)
    cost = "at an unknown price" if usd is None else f"for {dollars(usd)} USD"
    return f"{tokens:,} tokens by {tariff.model}, {cost}"


def used(tokens: int, tariff: Tariff) -> None:
    """Print the number and price of the embedded tokens, unless it is 0."""
    if tokens:
        print(f"Used: {price(tokens, tariff)}")


def ingested(done: Ingested, planned: Plan | None) -> None:
    """Print the result or the plan of an ingestion, and the proposals that were refused or skipped."""
    for failure in done.failed:
        print(f"refused   {plain(failure)}")
    print(f"{many(done.proposals, 'proposal')}: {many(done.documents, 'document')}, {many(done.chunks, 'passage')}")
    counts = {name: getattr(done, name) for name in ("embedded", "unchanged", "removed", "cleared")}
    if planned:
        plan(planned)
    else:
        print(", ".join(f"{count} {name}" for name, count in counts.items()))
    if done.skipped:
        print(f"{len(done.skipped)} without a stage: {plain(', '.join(done.skipped[:NAMED]))}")


def result(found: Result, pipeline: str, run: Run) -> None:
    """Print the result of a pipeline: its hits, best first, a semantic answer and facets."""
    variants = f" · queries: {', '.join(variant.label for variant in found.asked)}" if found.asked else ""
    count = "" if found.facets and not found.hits else f": {many(len(found.hits), 'passage')}"
    print(f"{pipeline}{count}{variants} · {1000 * (run.within_s - run.remaining_s):.0f} ms")
    for rank, hit in enumerate(found.hits, start=1):
        print(f"\n{rank:>3}. {_score(hit)}  {stand(hit.chunk)}\n{_indented(_gist(hit))}")
    for answer in found.answers[:1]:
        print(f"\nPossible answer ({answer.score:.2f}):\n{_indented(plain(answer.text))}")
    for counted in found.facets:
        facet(counted)


def diary(run: Run) -> None:
    """Print the techniques, token usage, degradations and warnings of a run."""
    if run.techniques:
        print("\nTechniques: " + "; ".join(f"{step}: {technique}" for step, technique in run.techniques.items()))
    if run.input_tokens:
        cost = "at an unknown price" if run.cost_usd is None else f"for {run.cost_usd:.6f} USD"
        print(f"Used: {run.input_tokens} tokens in, {run.output_tokens} out, {cost}")
    for degradation in run.degraded:
        print(f"Degraded: {degradation.step}: {degradation.reason} (instead: {degradation.fallback})")
    for warning in run.warnings:
        print(f"Note: {warning.message}")


def stand(chunk: Chunk) -> str:
    """Format the title, page, lines and source of a chunk."""
    return _joined(chunk.title, where(chunk.place(0, len(chunk.content))), chunk.source)


def many(count: int, noun: str) -> str:
    """Format a count with its noun, as in "1 passage" and "2 passages"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def documents(listed: Sequence[Document]) -> None:
    """Print a line per document, with the time of deletion of a deleted one."""
    for document in listed:
        deletion = f"deleted {document.deleted_at}" if document.deleted_at else ""
        print(f"{document.id}  {_joined(plain(document.title), deletion, document.source)}")
    if not listed:
        print("No documents.")


def log(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the entries of the query log as a table."""
    heads = ("when", "workflow", "user", "preset", "status", "confidence", "query")
    names = ("created_at", "workflow_id", "user_id", "preset", "status", "confidence", "query")
    table(heads, [[plain(str("" if entry[name] is None else entry[name])) for name in names] for entry in entries])


def kept(told: Mapping[str, int | None]) -> None:
    """Print the id under which a query was saved, if it was."""
    if id := told.get("kept"):
        print(f"Saved: rag replay {id} --preset NAME compares it with another preset.")


def replayable(kept: Sequence[SavedQuery]) -> None:
    """Print a line per saved query that has a ranking, newest first."""
    ranked = [query for query in kept if query.retrieved_context is not None]
    rows = [
        (query.id, query.created_at[:16], query.origin, query.preset.get("name", ""), plain(query.original_query))
        for query in ranked
    ]
    table(("id", "when", "origin", "preset", "question"), rows) if rows else print(NONE_KEPT)


def replayed(compared: Replay) -> None:
    """Print the two rankings side by side, and the change of rank of each passage of the new one."""
    moves_by_chunk = {moved.chunk_id: moved for moved in compared.moved}
    rows = [
        (rank, _placed(before), _placed(after), _move(moves_by_chunk.get(after.chunk_id)) if after else "")
        for rank, (before, after) in enumerate(
            zip_longest(compared.before.ranking, compared.after.ranking, fillvalue=None), start=1
        )
    ]
    names = [str(side.preset.get("name", "")) for side in (compared.before, compared.after)]
    table(("rank", f"saved: {names[0]}", f"now: {names[1]}", "moved"), rows)
    lost_count = sum(moved.after is None for moved in compared.moved)
    print(f"\nOverlap of the first ten: {compared.overlap_at_10:.0%}. No longer found: {lost_count}.")


def _placed(hit: Placed | None) -> str:
    if hit is None:
        return ""
    parts = (plain(hit.title), f"page {hit.page}" if hit.page else "", plain(" › ".join(hit.section[-1:])))
    return f"{' · '.join(filter(None, parts))} ({hit.score:.3f})"


def _move(moved: Moved | None) -> str:
    if moved is None:
        return "="
    if moved.before is None or moved.after is None:
        return "new"
    return f"{'↑' if moved.after < moved.before else '↓'}{abs(moved.after - moved.before)}"


def facet(counted: Facet) -> None:
    """Print the values of a field with their counts; the total includes values that are not shown."""
    limit_note = f", the {len(counted.buckets)} most frequent" if len(counted.buckets) < counted.total else ""
    print(f"{counted.field}: {many(counted.total, 'distinct value')}{limit_note}")
    table((counted.field, "passages"), [(plain(str(bucket.value)), bucket.count) for bucket in counted.buckets])


def paths(graph: Graph, what: str) -> None:
    """Print the paths between two entities, one per line."""
    if not graph.paths:
        print(f"{what}: no path within {MAX_HOPS} steps")
    for path in graph.paths:
        print(" → ".join(path))


def neighbours(entity: str, graph: Graph) -> None:
    """Print the entities that occur together with an entity, most frequent first."""
    node_by_id = {node.id: node for node in graph.nodes}
    entity_node = next((node for node in graph.nodes if node.id.casefold() == entity.casefold()), None)
    if entity_node:
        print(f"{entity_node.id} ({entity_node.type}) occurs in {many(entity_node.count, 'passage')}")
    rows = [(node_by_id[_other(edge, entity)], edge.count) for edge in graph.edges]
    if not rows:
        print("No other entity occurs with it.")
        return
    table(("entity", "type", "passages in common"), [(node.id, node.type, count) for node, count in rows])


def summary(made: Summary) -> None:
    """Print a document's summary with its size, its origin and its entities."""
    pages = many(made.document.pages, "page") if made.document.pages else ""
    print(
        _joined(
            made.document.title, ", ".join(filter(None, (pages, many(made.chunks, "passage")))), made.document.source
        )
    )
    print(f"\n{_wrapped(made.text)}\n\nSummary: {made.origin}")
    if made.entities:
        print("Entities: " + ", ".join(f"{entity.value} ({entity.type})" for entity in made.entities[:20]))


def answer(given: Answer, style: Style) -> None:
    """Print an answer with its sources and confidence, or, when it is unknown, the nearest passages."""
    print(_wrapped(marked(given, style)))
    if given.status == "unknown":
        nearest(given.evidence)
        return
    sources(given.claims)
    inputs = ", ".join(f"{name} {value:.2f}" for name, value in given.confidence.inputs.items())
    confidence = f"Confidence {given.confidence.value:.2f} = {given.confidence.formula.partition('. ')[0]}: {inputs}"
    print(f"\n{ORIGINS[given.origin]}\n{_indented(confidence, '  ', first='')}")


def sources(claims: Sequence[Claim]) -> None:
    """Print each cited passage once, by number: the verdict, the place and the quote."""
    numbers, printed_numbers = numbered(claims), set[int]()
    print("\nSources")
    for claim in claims:
        for number, citation in cited(claim, numbers):
            if number not in printed_numbers:
                printed_numbers.add(number)
                heading = f"{_verdict(claim)} · {_cited(citation)}"
                print(
                    _indented(heading, first=f"{f'[{number}]':>4} "), _indented(f"“{plain(citation.quote)}”"), sep="\n"
                )


def nearest(passages: Sequence[Evidence]) -> None:
    """Print the passages nearest to a question that has no answer."""
    if passages:
        print("\nThe nearest passages")
    for rank, passage in enumerate(passages, start=1):
        chunk = passage.hit.chunk
        print(_indented(_joined(chunk.title, where(place_of(passage)), chunk.source), first=f"{rank:>3}. "))
        print(_indented(_shortened(passage.text)))


def claim(checked: Claim) -> None:
    """Print a claim with its verdict and citations."""
    print(_indented(f"{_verdict(checked)}: {plain(checked.text)}", "  ", first=""))
    for citation in checked.citations:
        print(_indented(_quoted(citation)))


def _verdict(checked: Claim) -> str:
    differences = f" (differs: {plain(', '.join(checked.reasons))})" if checked.reasons else ""
    return f"{MARKS[checked.verdict]} {checked.verdict}{differences}"


def _other(edge: Edge, entity: str) -> str:
    return edge.target if edge.source.casefold() == entity.casefold() else edge.source


def _joined(title: str, stand: str, source: str) -> str:
    path = Path(source)
    displayed_path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return " · ".join(filter(None, (plain(title), stand, plain(str(displayed_path)))))


def _score(hit: Hit) -> str:
    """Format the score that orders the hits: the grade (0 to 10), else the cross-encoder's, else the search's."""
    formats = {"grade": "{:.1f} of 10", "semantic": "{:.2f}"}
    return next(
        (score_format.format(hit.signals[signal]) for signal, score_format in formats.items() if signal in hit.signals),
        f"{hit.score:.4f}",
    )


def _gist(hit: Hit) -> str:
    return _shortened(hit.captions[0].text if hit.captions else hit.chunk.content)


def _shortened(text: str) -> str:
    line = plain(text)
    return line if len(line) <= 280 else line[:279].rsplit(" ", 1)[0] + " …"


def _quoted(citation: Citation) -> str:
    return f"“{plain(citation.quote)}” — {_cited(citation)} ({citation.score:.2f})"


def _cited(citation: Citation) -> str:
    section = " › ".join(heading for heading in citation.section if heading != citation.title)
    places = (where(citation.place, citation.page_label), plain(section))
    return _joined(citation.title, " · ".join(filter(None, places)), citation.source)


def _wrapped(text: str) -> str:
    """Wrap each line of a text to the width of the terminal."""
    return "\n".join(_indented(plain(line), "") for line in text.splitlines())


def _indented(text: str, indent: str = "     ", *, first: str | None = None) -> str:
    """Wrap and indent a text to the terminal's width, at most 100 columns; file names stay whole for copying."""
    width = min(100, get_terminal_size().columns)
    initial_indent = indent if first is None else first
    return fill(
        text,
        width,
        initial_indent=initial_indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )

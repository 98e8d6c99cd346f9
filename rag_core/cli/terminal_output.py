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

from rag_core.answering.citation_styles import (
    CitationStyle,
    format_place,
    insert_citation_marks,
    list_numbered_citations,
    number_citations,
    to_printable_line,
)
from rag_core.answering.summaries import Summary
from rag_core.cli.input_files import FileOutcome
from rag_core.core.model import (
    Answer,
    Chunk,
    Citation,
    Claim,
    Document,
    EntityGraph,
    Evidence,
    Facet,
    GraphEdge,
    Hit,
    SavedQuery,
    SearchResult,
)
from rag_core.core.run import Run
from rag_core.ingestion.plan import IndexingPlan, Tariff, format_usd
from rag_core.proposals.ingest import IngestionReport
from rag_core.retrieval.graph import MAX_PATH_HOPS
from rag_core.workbench.saved_runs import RankChange, RankedPassage, Replay, SavedRunFields

MAX_LISTED_PROPOSALS = 20  # names of skipped proposals that are shown
NO_SAVED_QUERIES = "No saved queries. With RAG_KEEP_RUNS=1 queries are saved."
VERDICT_MARKS = {"verified": "✓", "partial": "~", "unsupported": "✗"}
ORIGIN_NOTES = {"model": "Written by a model from these passages.", "extractive": "In the documents' own sentences."}


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows below their headings; columns of numbers are right-aligned."""
    rich_table = Table(box=None, pad_edge=False, header_style="bold")
    for column, heading in enumerate(heads):
        is_numeric = all(isinstance(row[column], int | float) for row in rows)
        rich_table.add_column(heading, justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*(str(cell) for cell in row))
    Console(markup=False, highlight=False).print(rich_table)


def create_progress_bar(stream: TextIO) -> Progress:
    """Create a progress bar, which shows nothing when the stream is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty())


def create_progress_callback(bar: Progress) -> Callable[[str, int, int], None]:
    """Create a callback that reports progress by name, done and total, with one bar per name."""
    task_ids: dict[str, TaskID] = {}

    def report(name: str, done: int, total: int) -> None:
        if name not in task_ids:
            task_ids[name] = bar.add_task(name)
        bar.update(task_ids[name], completed=done, total=total)

    return report


def print_file_outcome(outcome: FileOutcome, bar: Progress, *, is_plan: bool) -> None:
    """Print the outcome of a file; on a terminal, or in a plan, only when it was skipped or refused."""
    if (bar.disable and not is_plan) or outcome.status in ("skipped", "refused"):
        bar.console.print(
            f"{outcome.status:<9} {outcome.path}: {to_printable_line(outcome.note)}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def print_indexing_plan(plan: IndexingPlan) -> None:
    """Print the plan of an indexing: a line per document that would change, the totals and the cost."""
    for step in plan.documents:
        if step.action != "skip":
            size = f"{format_count(step.chunk_count, 'passage')}, {step.token_count:,} tokens"
            print(f"{step.action:<9} {_join_source_parts(step.document.title, size, step.document.source)}")
    print(", ".join(f"{count} to {action}" for action, count in plan.action_counts.items()))
    print(f"{format_count(plan.page_count, 'page')}, {format_count(plan.chunk_count, 'passage')}")
    print(f"To embed: {format_token_price(plan.token_count, plan.tariff)}")


def format_token_price(tokens: int, tariff: Tariff) -> str:
    """Format a number of tokens with their model and price."""
    usd = tariff.price_usd(tokens)
    cost = "at an unknown price" if usd is None else f"for {format_usd(usd)} USD"
    return f"{tokens:,} tokens by {tariff.model}, {cost}"


def print_embedding_price(tokens: int, tariff: Tariff) -> None:
    """Print the number and price of the embedded tokens, unless it is 0."""
    if tokens:
        print(f"Used: {format_token_price(tokens, tariff)}")


def print_ingestion(result: IngestionReport, plan: IndexingPlan | None) -> None:
    """Print the result or the plan of an ingestion, and the proposals that were refused or skipped."""
    for failure in result.failed:
        print(f"refused   {to_printable_line(failure)}")
    documents, passages = format_count(result.documents, "document"), format_count(result.chunks, "passage")
    print(f"{format_count(result.proposals, 'proposal')}: {documents}, {passages}")
    counts = {name: getattr(result, name) for name in ("embedded", "unchanged", "removed", "cleared")}
    if plan:
        print_indexing_plan(plan)
    else:
        print(", ".join(f"{count} {name}" for name, count in counts.items()))
    if result.skipped:
        listed = ", ".join(result.skipped[:MAX_LISTED_PROPOSALS])
        print(f"{len(result.skipped)} without a stage: {to_printable_line(listed)}")


def print_search_result(result: SearchResult, pipeline: str, run: Run) -> None:
    """Print the result of a pipeline: its hits, best first, a semantic answer and facets."""
    variants = f" · queries: {', '.join(variant.label for variant in result.variants)}" if result.variants else ""
    count = "" if result.facets and not result.hits else f": {format_count(len(result.hits), 'passage')}"
    print(f"{pipeline}{count}{variants} · {1000 * (run.within_s - run.remaining_s):.0f} ms")
    for rank, hit in enumerate(result.hits, start=1):
        print(f"\n{rank:>3}. {_format_hit_score(hit)}  {format_chunk_location(hit.chunk)}")
        print(_indent_for_terminal(_format_hit_excerpt(hit)))
    for answer in result.answers[:1]:
        print(f"\nPossible answer ({answer.score:.2f}):\n{_indent_for_terminal(to_printable_line(answer.text))}")
    for counted in result.facets:
        print_facet(counted)


def print_run(run: Run) -> None:
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


def format_chunk_location(chunk: Chunk) -> str:
    """Format the title, page, lines and source of a chunk."""
    return _join_source_parts(chunk.title, format_place(chunk.place), chunk.source)


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun, as in "1 passage" and "2 passages"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def print_documents(documents: Sequence[Document]) -> None:
    """Print a line per document, with the time of deletion of a deleted one."""
    for document in documents:
        deletion = f"deleted {document.deleted_at}" if document.deleted_at else ""
        print(f"{document.id}  {_join_source_parts(to_printable_line(document.title), deletion, document.source)}")
    if not documents:
        print("No documents.")


def print_query_log(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the entries of the query log as a table."""
    heads = ("when", "workflow", "user", "preset", "status", "confidence", "query")
    names = ("created_at", "workflow_id", "user_id", "preset", "status", "confidence", "query")
    print_table(
        heads,
        [[to_printable_line(str("" if entry[name] is None else entry[name])) for name in names] for entry in entries],
    )


def print_saved_query_hint(saved_ids: SavedRunFields) -> None:
    """Print the id under which a query was saved, if it was."""
    if id := saved_ids.get("kept"):
        print(f"Saved: rag replay {id} --preset NAME compares it with another preset.")


def print_saved_queries(saved_queries: Sequence[SavedQuery]) -> None:
    """Print a line per saved query that has a ranking, newest first."""
    ranked = [query for query in saved_queries if query.retrieved_context is not None]
    rows = [
        (
            query.id,
            query.created_at[:16],
            query.origin,
            query.preset.get("name", ""),
            to_printable_line(query.original_query),
        )
        for query in ranked
    ]
    print_table(("id", "when", "origin", "preset", "question"), rows) if rows else print(NO_SAVED_QUERIES)


def print_replay(replay: Replay) -> None:
    """Print the two rankings side by side, and the change of rank of each passage of the new one."""
    moves_by_chunk = {moved.chunk_id: moved for moved in replay.moved}
    rows = [
        (
            rank,
            _format_ranked_passage(before),
            _format_ranked_passage(after),
            _format_rank_change(moves_by_chunk.get(after.chunk_id)) if after else "",
        )
        for rank, (before, after) in enumerate(
            zip_longest(replay.before.ranking, replay.after.ranking, fillvalue=None), start=1
        )
    ]
    names = [str(side.preset.get("name", "")) for side in (replay.before, replay.after)]
    print_table(("rank", f"saved: {names[0]}", f"now: {names[1]}", "moved"), rows)
    lost_count = sum(moved.after is None for moved in replay.moved)
    print(f"\nOverlap of the first ten: {replay.overlap_at_10:.0%}. No longer found: {lost_count}.")


def _format_ranked_passage(hit: RankedPassage | None) -> str:
    if hit is None:
        return ""
    parts = (
        to_printable_line(hit.title),
        f"page {hit.page}" if hit.page else "",
        to_printable_line(" › ".join(hit.section[-1:])),
    )
    return f"{' · '.join(filter(None, parts))} ({hit.score:.3f})"


def _format_rank_change(moved: RankChange | None) -> str:
    if moved is None:
        return "="
    if moved.before is None or moved.after is None:
        return "new"
    return f"{'↑' if moved.after < moved.before else '↓'}{abs(moved.after - moved.before)}"


def print_facet(facet: Facet) -> None:
    """Print the values of a field with their counts; the total includes values that are not shown."""
    limit_note = f", the {len(facet.buckets)} most frequent" if len(facet.buckets) < facet.total else ""
    print(f"{facet.field}: {format_count(facet.total, 'distinct value')}{limit_note}")
    print_table(
        (facet.field, "passages"), [(to_printable_line(str(bucket.value)), bucket.count) for bucket in facet.buckets]
    )


def print_graph_paths(graph: EntityGraph, title: str) -> None:
    """Print the paths between two entities, one per line."""
    if not graph.paths:
        print(f"{title}: no path within {MAX_PATH_HOPS} steps")
    for path in graph.paths:
        print(" → ".join(path))


def print_graph_neighbours(entity: str, graph: EntityGraph) -> None:
    """Print the entities that occur together with an entity, most frequent first."""
    node_by_id = {node.id: node for node in graph.nodes}
    entity_node = next((node for node in graph.nodes if node.id.casefold() == entity.casefold()), None)
    if entity_node:
        print(f"{entity_node.id} ({entity_node.type}) occurs in {format_count(entity_node.count, 'passage')}")
    rows = [(node_by_id[_get_other_entity(edge, entity)], edge.count) for edge in graph.edges]
    if not rows:
        print("No other entity occurs with it.")
        return
    print_table(("entity", "type", "passages in common"), [(node.id, node.type, count) for node, count in rows])


def print_document_summary(summary: Summary) -> None:
    """Print a document's summary with its size, its origin and its entities."""
    pages = format_count(summary.document.pages, "page") if summary.document.pages else ""
    print(
        _join_source_parts(
            summary.document.title,
            ", ".join(filter(None, (pages, format_count(summary.chunks, "passage")))),
            summary.document.source,
        )
    )
    print(f"\n{_wrap_for_terminal(summary.text)}\n\nSummary: {summary.origin}")
    if summary.entities:
        print("Entities: " + ", ".join(f"{entity.value} ({entity.type})" for entity in summary.entities[:20]))


def print_answer(answer: Answer, style: CitationStyle) -> None:
    """Print an answer with its sources and confidence, or, when it is unknown, the nearest passages."""
    print(_wrap_for_terminal(insert_citation_marks(answer, style)))
    if answer.status == "unknown":
        print_nearest_passages(answer.evidence)
        return
    print_answer_sources(answer.claims)
    inputs = ", ".join(f"{name} {value:.2f}" for name, value in answer.confidence.inputs.items())
    confidence = f"Confidence {answer.confidence.value:.2f} = {answer.confidence.formula.partition('. ')[0]}: {inputs}"
    print(f"\n{ORIGIN_NOTES[answer.origin]}\n{_indent_for_terminal(confidence, '  ', first='')}")


def print_answer_sources(claims: Sequence[Claim]) -> None:
    """Print each cited passage once, by number: the verdict, the place and the quote."""
    numbers, printed_numbers = number_citations(claims), set[int]()
    print("\nSources")
    for claim in claims:
        for number, citation in list_numbered_citations(claim, numbers):
            if number not in printed_numbers:
                printed_numbers.add(number)
                heading = f"{_format_verdict(claim)} · {_format_citation_source(citation)}"
                print(
                    _indent_for_terminal(heading, first=f"{f'[{number}]':>4} "),
                    _indent_for_terminal(f"“{to_printable_line(citation.quote)}”"),
                    sep="\n",
                )


def print_nearest_passages(passages: Sequence[Evidence]) -> None:
    """Print the passages nearest to a question that has no answer."""
    if passages:
        print("\nThe nearest passages")
    for rank, passage in enumerate(passages, start=1):
        chunk = passage.hit.chunk
        print(
            _indent_for_terminal(
                _join_source_parts(chunk.title, format_place(passage.place), chunk.source),
                first=f"{rank:>3}. ",
            )
        )
        print(_indent_for_terminal(_shorten_for_terminal(passage.text)))


def print_claim(claim: Claim) -> None:
    """Print a claim with its verdict and citations."""
    print(_indent_for_terminal(f"{_format_verdict(claim)}: {to_printable_line(claim.text)}", "  ", first=""))
    for citation in claim.citations:
        print(_indent_for_terminal(_format_quotation(citation)))


def _format_verdict(claim: Claim) -> str:
    differences = f" (differs: {to_printable_line(', '.join(claim.reasons))})" if claim.reasons else ""
    return f"{VERDICT_MARKS[claim.verdict]} {claim.verdict}{differences}"


def _get_other_entity(edge: GraphEdge, entity: str) -> str:
    return edge.target if edge.source.casefold() == entity.casefold() else edge.source


def _join_source_parts(title: str, location: str, source: str) -> str:
    path = Path(source)
    displayed_path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return " · ".join(filter(None, (to_printable_line(title), location, to_printable_line(str(displayed_path)))))


def _format_hit_score(hit: Hit) -> str:
    """Format the score that orders the hits: the grade (0 to 10), else the cross-encoder's, else the search's."""
    formats = {"grade": "{:.1f} of 10", "semantic": "{:.2f}"}
    return next(
        (score_format.format(hit.signals[signal]) for signal, score_format in formats.items() if signal in hit.signals),
        f"{hit.score:.4f}",
    )


def _format_hit_excerpt(hit: Hit) -> str:
    return _shorten_for_terminal(hit.captions[0].text if hit.captions else hit.chunk.content)


def _shorten_for_terminal(text: str) -> str:
    line = to_printable_line(text)
    return line if len(line) <= 280 else line[:279].rsplit(" ", 1)[0] + " …"


def _format_quotation(citation: Citation) -> str:
    return f"“{to_printable_line(citation.quote)}” — {_format_citation_source(citation)} ({citation.score:.2f})"


def _format_citation_source(citation: Citation) -> str:
    section = " › ".join(heading for heading in citation.section if heading != citation.title)
    places = (format_place(citation.place, citation.page_label), to_printable_line(section))
    return _join_source_parts(citation.title, " · ".join(filter(None, places)), citation.source)


def _wrap_for_terminal(text: str) -> str:
    """Wrap each line of a text to the width of the terminal."""
    return "\n".join(_indent_for_terminal(to_printable_line(line), "") for line in text.splitlines())


def _indent_for_terminal(text: str, indent: str = "     ", *, first: str | None = None) -> str:
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

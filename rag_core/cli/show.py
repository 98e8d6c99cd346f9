"""How results read on a terminal."""

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

NAMED = 20  # of the proposals that were skipped
NONE_KEPT = "None. With RAG_KEEP_RUNS=1 what is asked is kept."
MARKS = {"verified": "✓", "partial": "~", "unsupported": "✗"}
ORIGINS = {"model": "Written by a model from these passages.", "extractive": "In the documents' own sentences."}


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


def outcome(found: Outcome, bar: Progress, *, planned: bool) -> None:
    """A line for what became of a file; on a terminal the bar speaks for those that went well, as a plan does."""
    if (bar.disable and not planned) or found.verdict in ("skipped", "refused"):
        bar.console.print(
            f"{found.verdict:<9} {found.path}: {plain(found.note)}", markup=False, highlight=False, soft_wrap=True
        )


def plan(made: Plan) -> None:
    """What indexing would do, document by document where it would do anything, and what it would cost."""
    for step in made.steps:
        if step.action != "skip":
            what = f"{many(step.chunks, 'passage')}, {step.tokens:,} tokens"
            print(f"{step.action:<9} {_joined(step.document.title, what, step.document.source)}")
    print(", ".join(f"{count} to {action}" for action, count in made.counts.items()))
    print(f"{many(made.pages, 'page')}, {many(made.chunks, 'passage')}")
    print(f"To embed: {price(made.tokens, made.tariff)}")


def price(tokens: int, tariff: Tariff) -> str:
    """Tokens, whose, and what they cost."""
    usd = tariff.usd(tokens)
    cost = "at a price that is not known" if usd is None else f"for {dollars(usd)} USD"
    return f"{tokens:,} tokens by {tariff.model}, {cost}"


def used(tokens: int, tariff: Tariff) -> None:
    """What was embedded, if anything was."""
    if tokens:
        print(f"Used: {price(tokens, tariff)}")


def ingested(done: Ingested, planned: Plan | None) -> None:
    """What became of the proposals, or would, and each that was left out."""
    for left in done.failed:
        print(f"refused   {plain(left)}")
    print(f"{many(done.proposals, 'proposal')}: {many(done.documents, 'document')}, {many(done.chunks, 'passage')}")
    counts = {name: getattr(done, name) for name in ("embedded", "unchanged", "removed", "cleared")}
    if planned:
        plan(planned)
    else:
        print(", ".join(f"{count} {name}" for name, count in counts.items()))
    if done.skipped:
        print(f"{len(done.skipped)} without a stage: {plain(', '.join(done.skipped[:NAMED]))}")


def result(found: Result, pipeline: str, run: Run) -> None:
    """What a pipeline found, best first, and how."""
    asked = f" · asked: {', '.join(asked.label for asked in found.asked)}" if found.asked else ""
    what = "" if found.facets and not found.hits else f": {many(len(found.hits), 'passage')}"
    print(f"{pipeline}{what}{asked} · {1000 * (run.within_s - run.remaining_s):.0f} ms")
    for rank, hit in enumerate(found.hits, start=1):
        print(f"\n{rank:>3}. {_score(hit)}  {stand(hit.chunk)}\n{_indented(_gist(hit))}")
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


def stand(chunk: Chunk) -> str:
    """Title, page, lines and source of a passage."""
    return _joined(chunk.title, where(chunk.place(0, len(chunk.content))), chunk.source)


def many(count: int, noun: str) -> str:
    """ "1 passage", "2 passages"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def documents(listed: Sequence[Document]) -> None:
    """A line a document; of the deleted also when."""
    for known in listed:
        when = f"deleted {known.deleted_at}" if known.deleted_at else ""
        print(f"{known.id}  {_joined(plain(known.title), when, known.source)}")
    if not listed:
        print("None.")


def log(entries: Sequence[Mapping[str, Any]]) -> None:
    """A line a question."""
    heads = ("when", "workflow", "user", "preset", "status", "confidence", "query")
    names = ("created_at", "workflow_id", "user_id", "preset", "status", "confidence", "query")
    table(heads, [[plain(str("" if entry[name] is None else entry[name])) for name in names] for entry in entries])


def kept(told: Mapping[str, int | None]) -> None:
    """Under which number a call was kept, if it was."""
    if id := told.get("kept"):
        print(f"Kept: rag replay {id} --preset NAME compares it with another preset.")


def replayable(kept: Sequence[SavedQuery]) -> None:
    """A line a question that has a ranking, newest first."""
    ranked = [query for query in kept if query.retrieved_context is not None]
    rows = [
        (query.id, query.created_at[:16], query.origin, query.preset.get("name", ""), plain(query.original_query))
        for query in ranked
    ]
    table(("id", "when", "origin", "preset", "question"), rows) if rows else print(NONE_KEPT)


def replayed(compared: Replay) -> None:
    """The two rankings side by side, and how each passage of the new one has moved."""
    moves = {moved.chunk_id: moved for moved in compared.moved}
    rows = [
        (rank, _placed(before), _placed(after), _move(moves.get(after.chunk_id)) if after else "")
        for rank, (before, after) in enumerate(
            zip_longest(compared.before.ranking, compared.after.ranking, fillvalue=None), start=1
        )
    ]
    names = [str(side.preset.get("name", "")) for side in (compared.before, compared.after)]
    table(("rank", f"kept: {names[0]}", f"now: {names[1]}", "moved"), rows)
    gone = sum(moved.after is None for moved in compared.moved)
    print(f"\nIn common of the first ten: {compared.overlap_at_10:.0%}. No longer found: {gone}.")


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
    print(f"\n{_wrapped(made.text)}\n\nSummary: {made.origin}")
    if made.entities:
        print("Entities: " + ", ".join(f"{entity.value} ({entity.type})" for entity in made.entities[:20]))


def answer(given: Answer, style: Style) -> None:
    """An answer, the words of the documents that bear it out, and how far to rely on it; else the nearest passages."""
    print(_wrapped(marked(given, style)))
    if given.status == "unknown":
        nearest(given.evidence)
        return
    sources(given.claims)
    inputs = ", ".join(f"{name} {value:.2f}" for name, value in given.confidence.inputs.items())
    sure = f"Confidence {given.confidence.value:.2f} = {given.confidence.formula.partition('. ')[0]}: {inputs}"
    print(f"\n{ORIGINS[given.origin]}\n{_indented(sure, '  ', first='')}")


def sources(claims: Sequence[Claim]) -> None:
    """Each cited passage once, by number: whether it bears its sentence out, where it stands, its words."""
    numbers, shown = numbered(claims), set[int]()
    print("\nSources")
    for checked in claims:
        for number, citation in cited(checked, numbers):
            if number not in shown:
                shown.add(number)
                head = f"{_verdict(checked)} · {_cited(citation)}"
                print(_indented(head, first=f"{f'[{number}]':>4} "), _indented(f"“{plain(citation.quote)}”"), sep="\n")


def nearest(passages: Sequence[Evidence]) -> None:
    """The passages that come nearest to a question without an answer."""
    if passages:
        print("\nThe nearest passages")
    for rank, passage in enumerate(passages, start=1):
        chunk = passage.hit.chunk
        print(_indented(_joined(chunk.title, where(place_of(passage)), chunk.source), first=f"{rank:>3}. "))
        print(_indented(_shortened(passage.text)))


def claim(checked: Claim) -> None:
    """A sentence, whether it is borne out, and by which words of which document."""
    print(_indented(f"{_verdict(checked)}: {plain(checked.text)}", "  ", first=""))
    for citation in checked.citations:
        print(_indented(_quoted(citation)))


def _verdict(checked: Claim) -> str:
    why = f" (differs: {plain(', '.join(checked.reasons))})" if checked.reasons else ""
    return f"{MARKS[checked.verdict]} {checked.verdict}{why}"


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
    return _shortened(hit.captions[0].text if hit.captions else hit.chunk.content)


def _shortened(text: str) -> str:
    flat = plain(text)
    return flat if len(flat) <= 280 else flat[:279].rsplit(" ", 1)[0] + " …"


def _quoted(citation: Citation) -> str:
    return f"“{plain(citation.quote)}” — {_cited(citation)} ({citation.score:.2f})"


def _cited(citation: Citation) -> str:
    section = " › ".join(heading for heading in citation.section if heading != citation.title)
    places = (where(citation.place, citation.page_label), plain(section))
    return _joined(citation.title, " · ".join(filter(None, places)), citation.source)


def _wrapped(text: str) -> str:
    """Each line of a text, in lines no longer than the terminal's."""
    return "\n".join(_indented(plain(line), "") for line in text.splitlines())


def _indented(text: str, indent: str = "     ", *, first: str | None = None) -> str:
    """In lines as wide as the terminal, but no wider than reads well; names of files stay whole, to be copied."""
    width = min(100, get_terminal_size().columns)
    start = indent if first is None else first
    return fill(
        text, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )

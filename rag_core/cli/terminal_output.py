"""The output of commands that search, answer and list: what they found, on the terminal."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rag_core.answering.citation_styles import (
    format_place,
    list_numbered_citations,
    number_citations,
    to_printable_line,
)
from rag_core.answering.computing.computed_answers import COMPUTED
from rag_core.answering.explanations import explain_verdict
from rag_core.answering.summaries import Summary
from rag_core.cli.named_documents import MAX_NAMED_DOCUMENTS, sort_newest_first
from rag_core.cli.terminal_layout import (
    format_count,
    indent_for_terminal,
    join_source_parts,
    print_table,
    shorten_for_terminal,
    wrap_for_terminal,
)
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
    Verdict,
)
from rag_core.core.rankings import get_ordering_score
from rag_core.core.run import Run
from rag_core.retrieval.graph import MAX_PATH_HOPS
from rag_core.workbench.saved_runs import RankChange, RankedPassage, Replay, SavedRunFields

NO_SAVED_QUERIES = "No saved queries. With RAG_KEEP_RUNS=1 queries are saved."
VERDICT_MARKS = {"verified": "✓", "partial": "~", "unsupported": "✗"}
MAX_SHOWN_SOURCES = 10
COMPUTED_NOTE = "Computed from the cited cells."
ORIGIN_NOTES = {"model": "Written by a model from these passages.", "extractive": "In the documents' own sentences."}


def print_search_result(result: SearchResult, pipeline: str, run: Run) -> None:
    """Print the result of a pipeline: its hits, best first, a semantic answer and facets."""
    variants = f" · queries: {', '.join(variant.label for variant in result.variants)}" if result.variants else ""
    count = "" if result.facets and not result.hits else f": {format_count(len(result.hits), 'passage')}"
    print(f"{pipeline}{count}{variants} · {1000 * (run.within_s - run.remaining_s):.0f} ms")
    for rank, hit in enumerate(result.hits, start=1):
        similar = f" · {hit.similar_count} more like this" if hit.similar_count else ""
        print(f"\n{rank:>3}. {_format_hit_score(hit)}  {format_chunk_location(hit.chunk)}{similar}")
        print(indent_for_terminal(_format_hit_excerpt(hit)))
    for answer in result.answers[:1]:
        print(f"\nPossible answer ({answer.score:.2f}):\n{indent_for_terminal(to_printable_line(answer.text))}")
    for counted in result.facets:
        print_facet(counted)


def print_run(run: Run, *, tells_techniques: bool = True) -> None:
    """Print the techniques, token usage, degradations and warnings of a run."""
    if run.techniques and tells_techniques:
        print("\nTechniques: " + "; ".join(f"{step}: {technique}" for step, technique in run.techniques.items()))
    if not tells_techniques and (run.input_tokens or run.degraded or run.warnings):
        print()
    if run.input_tokens:
        cost = "at an unknown price" if run.cost_usd is None else f"for {run.cost_usd:.6f} USD"
        print(f"Used: {run.input_tokens} tokens in, {run.output_tokens} out, {cost}")
    for degradation in run.degraded:
        print(f"Degraded: {degradation.step}: {degradation.reason} (instead: {degradation.fallback})")
    for warning in run.warnings:
        print(f"Note: {warning.message}")


def format_chunk_location(chunk: Chunk) -> str:
    """Format the title, page, lines and source of a chunk."""
    return join_source_parts(chunk.title, format_place(chunk.place), chunk.source)


def print_documents(documents: Sequence[Document], workflow_id: str) -> None:
    """Print a line per document, with the time of deletion of a deleted one."""
    for document in documents:
        deletion = f"deleted {document.deleted_at}" if document.deleted_at else ""
        print(f"{document.id}  {join_source_parts(to_printable_line(document.title), deletion, document.source)}")
    if not documents:
        print(f"No documents in the workflow {workflow_id}.")


def print_deleted_documents(documents: Sequence[Document], workflow_id: str) -> None:
    """Print the documents that were deleted last, and how many others there are."""
    print_documents(sort_newest_first(documents)[:MAX_NAMED_DOCUMENTS], workflow_id)
    if len(documents) > MAX_NAMED_DOCUMENTS:
        print(f"… and {len(documents) - MAX_NAMED_DOCUMENTS} that were deleted before; --json lists all.")


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
        join_source_parts(
            summary.document.title,
            ", ".join(filter(None, (pages, format_count(summary.chunks, "passage")))),
            summary.document.source,
        )
    )
    print(f"\n{wrap_for_terminal(summary.text)}\n\nSummary: {summary.origin}")
    if summary.entities:
        print("Entities: " + ", ".join(f"{entity.value} ({entity.type})" for entity in summary.entities[:20]))


def print_answer_support(answer: Answer, *, is_detailed: bool = False) -> None:
    """Print what stands below an answer: what is not verified, its sources and confidence, or the nearest passages.

    With `is_detailed` all sources of an answer computed over many rows, and what its confidence is made of.
    """
    if answer.missing_words and answer.evidence and answer.status == "unknown":
        print(f"\nWords of the question that the passages do not have: {', '.join(answer.missing_words)}")
    print_unverified_claims(answer.claims)
    if answer.status == "unknown":
        print_nearest_passages(answer.evidence)
        return
    print_answer_sources(answer.claims, limit=None if is_detailed else MAX_SHOWN_SOURCES)
    is_computed = any(claim.judgement and claim.judgement.judge == COMPUTED for claim in answer.claims)
    print(f"\n{COMPUTED_NOTE if is_computed else ORIGIN_NOTES[answer.origin]}")
    if not is_detailed:
        print(f"Confidence {answer.confidence.value:.2f}")
        return
    inputs = ", ".join(f"{name} {value:.2f}" for name, value in answer.confidence.inputs.items())
    confidence = f"Confidence {answer.confidence.value:.2f} = {answer.confidence.formula.partition('. ')[0]}: {inputs}"
    print(indent_for_terminal(confidence, "  ", first=""))


def print_unverified_claims(claims: Sequence[Claim]) -> None:
    """Print each sentence of an answer that is not verified, why, and the nearest words of the documents."""
    unverified = [claim for claim in claims if claim.verdict != "verified"]
    if unverified:
        print("\nNot verified")
    for claim in unverified:
        print_verdict(claim)


def print_answer_sources(claims: Sequence[Claim], *, limit: int | None = None) -> None:
    """Print each cited passage once, by number: the verdict, the place and the quote; at most `limit` of them."""
    numbers, printed_numbers = number_citations(claims), set[int]()
    print("\nSources")
    for claim in claims:
        for number, citation in list_numbered_citations(claim, numbers):
            if number not in printed_numbers:
                printed_numbers.add(number)
                if limit is not None and len(printed_numbers) > limit:
                    continue
                heading = f"{_format_verdict(claim.verdict)} · {_format_citation_source(citation)}"
                print(
                    indent_for_terminal(heading, first=f"{f'[{number}]':>4} "),
                    indent_for_terminal(f"“{to_printable_line(citation.quote)}”"),
                    sep="\n",
                )
    if limit is not None and len(printed_numbers) > limit:
        print(f"     and {len(printed_numbers) - limit} more, with --details")


def print_nearest_passages(passages: Sequence[Evidence]) -> None:
    """Print the passages nearest to a question that has no answer."""
    if passages:
        print("\nThe nearest passages")
    for rank, passage in enumerate(passages, start=1):
        chunk = passage.hit.chunk
        print(
            indent_for_terminal(
                join_source_parts(chunk.title, format_place(passage.place), chunk.source),
                first=f"{rank:>3}. ",
            )
        )
        print(indent_for_terminal(shorten_for_terminal(passage.text)))


def print_claim(claim: Claim) -> None:
    """Print a claim with its verdict and citations."""
    print_verdict(claim)
    for citation in claim.citations:
        if citation != _find_nearest_citation(claim):
            print(indent_for_terminal(_format_quotation(citation)))


def print_verdict(claim: Claim) -> None:
    """Print a claim with its verdict; below one that is not verified, the reason and the nearest words."""
    print(indent_for_terminal(f"{_format_verdict(claim.verdict)}: {to_printable_line(claim.text)}", "  ", first=""))
    if claim.verdict == "verified":
        return
    if explanation := to_printable_line(explain_verdict(claim)):
        print(indent_for_terminal(f"Why: {explanation}."))
    if nearest := _find_nearest_citation(claim):
        print(indent_for_terminal(f"Nearest words: {_format_quotation(nearest)}"))
    elif claim.judgement and claim.judgement.words:
        print(indent_for_terminal(f"Nearest words: “{shorten_for_terminal(claim.judgement.words)}”"))


def _find_nearest_citation(claim: Claim) -> Citation | None:
    """Return the citation of a claim that is not verified which quotes its nearest words; None when none does."""
    if claim.verdict == "verified" or claim.judgement is None:
        return None
    return next((citation for citation in claim.citations if citation.quote == claim.judgement.words), None)


def _format_verdict(verdict: Verdict) -> str:
    return f"{VERDICT_MARKS[verdict]} {verdict}"


def _get_other_entity(edge: GraphEdge, entity: str) -> str:
    return edge.target if edge.source.casefold() == entity.casefold() else edge.source


def _format_hit_score(hit: Hit) -> str:
    """Format the score that ordered the hits: the grade (0 to 10), else the cross-encoder's, else the search's."""
    score, highest = get_ordering_score(hit)
    if highest is None:
        return f"{score:.4f}"
    return f"{score:.2f}" if highest == 1 else f"{score:.1f} of {highest}"


def _format_hit_excerpt(hit: Hit) -> str:
    return shorten_for_terminal(hit.captions[0].text if hit.captions else hit.chunk.content)


def _format_quotation(citation: Citation) -> str:
    return f"“{to_printable_line(citation.quote)}” — {_format_citation_source(citation)} ({citation.score:.2f})"


def _format_citation_source(citation: Citation) -> str:
    section = " › ".join(heading for heading in citation.section if heading != citation.title)
    places = (format_place(citation.place, citation.page_label), to_printable_line(section))
    return join_source_parts(citation.title, " · ".join(filter(None, places)), citation.source)

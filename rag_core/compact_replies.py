"""Replies for models: the passages and little else, because a model pays for each token that it reads.

A passage is one string: a line with its id, score and place, and below it its text. Its id is the letter of its
document in `documents` and the number of the passage in it. JSON keeps the strings apart, so that no text of a
document can pass itself off as another passage. Rows of a table have their columns named once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NotRequired, TypedDict

from rag_core.answering.citation_styles import insert_marks, to_printable_line
from rag_core.core.model import Answer, Citation, Claim, Document, Hit, Span
from rag_core.core.rankings import get_ordering_score
from rag_core.core.run import Run
from rag_core.ingestion.tables import format_table_row, read_row_cells
from rag_core.prompts.screening import screen_stored_text
from rag_core.replies import AnswerReply, SearchReply
from rag_core.retrieval.document_reading import DocumentPassages

MAX_SUMMARY_CHARS = 300  # of a document in a list

MIN_FILLED_SHARE = 0.5  # of a table's columns, in a row that is given by its cells

PassageText = Annotated[
    str,
    "a line with id, score (9.5/10: a grade; .87/1: a cross-encoder's; .03: of the search, without a scale) and place "
    "(p4: page 4; l8-9: lines 8 to 9), then the text or cells",
]
Columns = Annotated[str, "what the cells of the document's rows, between bars, are; left out where there are none"]
Notes = Annotated[list[str], "what fell back, and warnings; left out where there are none"]


class _Notes(TypedDict):
    notes: NotRequired[Notes]


class CompactDocument(TypedDict):
    """A document of the passages, by the letter that their ids begin with."""

    document_id: str
    title: str
    columns: NotRequired[Columns]


class CompactConsultReply(TypedDict):
    """The passages that bear on a question, best first; `facets` has the counted values, where any were asked for."""

    success: Literal[True]
    documents: dict[str, CompactDocument]
    passages: list[PassageText]
    facets: NotRequired[dict[str, dict[str, int]]]
    facet_totals: NotRequired[dict[str, int]]
    notes: NotRequired[Notes]


class CompactAskReply(TypedDict):
    """An answer with the id of a passage after each sentence, and these passages; of an unknown one, the nearest.

    `unverified` has the sentences that their passages do not bear out in full, and why; `question` is what was
    answered, where it is not what was asked; both are left out where there is none.
    """

    success: Literal[True]
    status: Literal["answered", "unknown"]
    answer: str
    confidence: float
    documents: dict[str, CompactDocument]
    passages: list[PassageText]
    unverified: NotRequired[list[str]]
    missing_words: NotRequired[list[str]]
    question: NotRequired[str]
    notes: NotRequired[Notes]


class CompactDocumentsReply(TypedDict):
    """Documents of a workflow, of `total`; `next` is the `offset` of the rest, left out at the end."""

    success: Literal[True]
    documents: list[Annotated[str, "a line with id, pages and title, then the beginning of the summary"]]
    total: int
    next: NotRequired[int]
    notes: NotRequired[Notes]


class CompactDocumentReply(TypedDict):
    """A document from a passage on, in its own order; `next` is the `first_passage` of the rest, left out at the end.

    A passage is a line with its number and place, and below it its text.
    """

    success: Literal[True]
    document_id: str
    title: str
    source: str
    pages: int | None
    columns: NotRequired[Columns]
    passages: list[str]
    next: NotRequired[int]
    notes: NotRequired[Notes]


@dataclass
class _PassageList:
    """Passages by their heads, and the documents that their ids begin with the letters of.

    `cells` has those of the rows among them by column, by the letter of their document and by head.
    """

    documents: dict[str, CompactDocument] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    cells: dict[str, dict[str, Mapping[str, str]]] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)

    def assign_letter(self, document_id: str, title: str) -> str:
        """Return the letter of a document; its first passage gives it the next one."""
        if document_id not in self.letters:
            letter = self.letters[document_id] = _count_in_letters(len(self.letters))
            self.documents[letter] = {"document_id": document_id, "title": title}
        return self.letters[document_id]

    def add(self, hit: Hit, place: Span | None, text: str) -> str:
        """Add a passage and return its id."""
        chunk = hit.chunk
        letter = self.assign_letter(chunk.document_id, chunk.title)
        head = _join_head(f"{letter}{chunk.ordinal}", _format_ordering_score(hit), format_compact_place(place))
        self.texts[head] = text
        self.cells.setdefault(letter, {})[head] = read_row_cells(text, chunk.metadata)
        return f"{letter}{chunk.ordinal}"

    def format(self) -> tuple[dict[str, CompactDocument], list[str]]:
        """Return the documents and the passages; rows are given by their cells where a document has several."""
        texts = dict(self.texts)
        for letter, cells in self.cells.items():
            columns, rows = format_rows(cells)
            texts |= rows
            if columns:
                self.documents[letter]["columns"] = columns
        return self.documents, [head + text for head, text in texts.items()]


def format_compact_search(reply: SearchReply) -> CompactConsultReply:
    """Return the compact reply of `consult_rag`."""
    found = _PassageList()
    for hit in reply.hits:
        found.add(hit, hit.chunk.place, hit.chunk.content)
    documents, passages = found.format()
    compact: CompactConsultReply = {"success": True, "documents": documents, "passages": passages}
    if reply.result.facets:
        compact["facets"] = {
            facet.field: {str(bucket.value): bucket.count for bucket in facet.buckets} for facet in reply.result.facets
        }
        compact["facet_totals"] = {facet.field: facet.total for facet in reply.result.facets}
    return {**compact, **_format_notes(reply.run)}


def format_compact_answer(reply: AnswerReply, asked: str) -> CompactAskReply:
    """Return the compact reply of `rag/ask` to a question as it was asked."""
    answer, found = reply.answer, _PassageList()
    ids = _add_cited_passages(answer, found)
    if answer.status == "unknown":
        for passage in answer.evidence:
            found.add(passage.hit, passage.place, passage.text)
    documents, passages = found.format()
    compact: CompactAskReply = {
        "success": True,
        "status": answer.status,
        "answer": insert_marks(answer, lambda citation, _: f"[{ids[citation.chunk_id]}]"),
        "confidence": round(answer.confidence.value, 2),
        "documents": documents,
        "passages": passages,
    }
    if unverified := [_format_unverified(claim) for claim in answer.claims if claim.verdict != "verified"]:
        compact["unverified"] = unverified
    if answer.missing_words:
        compact["missing_words"] = list(answer.missing_words)
    if reply.query.text != asked:
        compact["question"] = reply.query.text
    return {**compact, **_format_notes(reply.run)}


def format_compact_documents(documents: Sequence[Document], offset: int, limit: int, run: Run) -> CompactDocumentsReply:
    """Return the compact list of documents: `limit` of them from `offset` on."""
    shown = documents[offset : offset + limit]
    compact: CompactDocumentsReply = {
        "success": True,
        "documents": [_format_document_line(document) for document in shown],
        "total": len(documents),
    }
    if offset + len(shown) < len(documents):
        compact["next"] = offset + len(shown)
    return {**compact, **_format_notes(run)}


def format_compact_document(read: DocumentPassages, run: Run) -> CompactDocumentReply:
    """Return passages of a document with their numbers and places."""
    texts = {_join_head(str(chunk.ordinal), format_compact_place(chunk.place)): chunk for chunk in read.chunks}
    columns, rows = format_rows({head: read_row_cells(of.content, of.metadata) for head, of in texts.items()})
    compact: CompactDocumentReply = {
        "success": True,
        "document_id": read.document.id,
        "title": read.document.title,
        "source": read.document.source,
        "pages": read.document.pages,
        "passages": [head + rows.get(head, chunk.content) for head, chunk in texts.items()],
    }
    if columns:
        compact["columns"] = columns
    if read.next_passage is not None:
        compact["next"] = read.next_passage
    return {**compact, **_format_notes(run)}


def format_rows(cells: Mapping[str, Mapping[str, str]]) -> tuple[str, dict[str, str]]:
    """Return the columns of the rows among passages, and these rows as their cells between bars; "" and {} for one row.

    `cells` has them by column, by passage, and none for a passage that is no row. A row with other columns, or with
    most of them empty, is not among those that are returned.
    """
    columns = max((tuple(of) for of in cells.values()), key=len, default=())
    fitting = {
        name: of
        for name, of in cells.items()
        if len(of) >= MIN_FILLED_SHARE * len(columns) and of and [c for c in columns if c in of] == list(of)
    }
    if len(fitting) < 2 or len(columns) < 2:
        return "", {}
    rows = {name: _format_row([of.get(column, "") for column in columns]) for name, of in fitting.items()}
    return _format_row(columns), rows


def _format_row(cells: Sequence[str]) -> str:
    return f"| {format_table_row(cells).removeprefix('| ').removesuffix(' |')} |"


def format_compact_place(place: Span | None) -> str:
    """Format the page on which a passage begins, without pages its lines, "p4" or "l8-9", or its locator."""
    if place is None or place.locator:
        return to_printable_line(place.locator) if place else ""
    if place.page:
        return f"p{place.page}"
    return f"l{place.line_start}" + (f"-{place.line_end}" if place.line_end != place.line_start else "")


def _format_ordering_score(hit: Hit) -> str:
    """Format the score that ordered a hit with the end of its scale, 9.5/10 or .87/1; that of a search has none."""
    score, highest = get_ordering_score(hit)
    return format_compact_score(score) + (f"/{highest}" if highest else "")


def format_compact_score(score: float) -> str:
    """Format a score by its first two digits, without a leading zero: .87, .029, 12."""
    digits = f"{float(f'{score:.2g}'):.6f}".rstrip("0").rstrip(".")
    return digits.removeprefix("0") if digits.startswith("0.") else digits


def _add_cited_passages(answer: Answer, found: _PassageList) -> Mapping[str, str]:
    """Add each cited passage, once, and return their ids by the id of their chunk.

    A citation of what is no evidence of the answer, as of a neighbouring chunk, is shown by its quote.
    """
    evidence = {passage.hit.chunk.id: passage for passage in answer.evidence}
    ids: dict[str, str] = {}
    for citation in _list_citations(answer.claims):
        if citation.chunk_id in ids:
            continue
        passage = evidence.get(citation.chunk_id)
        if passage:
            ids[citation.chunk_id] = found.add(passage.hit, passage.place, passage.text)
        else:
            id = f"{found.assign_letter(citation.document_id, citation.title)}q{len(ids)}"
            found.texts[_join_head(id, format_compact_place(citation.place))] = citation.quote
            ids[citation.chunk_id] = id
    return ids


def _list_citations(claims: Iterable[Claim]) -> list[Citation]:
    return [citation for claim in claims for citation in claim.citations]


def _format_unverified(claim: Claim) -> str:
    reasons = f" ({'; '.join(claim.reasons)})" if claim.reasons else ""
    return f"{claim.verdict}: {to_printable_line(claim.text)}{reasons}"


def _format_document_line(document: Document) -> str:
    pages = f"{document.pages}p" if document.pages else ""
    head = _join_head(document.id, pages, to_printable_line(document.title))
    return (head + screen_stored_text(document.summary)[:MAX_SUMMARY_CHARS]).rstrip()


def _join_head(*parts: str) -> str:
    return " ".join(filter(None, parts)) + "\n"


def _format_notes(run: Run) -> _Notes:
    """Return what fell back and what was warned of, for the end of a reply; nothing where there is nothing."""
    fallen = [f"{d.step} fell back: {d.reason} (instead: {d.fallback})" for d in run.degraded]
    notes = [*fallen, *(warning.message for warning in run.warnings)]
    return {"notes": notes} if notes else {}


def _count_in_letters(number: int) -> str:
    """Return 0 as A, 25 as Z, 26 as AA, as columns of a spreadsheet are counted."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters

"""Reader of labelled collections in three layouts, which differ in what is judged.

- Documents: corpus.jsonl (or .gz), queries.jsonl and qrels.tsv, as in BEIR.
- Pages: pdfs/, queries.jsonl and qrels.tsv, whose document ids are FILE#page=N. The PDFs themselves are indexed; a
  corpus.jsonl beside them, extracted by another program, is ignored.
- Characters: questions.jsonl beside documents (.md, .txt), each question with the character ranges that answer it.

A question may be a conversation, as in MTRAG: lines that begin with |user|: and |agent|:, the last one the question.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rag_core.core.errors import Misconfigured
from rag_core.core.model import Chunk, Ranking, Turn
from rag_core.evaluation import beir, character_ranges, metrics
from rag_core.ingestion.upload import Upload

T = TypeVar("T")

_TURN = re.compile(r"^\|(user|agent|assistant)\|:", re.MULTILINE)

HALVES = ("first", "second")  # every second question: tune on one half, report the other

RankingScorer = Callable[[Mapping[str, Ranking]], metrics.MeasureScores]  # from each question's hits, best first


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A labelled question, with the workflow in which it is asked and the turns of the conversation before it."""

    text: str
    workflow_id: str
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledCollection:
    """A labelled collection: uploads with their workflow, questions by id, and the function that scores rankings.

    `half` names the half of HALVES to which the questions are limited; "" is no limit.
    """

    name: str
    uploads: Sequence[tuple[str, Upload]]
    questions: Mapping[str, LabelledQuestion]
    score: RankingScorer
    half: str = ""

    @property
    def title(self) -> str:
        return f"{self.name}, {self.half} half of the questions" if self.half else self.name


def load_labelled_collection(
    folder: Path, *, max_questions: int | None = None, half: str = "", workflow_field: str | None = None
) -> LabelledCollection:
    """Read a folder, with its first `queries` answerable questions, of one `half` or of both.

    With `workflow_field`, each record of corpus.jsonl and queries.jsonl belongs to the workflow in this field of its
    metadata; otherwise all records belong to one workflow.

    Raises:
        Misconfigured: the folder has none of the layouts (the message names the file), or no answerable question.
        NotFound, InvalidRequest: there is no such folder, or it is a file.
    """
    beir.require_folder(folder)
    max_loaded = max_questions * len(HALVES) if max_questions and half else max_questions
    collection = _load_by_layout(folder, max_loaded, workflow_field)
    if half:
        collection = replace(collection, half=half, questions=select_half(collection.questions, half))
    if not collection.questions:
        raise Misconfigured(f"{folder} has no question with a relevant document")
    return collection


def select_half(by_question: Mapping[str, T], half: str) -> dict[str, T]:
    """Return the entries of one half: every second question, from the first or from the second."""
    return dict(list(by_question.items())[HALVES.index(half) :: len(HALVES)])


def load_pdf_uploads(folder: Path) -> list[Upload]:
    """Read the PDFs of a folder as uploads named by their file names."""
    paths = sorted((folder / "pdfs").glob("*.pdf"))
    return [Upload(data=path.read_bytes(), filename=path.name) for path in paths]


def list_page_ids(chunk: Chunk) -> list[str]:
    """Return the ids, as in the judgements, of the pages of a chunk, in order."""
    return [f"{chunk.source}#page={page}" for page in dict.fromkeys(span.page for span in chunk.spans)]


def _load_by_layout(folder: Path, max_questions: int | None, workflow_field: str | None) -> LabelledCollection:
    if (folder / "questions.jsonl").is_file() and not workflow_field:
        return _load_span_layout(folder, max_questions)
    if _has_page_judgements(folder) and not workflow_field:
        return _load_page_layout(folder, max_questions)
    return _load_document_layout(folder, max_questions, workflow_field)


def _load_document_layout(folder: Path, max_questions: int | None, workflow_field: str | None) -> LabelledCollection:
    collection = beir.load_beir_collection(folder, max_queries=max_questions, workflow_field=workflow_field)
    uploads = [
        (passage.workflow_id, _upload_from_beir_document(position, passage))
        for position, passage in enumerate(collection.documents)
    ]
    score = _create_ranking_scorer(
        collection.judgements, lambda chunk: [collection.documents[int(chunk.document_id)].id]
    )
    labelled_questions = {
        query_id: parse_question(text, collection.workflow_ids[query_id])
        for query_id, text in collection.queries.items()
    }
    return LabelledCollection(collection.name, uploads, labelled_questions, score)


def _upload_from_beir_document(position: int, document: beir.BeirDocument) -> Upload:
    content = f"{document.title}\n\n{document.text}".strip()
    # the position is the id, because an id of the collection may not be a valid document id
    return Upload(content=content, document_id=str(position), title=document.title)


def _has_page_judgements(folder: Path) -> bool:
    """Tell whether a judgement refers to a page of one of the folder's PDFs."""
    pdf_names = {path.name for path in (folder / "pdfs").glob("*.pdf")}
    return bool(pdf_names) and not pdf_names.isdisjoint(_list_judged_files(beir.load_beir_queries(folder)[1].values()))


def _list_judged_files(judgements: Iterable[Mapping[str, int]]) -> set[str]:
    return {judged_id.partition("#page=")[0] for grades in judgements for judged_id in grades if "#page=" in judged_id}


def _load_page_layout(folder: Path, max_questions: int | None) -> LabelledCollection:
    query_texts, judgements = beir.load_beir_queries(folder, max_queries=max_questions)
    uploads = load_pdf_uploads(folder)
    if missing_files := _list_judged_files(judgements.values()) - {str(upload.filename) for upload in uploads}:
        raise Misconfigured(f"{folder}/pdfs lacks files named in the judgements: {', '.join(sorted(missing_files))}")
    return LabelledCollection(
        folder.name,
        [(folder.name, upload) for upload in uploads],
        {query_id: parse_question(text, folder.name) for query_id, text in query_texts.items()},
        _create_ranking_scorer(judgements, list_page_ids),
    )


def parse_question(text: str, workflow_id: str) -> LabelledQuestion:
    """Return a question with the turns before it, if the text is a conversation."""
    before, *parts = _TURN.split(text)
    if before.strip() or not parts:
        return LabelledQuestion(text, workflow_id)
    turns = [
        Turn("user" if role == "user" else "assistant", content.strip())
        for role, content in zip(parts[::2], parts[1::2], strict=True)
    ]
    return LabelledQuestion(turns[-1].content, workflow_id, tuple(turns[:-1]))


def _load_span_layout(folder: Path, max_questions: int | None) -> LabelledCollection:
    documents, questions = character_ranges.load_range_questions(folder, max_questions=max_questions)
    gold = {question.id: question.gold for question in questions}

    def score(rankings: Mapping[str, Ranking]) -> metrics.MeasureScores:
        return {
            question_id: character_ranges.score_chunks(gold[question_id], [hit.chunk for hit in hits], documents)
            for question_id, hits in rankings.items()
        }

    return LabelledCollection(
        folder.name,
        [(folder.name, Upload(content=text, source=name)) for name, text in documents.items()],
        {question.id: LabelledQuestion(question.text, folder.name) for question in questions},
        score,
    )


def _create_ranking_scorer(
    judgements: Mapping[str, Mapping[str, int]], judged_ids: Callable[[Chunk], Sequence[str]]
) -> RankingScorer:
    """Create a scorer of rankings in which each judged document or page has the rank of its best hit."""

    def score(hits_by_question: Mapping[str, Ranking]) -> metrics.MeasureScores:
        rankings = {
            question_id: list(dict.fromkeys(judged_id for hit in hits for judged_id in judged_ids(hit.chunk)))
            for question_id, hits in hits_by_question.items()
        }
        return metrics.score_rankings(
            rankings, {question_id: judgements[question_id] for question_id in hits_by_question}
        )

    return score

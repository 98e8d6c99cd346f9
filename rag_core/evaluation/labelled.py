"""Reader of labelled collections in three layouts, which differ in what is judged.

- Documents: corpus.jsonl (or .gz), queries.jsonl and qrels.tsv, as in BEIR.
- Pages: pdfs/, queries.jsonl and qrels.tsv, whose document ids are FILE#page=N. The PDFs themselves are indexed; a
  corpus.jsonl beside them, extracted by another program, is ignored.
- Characters: questions.jsonl beside documents (.md, .txt), each question with the character ranges that answer it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from evals import spans
from rag_core.core.errors import Misconfigured
from rag_core.core.model import Chunk, Ranking
from rag_core.evaluation import beir, metrics
from rag_core.ingestion.indexing import Upload

T = TypeVar("T")

HALVES = ("first", "second")  # every second question: tune on one half, report the other

Score = Callable[[Mapping[str, Ranking]], metrics.Scores]  # from each question's hits, best first


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question, with the workflow in which it is asked."""

    text: str
    workflow: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled collection: uploads with their workflow, questions by id, and the function that scores rankings.

    `half` names the half of HALVES to which the questions are limited; "" is no limit.
    """

    name: str
    uploads: Sequence[tuple[str, Upload]]
    questions: Mapping[str, Question]
    score: Score
    half: str = ""

    @property
    def title(self) -> str:
        return f"{self.name}, {self.half} half of the questions" if self.half else self.name


def load(folder: Path, *, queries: int | None = None, half: str = "", workflow_field: str | None = None) -> Labelled:
    """Read a folder, with its first `queries` answerable questions, of one `half` or of both.

    With `workflow_field`, each record of corpus.jsonl and queries.jsonl belongs to the workflow in this field of its
    metadata; otherwise all records belong to one workflow.

    Raises:
        Misconfigured: the folder has none of the layouts (the message names the file), or no answerable question.
    """
    max_loaded = queries * len(HALVES) if queries and half else queries
    collection = _read(folder, max_loaded, workflow_field)
    if half:
        collection = replace(collection, half=half, questions=every_second(collection.questions, half))
    if not collection.questions:
        raise Misconfigured(f"{folder} has no question with a relevant document")
    return collection


def every_second(of_questions: Mapping[str, T], half: str) -> dict[str, T]:
    """Return the entries of one half: every second question, from the first or from the second."""
    return dict(list(of_questions.items())[HALVES.index(half) :: len(HALVES)])


def pdfs(folder: Path) -> list[Upload]:
    """Read the PDFs of a folder as uploads named by their file names."""
    paths = sorted((folder / "pdfs").glob("*.pdf"))
    return [Upload(data=path.read_bytes(), filename=path.name) for path in paths]


def pages(chunk: Chunk) -> list[str]:
    """Return the ids, as in the judgements, of the pages of a chunk, in order."""
    return [f"{chunk.source}#page={page}" for page in dict.fromkeys(span.page for span in chunk.spans)]


def _read(folder: Path, queries: int | None, workflow_field: str | None) -> Labelled:
    if (folder / "questions.jsonl").is_file() and not workflow_field:
        return _passages(folder, queries)
    if _judges_pages(folder) and not workflow_field:
        return _pages(folder, queries)
    return _documents(folder, queries, workflow_field)


def _documents(folder: Path, queries: int | None, workflow_field: str | None) -> Labelled:
    collection = beir.load(folder, queries=queries, workflow_field=workflow_field)
    uploads = [(passage.workflow, _upload(position, passage)) for position, passage in enumerate(collection.passages)]
    score = _judged(collection.judgements, lambda chunk: [collection.passages[int(chunk.document_id)].id])
    labelled_questions = {
        query_id: Question(text, collection.workflows[query_id]) for query_id, text in collection.queries.items()
    }
    return Labelled(collection.name, uploads, labelled_questions, score)


def _upload(place: int, passage: beir.Passage) -> Upload:
    content = f"{passage.title}\n\n{passage.text}".strip()
    # the position is the id, because an id of the collection may not be a valid document id
    return Upload(content=content, document_id=str(place), title=passage.title)


def _judges_pages(folder: Path) -> bool:
    """Tell whether a judgement refers to a page of one of the folder's PDFs."""
    pdf_names = {path.name for path in (folder / "pdfs").glob("*.pdf")}
    return bool(pdf_names) and not pdf_names.isdisjoint(_files(beir.questions(folder)[1].values()))


def _files(judgements: Iterable[Mapping[str, int]]) -> set[str]:
    return {judged_id.partition("#page=")[0] for grades in judgements for judged_id in grades if "#page=" in judged_id}


def _pages(folder: Path, queries: int | None) -> Labelled:
    query_texts, judgements = beir.questions(folder, queries=queries)
    uploads = pdfs(folder)
    if missing_files := _files(judgements.values()) - {str(upload.filename) for upload in uploads}:
        raise Misconfigured(f"{folder}/pdfs lacks files named in the judgements: {', '.join(sorted(missing_files))}")
    return Labelled(
        folder.name,
        [(folder.name, upload) for upload in uploads],
        {query_id: Question(text, folder.name) for query_id, text in query_texts.items()},
        _judged(judgements, pages),
    )


def _passages(folder: Path, queries: int | None) -> Labelled:
    documents, questions = spans.load(folder, queries=queries)
    gold = {question.id: question.gold for question in questions}

    def score(rankings: Mapping[str, Ranking]) -> metrics.Scores:
        return {
            question_id: spans.measures(gold[question_id], [hit.chunk for hit in hits], documents)
            for question_id, hits in rankings.items()
        }

    return Labelled(
        folder.name,
        [(folder.name, Upload(content=text, source=name)) for name, text in documents.items()],
        {question.id: Question(question.text, folder.name) for question in questions},
        score,
    )


def _judged(judgements: Mapping[str, Mapping[str, int]], named: Callable[[Chunk], Sequence[str]]) -> Score:
    """Create a scorer of rankings in which each judged document or page has the rank of its best hit."""

    def score(hits_by_question: Mapping[str, Ranking]) -> metrics.Scores:
        rankings = {
            question_id: list(dict.fromkeys(judged_id for hit in hits for judged_id in named(hit.chunk)))
            for question_id, hits in hits_by_question.items()
        }
        return metrics.evaluate(rankings, {question_id: judgements[question_id] for question_id in hits_by_question})

    return score

"""A labelled collection, in whichever of three layouts its folder has.

- Documents are judged: corpus.jsonl (or .gz), queries.jsonl and qrels.tsv, as BEIR has them.
- Pages are: pdfs/, queries.jsonl and qrels.tsv, whose documents are called FILE#page=N. The PDFs are then indexed as
  they are, and a corpus.jsonl beside them, which only some other program has read from them, is not.
- Characters are: questions.jsonl beside documents (.md, .txt), each question with the ranges that answer it.
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

Score = Callable[[Mapping[str, Ranking]], metrics.Scores]  # of each question's hits, best first


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the workflow in which it is."""

    text: str
    workflow: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """Documents with their workflow, questions by id, and how good the hits of the questions are.

    `half` says of which of HALVES the questions are; "" of both.
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

    Where `workflow_field` is given, each record of corpus.jsonl and queries.jsonl belongs to the workflow in this
    field of its metadata; else everything is one workflow.

    Raises:
        Misconfigured: the folder is in no such layout, and the file at fault is named; or no question can be answered.
    """
    wanted = queries * len(HALVES) if queries and half else queries
    found = _read(folder, wanted, workflow_field)
    if half:
        found = replace(found, half=half, questions=every_second(found.questions, half))
    if not found.questions:
        raise Misconfigured(f"{folder} has no question of which anything is judged relevant")
    return found


def every_second(of_questions: Mapping[str, T], half: str) -> dict[str, T]:
    """What belongs to the questions of this half, by question."""
    return dict(list(of_questions.items())[HALVES.index(half) :: len(HALVES)])


def pdfs(folder: Path) -> list[Upload]:
    """The PDFs of a folder, each known by its file name."""
    paths = sorted((folder / "pdfs").glob("*.pdf"))
    return [Upload(data=path.read_bytes(), filename=path.name) for path in paths]


def pages(chunk: Chunk) -> list[str]:
    """What the judgements call the pages that a chunk stands on, in their order."""
    return [f"{chunk.source}#page={page}" for page in dict.fromkeys(span.page for span in chunk.spans)]


def _read(folder: Path, queries: int | None, workflow_field: str | None) -> Labelled:
    if (folder / "questions.jsonl").is_file() and not workflow_field:
        return _passages(folder, queries)
    if _judges_pages(folder) and not workflow_field:
        return _pages(folder, queries)
    return _documents(folder, queries, workflow_field)


def _documents(folder: Path, queries: int | None, workflow_field: str | None) -> Labelled:
    found = beir.load(folder, queries=queries, workflow_field=workflow_field)
    uploads = [(passage.workflow, _upload(place, passage)) for place, passage in enumerate(found.passages)]
    score = _judged(found.judgements, lambda chunk: [found.passages[int(chunk.document_id)].id])
    asked = {id: Question(text, found.workflows[id]) for id, text in found.queries.items()}
    return Labelled(found.name, uploads, asked, score)


def _upload(place: int, passage: beir.Passage) -> Upload:
    content = f"{passage.title}\n\n{passage.text}".strip()
    return Upload(content=content, document_id=str(place), title=passage.title)  # its own id may be any string


def _judges_pages(folder: Path) -> bool:
    """Whether a judgement is of a page of one of the PDFs that are there."""
    there = {path.name for path in (folder / "pdfs").glob("*.pdf")}
    return bool(there) and not there.isdisjoint(_files(beir.questions(folder)[1].values()))


def _files(judgements: Iterable[Mapping[str, int]]) -> set[str]:
    return {id.partition("#page=")[0] for grades in judgements for id in grades if "#page=" in id}


def _pages(folder: Path, queries: int | None) -> Labelled:
    asked, judgements = beir.questions(folder, queries=queries)
    uploads = pdfs(folder)
    if missing := _files(judgements.values()) - {str(upload.filename) for upload in uploads}:
        raise Misconfigured(f"{folder}/pdfs lacks what is judged: {', '.join(sorted(missing))}")
    return Labelled(
        folder.name,
        [(folder.name, upload) for upload in uploads],
        {id: Question(text, folder.name) for id, text in asked.items()},
        _judged(judgements, pages),
    )


def _passages(folder: Path, queries: int | None) -> Labelled:
    documents, questions = spans.load(folder, queries=queries)
    gold = {question.id: question.gold for question in questions}

    def score(found: Mapping[str, Ranking]) -> metrics.Scores:
        return {id: spans.measures(gold[id], [hit.chunk for hit in hits], documents) for id, hits in found.items()}

    return Labelled(
        folder.name,
        [(folder.name, Upload(content=text, source=name)) for name, text in documents.items()],
        {question.id: Question(question.text, folder.name) for question in questions},
        score,
    )


def _judged(judgements: Mapping[str, Mapping[str, int]], named: Callable[[Chunk], Sequence[str]]) -> Score:
    """Each of what a hit stands for stands where its best hit does."""

    def score(found: Mapping[str, Ranking]) -> metrics.Scores:
        rankings = {id: list(dict.fromkeys(n for hit in hits for n in named(hit.chunk))) for id, hits in found.items()}
        return metrics.evaluate(rankings, {id: judgements[id] for id in found})

    return score

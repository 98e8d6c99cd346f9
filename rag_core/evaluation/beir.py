"""A labelled collection in the layout of BEIR: corpus.jsonl (or .gz), queries.jsonl, qrels.tsv or qrels/test.tsv."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.core.errors import Misconfigured

QUERIES = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class Passage:
    """A document of the corpus, and the workflow that it belongs to."""

    id: str
    title: str
    text: str
    workflow: str


@dataclass(frozen=True, slots=True)
class Collection:
    """`judgements` grade documents by query; `queries` are those with at least one relevant document.

    `workflows` has the workflow in which each of them is asked.
    """

    name: str
    passages: tuple[Passage, ...]
    queries: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, int]]
    workflows: Mapping[str, str]


def load(directory: Path, *, queries: int | None = None, workflow_field: str | None = None) -> Collection:
    """Read a folder, with its first `queries` answerable queries.

    A record's workflow is in `workflow_field` of its metadata; without one all are of a workflow called as the folder.

    Raises:
        Misconfigured: a file is missing or in another layout; it is named.
    """

    def workflow(record: Mapping[str, Any]) -> str:
        return str(record["metadata"][workflow_field]) if workflow_field else directory.name

    asked, judgements = questions(directory, queries=queries)
    try:
        passages = tuple(
            Passage(str(r["_id"]), r.get("title") or "", r["text"], workflow(r)) for r in records(corpus(directory))
        )
        workflows = {id: workflow(r) for r in records(directory / QUERIES) if (id := str(r["_id"])) in asked}
    except StopIteration:
        raise Misconfigured(f"{directory} has no corpus.jsonl or corpus.jsonl.gz") from None
    except (OSError, KeyError, ValueError) as failure:
        raise _unlike(directory, failure) from failure
    return Collection(directory.name, passages, asked, judgements, workflows)


def questions(directory: Path, *, queries: int | None = None) -> tuple[dict[str, str], dict[str, Mapping[str, int]]]:
    """The first `queries` answerable queries and their judgements, without the corpus. Raises as `load` does."""
    try:
        split = directory / "qrels" / "test.tsv"
        judgements = _judgements(split if split.is_file() else directory / "qrels.tsv")
        asked = {str(r["_id"]): r["text"] for r in records(directory / QUERIES) if str(r["_id"]) in judgements}
    except (OSError, KeyError, ValueError) as failure:
        raise _unlike(directory, failure) from failure
    chosen = dict(list(asked.items())[:queries])
    return chosen, {id: judgements[id] for id in chosen}


def corpus(directory: Path) -> Path:
    """The file of its documents. Raises StopIteration when there is none."""
    return next(path for name in ("corpus.jsonl", "corpus.jsonl.gz") if (path := directory / name).is_file())


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _unlike(directory: Path, failure: Exception) -> Misconfigured:
    return Misconfigured(f"{directory} is not a BEIR folder: {type(failure).__name__}: {failure}")


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    """By query; the first line is a heading. A query of which nothing is relevant cannot be scored and is left out."""
    grades: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        grades.setdefault(query, {})[document] = int(grade)
    return {query: judged for query, judged in grades.items() if any(grade > 0 for grade in judged.values())}

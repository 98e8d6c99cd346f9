"""A labelled collection in the layout of BEIR: corpus.jsonl (or .gz), queries.jsonl, qrels.tsv or qrels/test.tsv."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Passage:
    """A document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """`judgements` grade documents by query; `queries` are those with at least one relevant document."""

    name: str
    passages: tuple[Passage, ...]
    queries: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, int]]


def load(directory: Path, *, queries: int | None = None) -> Collection:
    """Read a folder, with its first `queries` answerable queries. Raises Misconfigured, naming the file at fault."""
    try:
        passages = tuple(Passage(str(r["_id"]), r.get("title") or "", r["text"]) for r in records(corpus(directory)))
    except StopIteration:
        raise Misconfigured(f"{directory} has no corpus.jsonl or corpus.jsonl.gz") from None
    except (OSError, KeyError, ValueError) as failure:
        raise _unlike(directory, failure) from failure
    return Collection(directory.name, passages, *questions(directory, queries=queries))


def questions(directory: Path, *, queries: int | None = None) -> tuple[dict[str, str], dict[str, Mapping[str, int]]]:
    """The first `queries` answerable queries and their judgements, without the corpus. Raises as `load` does."""
    try:
        split = directory / "qrels" / "test.tsv"
        judgements = _judgements(split if split.is_file() else directory / "qrels.tsv")
        asked = {str(r["_id"]): r["text"] for r in records(directory / "queries.jsonl") if str(r["_id"]) in judgements}
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

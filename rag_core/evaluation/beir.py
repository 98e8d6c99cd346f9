"""Reader of BEIR folders: corpus.jsonl (or .gz), queries.jsonl, and qrels.tsv or qrels/test.tsv."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.core.errors import InvalidRequest, Misconfigured, NotFound, describe_os_error, describe_read_error

QUERIES_FILE = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class BeirDocument:
    """A document of the corpus, with its workflow."""

    id: str
    title: str
    text: str
    workflow_id: str


@dataclass(frozen=True, slots=True)
class BeirCollection:
    """A labelled collection: texts of queries, and relevance grades of documents, by query id.

    It has only queries with at least one relevant document. `workflows` has the workflow of each query.
    """

    name: str
    documents: tuple[BeirDocument, ...]
    queries: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, int]]
    workflow_ids: Mapping[str, str]


def load_beir_collection(
    directory: Path, *, max_queries: int | None = None, workflow_field: str | None = None
) -> BeirCollection:
    """Read a folder, with its first `queries` answerable queries.

    A record's workflow is in `workflow_field` of its metadata; without this field all records belong to a workflow
    named like the folder.

    Raises:
        Misconfigured: a file is missing or malformed; the message names it.
    """

    def get_workflow(record: Mapping[str, Any]) -> str:
        return str(record["metadata"][workflow_field]) if workflow_field else directory.name

    query_texts, judgements = load_beir_queries(directory, max_queries=max_queries)
    try:
        passages = tuple(
            BeirDocument(str(record["_id"]), record.get("title") or "", record["text"], get_workflow(record))
            for record in read_jsonl_records(find_corpus_file(directory))
        )
        workflows = {
            query_id: get_workflow(record)
            for record in read_jsonl_records(directory / QUERIES_FILE)
            if (query_id := str(record["_id"])) in query_texts
        }
    except StopIteration:
        raise Misconfigured(f"{directory} has no corpus.jsonl or corpus.jsonl.gz") from None
    except (OSError, KeyError, ValueError) as error:
        raise _create_layout_error(directory, error) from error
    return BeirCollection(directory.name, passages, query_texts, judgements, workflows)


def load_beir_queries(
    directory: Path, *, max_queries: int | None = None
) -> tuple[dict[str, str], dict[str, Mapping[str, int]]]:
    """Read the first `max_queries` answerable queries and their judgements, by query id.

    Raises like `load_beir_collection`.
    """
    try:
        test_split = directory / "qrels" / "test.tsv"
        judgements = _read_judgements(test_split if test_split.is_file() else directory / "qrels.tsv")
        query_texts = {
            str(record["_id"]): record["text"]
            for record in read_jsonl_records(directory / QUERIES_FILE)
            if str(record["_id"]) in judgements
        }
    except (OSError, KeyError, ValueError) as error:
        raise _create_layout_error(directory, error) from error
    selected = dict(list(query_texts.items())[:max_queries])
    return selected, {query_id: judgements[query_id] for query_id in selected}


def find_corpus_file(directory: Path) -> Path:
    """Return the path of the corpus file. Raises StopIteration when there is none."""
    return next(path for name in ("corpus.jsonl", "corpus.jsonl.gz") if (path := directory / name).is_file())


def read_jsonl_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON Lines file, which may be gzipped.

    Raises Misconfigured, which names the file, and the line: it cannot be read, or a line is no JSON object.
    """
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):  # noqa: B007 - for the message
                if line.strip():
                    yield _parse_record(line)
    except UnicodeDecodeError as error:
        raise Misconfigured(f"{path} is not UTF-8 text") from error
    except (OSError, EOFError, zlib.error) as error:
        raise Misconfigured(f"{path} cannot be read: {describe_read_error(error)}") from error
    except (ValueError, RecursionError) as error:
        raise Misconfigured(f"{path}: line {number} is no JSON object") from error


def _parse_record(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("no object")
    return record


def require_folder(folder: Path) -> None:
    """Raise NotFound where a folder of labelled questions is missing, and InvalidRequest where it is a file."""
    if not folder.exists():
        raise NotFound(f"{folder}: there is no such folder", field="DIR")
    if not folder.is_dir():
        raise InvalidRequest("DIR", f"must be a folder with labelled questions: {folder} is a file")


def _create_layout_error(directory: Path, error: Exception) -> Misconfigured:
    """Return the error for a folder whose files are missing or lack something, in words."""
    if isinstance(error, FileNotFoundError):
        name = Path(str(error.filename)).relative_to(directory)
        return Misconfigured(f"{directory} has no {name}: rag eval run --help shows what such a folder holds")
    if isinstance(error, OSError):
        return Misconfigured(f"{error.filename} cannot be read: {describe_os_error(error)}")
    if isinstance(error, KeyError):
        return Misconfigured(f"{directory} has a record without {error}: rag eval run --help shows what it must have")
    return Misconfigured(f"the judgements of {directory} are not rows of query, document and grade, between tabs")


def _read_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Read the grades by query id, skipping the header line and the queries without a relevant document."""
    grades_by_query: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query_id, document_id, grade = line.split("\t")
        grades_by_query.setdefault(query_id, {})[document_id] = int(grade)
    return {
        query_id: grades for query_id, grades in grades_by_query.items() if any(grade > 0 for grade in grades.values())
    }

"""Questions whose answers are ranges of characters: how they are read, and how chunks are scored by them.

Recall is the share of the gold characters that the chunks cover. IoU is the number of gold characters covered over the
number of gold and retrieved characters together, whatever document they are of. Both are as in chunking_evaluation
(https://github.com/brandonstarxel/chunking_evaluation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from rag_core.core.errors import Misconfigured, describe_os_error
from rag_core.core.model import Chunk
from rag_core.evaluation.beir import read_jsonl_records

MAX_SCORED_CHUNKS = 5
DOCUMENT_SUFFIXES = (".md", ".txt")

CharacterRange = tuple[str, int, int]  # document, first character, end


@dataclass(frozen=True, slots=True)
class RangeQuestion:
    """A question with the character ranges that answer it."""

    id: str
    text: str
    gold: tuple[CharacterRange, ...]


def load_range_questions(
    folder: Path, *, max_questions: int | None = None
) -> tuple[dict[str, str], list[RangeQuestion]]:
    """Read the documents, by name, and the first questions that have ranges; offsets count every character.

    Raises:
        Misconfigured: a file is missing or malformed.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.suffix in DOCUMENT_SUFFIXES and path.name != "README.md"]
    try:
        documents = {path.name: path.read_bytes().decode() for path in paths}
        records = read_jsonl_records(folder / "questions.jsonl")
        questions = [question for question in map(_parse_question, records) if question.gold]
    except OSError as failure:
        raise Misconfigured(f"{failure.filename} cannot be read: {describe_os_error(failure)}") from failure
    except UnicodeDecodeError as failure:
        raise Misconfigured(f"a document of {folder} is not UTF-8 text") from failure
    except (KeyError, TypeError, ValueError) as failure:
        raise Misconfigured(
            f'{folder}/questions.jsonl must have {{"_id", "text", "spans", "document"}} in each line, as '
            "rag eval run --help shows"
        ) from failure
    questions = questions[:max_questions]
    if missing := {name for question in questions for name, _, _ in question.gold} - documents.keys():
        raise Misconfigured(f"{folder} lacks files named in questions.jsonl: {', '.join(sorted(missing))}")
    return documents, questions


def _parse_question(record: Mapping[str, Any]) -> RangeQuestion:
    gold = tuple((record["document"], int(span["start"]), int(span["end"])) for span in record["spans"])
    return RangeQuestion(str(record["_id"]), record["text"], gold)


def locate_chunk(chunk: Chunk, document: str) -> list[CharacterRange]:
    """Return the characters of a document that a chunk holds, found in the lines that its spans name.

    Raises:
        ValueError: the text does not stand in those lines, or in fewer of them.
    """
    lines = document.split("\n")
    line_starts = [0, *accumulate(len(line) + 1 for line in lines)]
    ranges = []
    for span in chunk.spans:
        text = chunk.content[span.start : span.end]
        start = line_starts[span.line_start - 1] + "\n".join(lines[span.line_start - 1 : span.line_end]).index(text)
        if start >= line_starts[span.line_start] or start + len(text) <= line_starts[span.line_end - 1]:
            raise ValueError(f"lines {span.line_start} to {span.line_end} are more than chunk {chunk.ordinal} has")
        ranges.append((chunk.source, start, start + len(text)))
    return ranges


def score_chunks(
    gold: Sequence[CharacterRange], chunks: Sequence[Chunk], documents: Mapping[str, str]
) -> dict[str, float]:
    """Return recall and IoU of the first MAX_SCORED_CHUNKS chunks."""
    retrieved = [
        place for chunk in chunks[:MAX_SCORED_CHUNKS] for place in locate_chunk(chunk, documents[chunk.source])
    ]
    names = (f"recall@{MAX_SCORED_CHUNKS}", f"iou@{MAX_SCORED_CHUNKS}")
    return dict(zip(names, score_ranges(gold, retrieved), strict=True))


def score_ranges(gold: Sequence[CharacterRange], retrieved: Sequence[CharacterRange]) -> tuple[float, float]:
    """Return recall and IoU, each character counted once."""
    gold_characters, retrieved_characters = _list_characters(gold), _list_characters(retrieved)
    covered = len(gold_characters & retrieved_characters)
    return covered / len(gold_characters), covered / len(gold_characters | retrieved_characters)


def _list_characters(ranges: Sequence[CharacterRange]) -> set[tuple[str, int]]:
    return {(name, position) for name, start, end in ranges for position in range(start, end)}

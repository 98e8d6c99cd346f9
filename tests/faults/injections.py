"""The attacks of BIPIA and the documents they are set into: text that gives orders to a model."""

import json
from collections.abc import Mapping
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "prompt_injection"
POSITIONS = ("start", "middle", "end")


def rows(name: str) -> list[Mapping[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


ATTACKS = [row["text"] for row in rows("attacks.jsonl")]
DOCUMENTS = rows("documents.jsonl")


def poisoned(document: str, attack: str, position: str) -> str:
    """The document with the attack in a line of its own."""
    cut = {"start": 0, "middle": len(document) // 2, "end": len(document)}[position]
    return f"{document[:cut]}\n{attack}\n{document[cut:]}"

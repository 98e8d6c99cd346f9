"""The blocks of docs/architecture.md: the picture of the rooms and their numbers, read off the imports of the code."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from rag_core.evaluation.markdown_tables import format_table
from tests.docs_blocks import Blocks

PACKAGE = Path(__file__).parents[2] / "rag_core"
DOOR = "door"


def list_arrows() -> Counter[tuple[str, str]]:
    """Return how many imports lead from one room of rag_core to another; "door" is the modules beside the rooms."""
    arrows: Counter[tuple[str, str]] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        room = name_room(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        arrows.update((room, other) for other in list_imported_rooms(path) if other != room)
    return arrows


def list_imported_rooms(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            for alias in node.names:
                yield name_room((*str(node.module).split("."), alias.name))


def name_room(parts: tuple[str, ...]) -> str:
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else DOOR


def draw_rooms() -> str:
    """Return the rooms as a Mermaid graph; of several ways to a room only the longest is drawn, as the rest follow."""
    arrows: defaultdict[str, set[str]] = defaultdict(set)
    for room, other in list_arrows():
        arrows[room].add(other)

    def reaches(start: str, goal: str) -> bool:
        return goal in arrows[start] or any(reaches(other, goal) for other in list(arrows[start]))

    drawn = [
        f"    {room} --> {other}"
        for room in sorted(arrows)
        for other in sorted(arrows[room])
        if not any(reaches(between, other) for between in arrows[room] - {other})
    ]
    return "\n".join(["```mermaid", "flowchart LR", *drawn, "```"])


def count_rooms() -> str:
    """Return a table of the drawing's numbers."""
    arrows = list_arrows()
    rooms = {room for pair in arrows for room in pair}
    circles = sum((other, room) in arrows for room, other in arrows) // 2
    return format_table(["rooms", "arrows between them", "circles"], [[len(rooms), len(arrows), circles]])


BLOCKS: Blocks = {
    "rooms": ("architecture.md", draw_rooms),
    "room-numbers": ("architecture.md", count_rooms),
}

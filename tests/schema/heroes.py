"""A small database of heroes, written for these tests, with rules and questions that were asked before."""

import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Vector
from rag_core.stores.embedded import EmbeddedStore
from rag_core.text.identifiers import list_roots
from tests import fakes

RULES = """# Rules of the hero database

Villains are the heroes whose alignment is Bad. Heroes of alignment Good are never counted as villains.

A height of 0 means that nobody measured the hero: leave such heroes out of every average height.
"""
PAST_QUESTIONS = """\
{"question": "How many heroes have green eyes?", "sql": "SELECT COUNT(*) FROM superhero WHERE eye_colour_id = 2"}
{"question": "Which publisher has most heroes?", "sql": "SELECT publisher_id FROM superhero GROUP BY publisher_id"}
"""
TABLES = """
create table alignment (id integer primary key, alignment text);
create table colour (id integer primary key, colour text);
create table publisher (id integer primary key, publisher_name text);
create table superhero (
    id integer primary key, superhero_name text, full_name text, email text,
    eye_colour_id integer references colour (id), hair_colour_id integer references colour (id),
    publisher_id integer references publisher (id), alignment_id integer references alignment (id),
    height_cm integer, weight_kg integer
);
create table superpower (id integer primary key, power_name text);
create table hero_power (
    hero_id integer references superhero (id), power_id integer references superpower (id)
);
create table invoice (invoice_number integer primary key, issued date, total real, customer_city text);
"""
ROWS = {
    "alignment": [(1, "Good"), (2, "Bad"), (3, "Neutral")],
    "colour": [(1, "Blue"), (2, "Green"), (3, "Brown"), (4, "Red/Orange")],
    "publisher": [(1, "North Star Press"), (2, "Harbour Comics")],
    "superhero": [
        (1, "Tidewall", "Anna Keller", "anna.keller@example.org", 1, 3, 1, 2, 181, 80),
        (2, "Emberfox", "John Miller", "john.miller@example.org", 2, 4, 2, 1, 0, 0),
        (3, "Nightjar", "Maria Lopez", "maria.lopez@example.org", 1, 4, 2, 3, 168, 60),
    ],
    "superpower": [(1, "Flight"), (2, "Cold Breath")],
    "hero_power": [(1, 2), (2, 1), (3, 1)],
    "invoice": [(7001, "2024-01-31", 19.5, "Lisbon"), (7002, "2024-02-29", 7.25, "Turin")],
}


def write_heroes(path: Path) -> None:
    """Write the database to a new SQLite file."""
    with sqlite3.connect(path) as db:
        db.executescript(TABLES)
        for table, rows in ROWS.items():
            marks = ", ".join("?" * len(rows[0]))
            db.executemany(f"insert into {table} values ({marks})", rows)  # noqa: S608 our own names
    db.close()


class WordEmbedder:
    """An axis for words of the same hash: texts are alike that share words."""

    space = "words-256"
    dimensions = 256

    async def embed_query(self, text: str) -> Vector:
        axes = [0.01] * self.dimensions
        for root in list_roots(text):
            axes[crc32(root.encode()) % self.dimensions] += 1.0
        length = math.hypot(*axes)
        return [axis / length for axis in axes]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self.embed_query(text) for text in texts]


def build_schema_kit() -> Kit:
    """Return a kit over an empty index in memory."""
    return fakes.kit(Index(EmbeddedStore(None), WordEmbedder()))

"""A small workbench: documents on cars in memory, an archive in memory, parts small enough to predict."""

import json
from dataclasses import replace

from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Scope, Span
from rag_core.core.ports import LLM
from rag_core.core.run import Run
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.workbench.session import WorkbenchSession
from tests.fakes import SCOPE, ConceptEmbedder, ScriptedLLM, filled, kit

QUESTION = "Which lamp does P0700 light?"
IMAGINED = "The gearbox reports a fault to the engine."
EXPANSION = {
    "queries": ["Meaning of transmission code P0700", "engine misfire"],
    "hyde": IMAGINED,
    "intent": "DEFINITION",
    "entities": ["P0700"],
}
SAID = "P0700 is a request of the TCM to light the lamp."


def part(
    id: str, content: str, line: int, *, document: str = "manual", ordinal: int | None = None, **fields: object
) -> Chunk:
    """A chunk that begins on this line of its document, a line a line."""
    breaks = content.count("\n")
    known = {
        "ordinal": line if ordinal is None else ordinal,
        "title": f"The {document}",
        "source": f"{document}.md",
        "content_hash": f"hash of {content}",
        "spans": (Span(0, len(content), None, line, line + breaks),),
    }
    return Chunk(id=id, document_id=document, content=content, **{**known, **fields})  # type: ignore[arg-type]


MANUAL = (
    part("a", f"{SAID} It is set with a code of the gearbox.", 1, ordinal=0, heading_path=("Codes",)),
    part("b", "The lamp stays on until the gearbox is repaired.", 3, ordinal=1, heading_path=("Codes",)),
    part("c", "A misfire of one cylinder sets P0300 in the engine.", 40, ordinal=2, heading_path=("Engine",)),
    part("d", "A caliper holds the brake.", 1, document="brakes", ordinal=0),
)


def archived(parts: Kit) -> Kit:
    return replace(parts, archive=SqlArchive(ArchiveDatabase(None)))


async def bench(
    *chunks: Chunk, llm: LLM | None = None, index: Index | None = None, scope: Scope = SCOPE, **changed: object
) -> WorkbenchSession:
    """The parts over these chunks, or over the manual; closed by whoever closes the archive."""
    held = index or await filled(*(chunks or MANUAL), embedder=ConceptEmbedder())
    parts = archived(kit(held, llm=llm or ScriptedLLM(query_expansion=json.dumps(EXPANSION))))
    return WorkbenchSession(replace(parts, **changed), Run(), scope)  # type: ignore[arg-type]


def again(bench: WorkbenchSession, **changed: object) -> WorkbenchSession:
    """The next call with the same parts."""
    return replace(bench, run=Run(), **changed)  # type: ignore[arg-type]

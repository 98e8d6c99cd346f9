"""A proposal as a document: one text for all of its stages, its header above every chunk (S2-04, S2-12, S2-16)."""

from collections.abc import Iterator, Mapping

from rag_core.core.model import Block
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload
from rag_core.proposals.records import UNKNOWN, Proposal, Stage

SIZE, OVERLAP = 512, 50  # S2-48


def documents(proposal: Proposal, source: str, *, bodies: bool) -> Iterator[tuple[Upload, Chunking]]:
    """One document a stage: the same text, told apart by metadata (S2-13, S2-15, S2-16). `source` names the corpus.

    Its id is "PROPOSAL:STAGE", so that a chunk's key is "PROPOSAL:STAGE:INDEX" (S2-14).
    """
    top = header(proposal, source)
    blocks = tuple(_blocks(content(proposal, bodies=bodies), top.count("\n") + 1))
    for stage in proposal.stages:
        upload = Upload(
            blocks=blocks,
            document_id=f"{proposal.id}:{stage.name}",
            title=proposal.title,
            source=stage.url or f"{stage.name} {stage.source_id}",
            metadata=_metadata(proposal, stage),
        )
        yield upload, Chunking(chunk_size=SIZE, overlap=OVERLAP, header=top)


def header(proposal: Proposal, source: str) -> str:
    """What tells a passage's subject, down to the word "Content:"."""
    tags = ", ".join(filter(None, (proposal.category, *(stage.name for stage in proposal.stages))))
    lines = {
        "Title": proposal.title,
        "Source": source,
        "Path": proposal.path,
        "Tags": tags,
        "Updated": proposal.updated,
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value) + "\n\nContent:\n"


def content(proposal: Proposal, *, bodies: bool) -> str:
    """The proposal's own fields, then each stage's, in paragraphs; with `bodies` what was written there, too."""
    own = {"Author": proposal.author, "Category": proposal.category, "Created": proposal.created}
    parts = [_listed(own), proposal.body if bodies else ""]
    for stage in proposal.stages:
        parts += [_told(stage), stage.body if bodies else ""]
    return "\n\n".join(filter(None, parts))


def _told(stage: Stage) -> str:
    """The stage's facts, each of which names the stage."""
    facts = {"status": "" if stage.status == UNKNOWN else stage.status, **stage.facts, "URL": stage.url}
    return _listed({f"{stage.name.capitalize()} {name}": value for name, value in facts.items()})


def _listed(facts: Mapping[str, str]) -> str:
    """An item a fact: it may be read, or quoted, by itself."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _metadata(proposal: Proposal, stage: Stage) -> dict[str, str]:
    """S2-15's; the chunk's index and content hash are fields of every chunk."""
    told = {
        "proposal_id": proposal.id,
        "stage": stage.name,
        "status": stage.status,
        "url": stage.url,
        "source_id": stage.source_id,
        "category": proposal.category,
        "created": proposal.created,
    }
    return {name: value for name, value in told.items() if value}


def _blocks(text: str, line: int) -> Iterator[Block]:
    """The paragraphs, with their lines in the whole document, of which the text begins on this one."""
    for paragraph in text.split("\n\n"):
        end = line + paragraph.count("\n")
        yield Block(paragraph, "paragraph", line, end)
        line = end + 2

"""Documents of a proposal: the same text for each of its stages, with a header above every chunk (S2-04, S2-12)."""

from collections.abc import Iterator, Mapping

from rag_core.core.model import Block
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import Upload
from rag_core.proposals.records import UNKNOWN, Proposal, Stage

SIZE, OVERLAP = 512, 50  # S2-48


def documents(proposal: Proposal, source: str, *, bodies: bool) -> Iterator[tuple[Upload, Chunking]]:
    """Yield one upload per stage: the same text with the stage's metadata (S2-13, S2-15, S2-16).

    `source` names the corpus. The document id is "PROPOSAL:STAGE", so that a chunk's key is "PROPOSAL:STAGE:INDEX"
    (S2-14).
    """
    header_text = header(proposal, source)
    blocks = tuple(_blocks(content(proposal, bodies=bodies), header_text.count("\n") + 1))
    for stage in proposal.stages:
        upload = Upload(
            blocks=blocks,
            document_id=f"{proposal.id}:{stage.name}",
            title=proposal.title,
            source=stage.url or f"{stage.name} {stage.source_id}",
            metadata=_metadata(proposal, stage),
        )
        yield upload, Chunking(chunk_size=SIZE, overlap=OVERLAP, header=header_text)


def header(proposal: Proposal, source: str) -> str:
    """Return the header that names a passage's proposal, ending with the line "Content:"."""
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
    """Return the fields of a proposal and of its stages as paragraphs; with `include_bodies` also their texts."""
    facts = {"Author": proposal.author, "Category": proposal.category, "Created": proposal.created}
    parts = [_listed(facts), proposal.body if bodies else ""]
    for stage in proposal.stages:
        parts += [_told(stage), stage.body if bodies else ""]
    return "\n\n".join(filter(None, parts))


def _told(stage: Stage) -> str:
    """Return the facts of a stage as a list, each item beginning with the stage's name."""
    facts = {"status": "" if stage.status == UNKNOWN else stage.status, **stage.facts, "URL": stage.url}
    return _listed({f"{stage.name.capitalize()} {name}": value for name, value in facts.items()})


def _listed(facts: Mapping[str, str]) -> str:
    """Return one list item per fact, so that each can be quoted by itself; empty values are left out."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _metadata(proposal: Proposal, stage: Stage) -> dict[str, str]:
    """Return the metadata of S2-15; the chunk's index and content hash are fields of every chunk."""
    metadata = {
        "proposal_id": proposal.id,
        "stage": stage.name,
        "status": stage.status,
        "url": stage.url,
        "source_id": stage.source_id,
        "category": proposal.category,
        "created": proposal.created,
    }
    return {name: value for name, value in metadata.items() if value}


def _blocks(text: str, line: int) -> Iterator[Block]:
    """Yield the paragraphs with their lines in the document, where the text begins at this line."""
    start = line
    for paragraph in text.split("\n\n"):
        end = start + paragraph.count("\n")
        yield Block(paragraph, "paragraph", start, end)
        start = end + 2

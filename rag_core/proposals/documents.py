"""Documents of a proposal: the same text for each of its stages, with a header above every chunk (S2-04, S2-12)."""

from collections.abc import Iterator, Mapping

from rag_core.core.model import Block
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.upload import Upload
from rag_core.proposals.records import UNKNOWN_STATUS, Proposal, ProposalStage

CHUNK_TOKENS, CHUNK_OVERLAP_TOKENS = 512, 50  # S2-48


def build_stage_uploads(proposal: Proposal, source: str, *, include_bodies: bool) -> Iterator[tuple[Upload, Chunking]]:
    """Yield one upload per stage: the same text with the stage's metadata (S2-13, S2-15, S2-16).

    `source` names the corpus. The document id is "PROPOSAL:STAGE", so that a chunk's key is "PROPOSAL:STAGE:INDEX"
    (S2-14).
    """
    header_text = build_proposal_header(proposal, source)
    blocks = tuple(
        _split_into_paragraph_blocks(
            build_proposal_content(proposal, include_bodies=include_bodies), header_text.count("\n") + 1
        )
    )
    for stage in proposal.stages:
        upload = Upload(
            blocks=blocks,
            document_id=f"{proposal.id}:{stage.name}",
            title=proposal.title,
            source=stage.url or f"{stage.name} {stage.source_id}",
            metadata=_build_stage_metadata(proposal, stage),
            enrichment_budget_usd=0.0,  # nobody is told a price before an ingestion
        )
        yield upload, Chunking(chunk_size=CHUNK_TOKENS, overlap=CHUNK_OVERLAP_TOKENS, header=header_text)


def build_proposal_header(proposal: Proposal, source: str) -> str:
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


def build_proposal_content(proposal: Proposal, *, include_bodies: bool) -> str:
    """Return the fields of a proposal and of its stages as paragraphs; with `include_bodies` also their texts."""
    facts = {"Author": proposal.author, "Category": proposal.category, "Created": proposal.created}
    parts = [_format_fact_list(facts), proposal.body if include_bodies else ""]
    for stage in proposal.stages:
        parts += [_format_stage_facts(stage), stage.body if include_bodies else ""]
    return "\n\n".join(filter(None, parts))


def _format_stage_facts(stage: ProposalStage) -> str:
    """Return the facts of a stage as a list, each item beginning with the stage's name."""
    facts = {"status": "" if stage.status == UNKNOWN_STATUS else stage.status, **stage.facts, "URL": stage.url}
    return _format_fact_list({f"{stage.name.capitalize()} {name}": value for name, value in facts.items()})


def _format_fact_list(facts: Mapping[str, str]) -> str:
    """Return one list item per fact, so that each can be quoted by itself; empty values are left out."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _build_stage_metadata(proposal: Proposal, stage: ProposalStage) -> dict[str, str]:
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


def _split_into_paragraph_blocks(text: str, first_line: int) -> Iterator[Block]:
    """Yield the paragraphs with their lines in the document, where the text begins at this line."""
    start = first_line
    for paragraph in text.split("\n\n"):
        end = start + paragraph.count("\n")
        yield Block(paragraph, "paragraph", start, end)
        start = end + 2

"""An example that asks about a PDF and draws the cited lines: `make picture` writes docs/pictures/cited-page.png."""

import asyncio
import sys
from pathlib import Path

from rag_core.answering.citation_styles import format_place
from rag_core.composition import assembly
from rag_core.core import presets
from rag_core.core.model import Answer, Box, Citation, Claim, Scope
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.page_images import render_page
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.pipelines import answer_with_pipeline

ROOT = Path(__file__).parents[1]
PDF = ROOT / "examples" / "perks-plus.pdf"
PICTURE = ROOT / "docs" / "pictures" / "cited-page.png"
QUESTION = "How much money does PerksPlus reimburse for fitness activities?"
SCOPE = Scope("pictures")


async def answer_from_pdf(question: str, pdf: bytes) -> Answer:
    """Answer a question by local models from an index in memory that contains only the PDF."""
    kit, preset = assembly.build_in_memory_kit(), presets.resolve_preset("pages")
    upload, limits = (
        Upload(data=pdf, filename=PDF.name),
        UploadLimits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30),
    )
    await index_document(upload, SCOPE, kit, Run(), chunking=Chunking("blocks"), limits=limits)
    return await answer_with_pipeline(preset.build_query(question, SCOPE), kit, Run(), pipeline=preset.pipeline)


def format_citation(claim: Claim, citation: Citation) -> str:
    """Format the verdict of a claim, and the place, boxes and quote of a citation."""
    boxes = " ".join("({:.0f} {:.0f} {:.0f} {:.0f})".format(*box) for box in citation.boxes)
    quote = " ".join(citation.quote.split())
    place = format_place(citation.place)
    return f"  {claim.verdict:11} {place}, {citation.source}, boxes {boxes}\n              > {quote}"


def find_cited_page(answer: Answer) -> tuple[int, list[Box]]:
    """Return the page of the first citation, and the boxes of all citations on that page."""
    citations = [citation for claim in answer.claims for citation in claim.citations[:1] if citation.place]
    page = next(citation.place.page for citation in citations if citation.place and citation.place.page)
    boxes = (box for c in citations if c.place and c.place.page == page for box in c.boxes)
    return page, list(dict.fromkeys(boxes))


def main() -> None:
    """Print an answer with its citations, and draw the page that it cites first."""
    pdf = PDF.read_bytes()
    answer = asyncio.run(answer_from_pdf(QUESTION, pdf))
    print(f"{QUESTION}\n\n{answer.text}\n\nConfidence {answer.confidence.value:.2f}, status {answer.status}")
    for claim in answer.claims:
        print(f"\n{claim.text}", *(format_citation(claim, citation) for citation in claim.citations[:1]), sep="\n")
    if answer.status == "unknown":
        sys.exit("The question has no answer in the document, so there is no page to draw.")
    page, boxes = find_cited_page(answer)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(render_page(pdf, page, boxes=boxes, scale=1.5).png)
    print(f"\nSaved page {page} with {len(boxes)} boxes: {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

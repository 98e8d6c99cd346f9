"""Asks a question of a PDF and draws where the answer stands: `make picture` writes docs/pictures/cited-page.png."""

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


async def answer(question: str, pdf: bytes) -> Answer:
    """By the models of this machine, from an index in memory that holds the one PDF."""
    kit, preset = assembly.build_in_memory_kit(), presets.resolve_preset("pages")
    upload, limits = (
        Upload(data=pdf, filename=PDF.name),
        UploadLimits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30),
    )
    await index_document(upload, SCOPE, kit, Run(), chunking=Chunking("blocks"), limits=limits)
    return await answer_with_pipeline(preset.build_query(question, SCOPE), kit, Run(), pipeline=preset.pipeline)


def told(claim: Claim, citation: Citation) -> str:
    """A sentence's verdict, and where it stands."""
    boxes = " ".join("({:.0f} {:.0f} {:.0f} {:.0f})".format(*box) for box in citation.boxes)
    quote = " ".join(citation.quote.split())
    place = format_place(citation.place)
    return f"  {claim.verdict:11} {place}, {citation.source}, boxes {boxes}\n              > {quote}"


def page_and_boxes(found: Answer) -> tuple[int, list[Box]]:
    """The page that is cited first, and all that is cited there."""
    cited = [citation for claim in found.claims for citation in claim.citations[:1] if citation.place]
    page = next(citation.place.page for citation in cited if citation.place and citation.place.page)
    boxes = (box for c in cited if c.place and c.place.page == page for box in c.boxes)
    return page, list(dict.fromkeys(boxes))


def main() -> None:
    pdf = PDF.read_bytes()
    found = asyncio.run(answer(QUESTION, pdf))
    print(f"{QUESTION}\n\n{found.text}\n\nconfidence {found.confidence.value:.2f}, {found.status}")
    for claim in found.claims:
        print(f"\n{claim.text}", *(told(claim, citation) for citation in claim.citations[:1]), sep="\n")
    if found.status == "unknown":
        sys.exit("nothing to draw")
    page, boxes = page_and_boxes(found)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(render_page(pdf, page, boxes=boxes, scale=1.5).png)
    print(f"\npage {page} with {len(boxes)} boxes: {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

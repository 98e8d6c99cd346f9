"""`rag open`: the page of a citation of the last answer, or a document, in the program that the system has for it."""

import asyncio
import json
import re
import webbrowser
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.named_documents import find_document_id
from rag_core.cli.opened_service import run_with_index
from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.model import Answer, Document, Scope
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.ingestion.member_pages import MemberPage
    from rag_core.rag import RAG

LAST_CITATIONS_FILE = "last-citations.json"
_MAX_NAME_CHARS = 60  # of a file that is opened: 240 bytes at most, and file systems take 255
BROWSER_FORMATS = (".pdf",)  # in which a browser opens the page that the address names


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """A document, and the page that a citation of it names; None where it has no pages."""

    document_id: str
    page: int | None = None


def save_last_citations(answer: Answer, data_dir: Path | None) -> None:
    """Remember the places that the numbers of an answer cite, for `rag open`; only where there is a data folder."""
    from rag_core.answering.citation_styles import list_numbered_citations, number_citations

    if data_dir is None or not data_dir.is_dir():
        return
    numbers = number_citations(answer.claims)
    places = {
        str(number): asdict(CitedPlace(citation.document_id, citation.place.page if citation.place else None))
        for claim in answer.claims
        for number, citation in list_numbered_citations(claim, numbers)
    }
    file = data_dir / LAST_CITATIONS_FILE
    file.touch(mode=0o600)
    file.write_text(json.dumps(places), "utf-8")


@run_with_index
async def run_open_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Open the page, and print which; with --print or --json only that."""
    scope = Scope(arguments.workflow)
    documents = (await rag.documents(scope=scope, run=run)).documents
    if re.fullmatch(r"[0-9]+", arguments.what):
        place = _load_citation(arguments.what, rag.settings.data_dir)
    else:
        place = CitedPlace(find_document_id(arguments.what, documents))
    place = CitedPlace(place.document_id, arguments.page or place.page)
    document = next((document for document in documents if document.id == place.document_id), None)
    if document is None:
        raise NotFound("the cited document is no longer in this workflow")
    if arguments.page:
        _require_page(arguments.page, document)
    held = await _take_cited_file(document, place.page, scope, rag, run)
    page = held.page if held else place.page
    file = await _copy_file(_name_member(held), held.data) if held else await _find_file(document, scope, rag)
    address = file.resolve().as_uri()
    if page and file.suffix.lower() in BROWSER_FORMATS:
        address += f"#page={page}"
    if arguments.json:
        print_json({"document_id": place.document_id, "title": document.title, "page": place.page, "address": address})
    else:
        print(address)
    if not (arguments.print or arguments.json) and not webbrowser.open(address):
        raise NotFound("no browser was found: open the address yourself")
    return 0


def _load_citation(number: str, data_dir: Path | None) -> CitedPlace:
    try:
        places = json.loads((data_dir / LAST_CITATIONS_FILE).read_text("utf-8")) if data_dir else {}
        return CitedPlace(**places[number])
    except FileNotFoundError:
        raise NotFound("there is no last answer here: rag ask makes one") from None
    except (KeyError, TypeError, ValueError):
        listed: Sequence[str] = list(places) if isinstance(places, dict) else ()
        known = f"one of {', '.join(listed)}" if listed else "of an answer that cites something: the last one does not"
        raise InvalidRequest("CITATION", f"must be {known}") from None


def _require_page(page: int, document: Document) -> None:
    """Raise InvalidRequest for a page that the document does not have."""
    if not document.pages:
        raise InvalidRequest("--page", f"goes without “{document.title or document.id}”, which has no pages")
    if page > document.pages:
        pages = "1, its only page" if document.pages == 1 else f"from 1 to {document.pages}, the last page"
        raise InvalidRequest("--page", f"of “{document.title or document.id}” must be {pages}", pages=document.pages)


async def _take_cited_file(
    document: Document, page: int | None, scope: Scope, rag: "RAG", run: Run
) -> "MemberPage | None":
    """Return the PDF or picture within a zip or mail that has the page; None for another page or document."""
    from rag_core.ingestion.member_pages import DRAWN_KINDS
    from rag_core.ingestion.originals import load_current_original
    from rag_core.ingestion.source_view import find_drawn_page

    original = await load_current_original(document, rag.kit) if page else None
    if page is None or original is None or original.kind in DRAWN_KINDS:
        return None
    return await find_drawn_page(original, page, scope, rag.kit, run, rag.upload_limits)


async def _find_file(document: Document, scope: Scope, rag: "RAG") -> Path:
    """Return the file that was indexed, else a copy of its stored original."""
    file = Path(document.source)
    if await asyncio.to_thread(file.is_file):
        return file
    original = await rag.kit.archive.load_original(document.id, scope.workflow_id)
    if original is None:
        raise NotFound(f"{document.source or document.id} is no file here, and no original of it is stored")
    return await _copy_file(original.filename or document.id, original.data)


def _name_member(page: "MemberPage") -> str:
    """Return the name of a file within a zip or mail, by which a program knows that it is a PDF."""
    return page.name if page.kind != "pdf" or page.name.lower().endswith(".pdf") else f"{page.name}.pdf"


async def _copy_file(name: str, data: bytes) -> Path:
    """Write a file into a folder of its own; its name is foreign, and as long as its sender likes."""
    last = re.sub(r"[\x00-\x1f<>:\"|?*]", "_", name.replace("\\", "/").rpartition("/")[2])[-_MAX_NAME_CHARS:]
    copy = Path(mkdtemp(prefix="rag-open-"), last.strip(". ") or "original")
    await asyncio.to_thread(copy.write_bytes, data)
    return copy

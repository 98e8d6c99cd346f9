"""The title of a document: what tells it from others of its kind, which a cover says in different places.

A title that only names a form or a notice is completed from the cover: by the organization whose document it is, and by
the period that it is about. The rules look at one document, so that the same upload always has the same title.
"""

import re
from collections.abc import Iterator, Sequence

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.chunking import strip_heading_marks
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.upload import MAX_TITLE_OR_SOURCE_CHARS, Upload
from rag_core.text.organizations import find_captioned_name, find_organization, name_without_form
from rag_core.text.periods import find_date, find_named_period, infer_fiscal_calendar, read_fiscal_calendar

COVER_CHARS = 3000  # of a document, of its first page: a cover, or the head of a letter or a press release
CALENDAR_CHARS = 200_000  # in which a document says how it names its years
_FORM = re.compile(r"\bform\s+[A-Z\d][A-Z\d/-]{0,9}(?:\s+[A-Z])?(?=\s|$)", re.IGNORECASE)
_CELL_BORDERS = re.compile(r"[\s|:_]+")  # "For the year ended: | May 31, 2021"
# lines that say how to handle a document or what it is made of, whatever its subject
_NOTICE = re.compile(
    r"\W{0,12}(?:for (?:immediate |general )?(?:release|publication|distribution)|"
    r"(?:strictly |private and )?confidential|"
    r"(?:final |working )?draft|(?:for )?internal(?: use)?(?: only)?|embargoed.{0,60}|(?:table of )?contents|index|"
    r"press release|news release|mark one|cover(?: page)?|unclassified|public)\W{0,12}",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d/.])(?:19|20)\d\d(?![\d/]|-\d)")  # unlike that of a date of filing, as in 10/28/2022


def choose_title(upload: Upload, extraction: Extraction, source: str) -> str:
    """Return the given title, else the document's own or its first heading, completed from the cover; else a file name.

    A heading that is a notice, such as "For immediate release", is passed over. An archive has the name of its file:
    a heading of one of its files says nothing of the others.
    """
    if given := clean_text(upload.title or "").strip():
        return _shorten(given)
    stem = source.rpartition("/")[2].rpartition(".")[0]
    if extraction.extractor == "zip":
        return _shorten(clean_text(stem or source))
    headings = [strip_heading_marks(block) for block in extraction.blocks if block.kind == "heading"]
    candidates = [_shorten(clean_text(title)) for title in (extraction.title, *headings[:10])]
    stated = next((title for title in candidates if title and not _NOTICE.fullmatch(title)), "")
    return _shorten(_complete_title(stated or next(filter(None, (*candidates, stem, source))), extraction.blocks))


def _shorten(title: str) -> str:
    return title[:MAX_TITLE_OR_SOURCE_CHARS].strip()


def _complete_title(stated: str, blocks: Sequence[Block]) -> str:
    """Return the stated title with the organization and the period of the cover, where it does not say these itself."""
    cover = _read_cover(blocks)
    registrant = find_captioned_name(cover)
    organization = registrant or find_organization(f"{stated}\n\n{cover}")
    period = "" if _YEAR.search(stated) else _find_period(cover, blocks) or (find_date(cover) if registrant else "")
    if organization and not _says(stated, organization):
        stated = f"{organization}: {_shorten_to_form(stated)}"
    return ", ".join(filter(None, (stated, period)))


def _read_cover(blocks: Sequence[Block]) -> str:
    """Return the beginning of the first page, or of a document without pages; rows and tables of Markdown are none."""
    return "\n\n".join(_iterate_cover(blocks))


def _iterate_cover(blocks: Sequence[Block]) -> Iterator[str]:
    left = COVER_CHARS
    for block in blocks:
        if left <= 0 or block.kind == "row" or block.page not in (None, blocks[0].page):
            return
        if block.kind == "table" and block.text.startswith("|"):
            continue
        yield block.text[:left]
        left -= len(block.text)


def _says(title: str, organization: str) -> bool:
    name = set(re.findall(r"\w+", name_without_form(organization).casefold()))
    return name <= set(re.findall(r"\w+", title.casefold()))


def _shorten_to_form(stated: str) -> str:
    """Return the form that a title names: what stands before it is the authority that the form is for."""
    form = _FORM.search(stated)
    return " ".join(form[0].split()) if form else stated


def _find_period(cover: str, blocks: Sequence[Block]) -> str:
    cover = _CELL_BORDERS.sub(" ", cover)
    text = "\n\n".join(block.text for block in blocks if block.kind != "row")[:CALENDAR_CHARS]
    return find_named_period(cover, read_fiscal_calendar(text) or infer_fiscal_calendar(text, cover))

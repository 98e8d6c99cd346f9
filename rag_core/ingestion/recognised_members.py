"""Pictures and scans within a zip or mail: each is read as a file by itself would be, and put in its place.

They come out of the sandbox as bytes, because text recognition and the layout service are outside of it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from rag_core.core.errors import RagError, UnreadableDocument, UnsupportedDocument
from rag_core.core.model import Block, Extraction, PictureMember
from rag_core.core.run import Run
from rag_core.ingestion.extract.extraction import collect_blocks, make_no_text_found_error
from rag_core.ingestion.extract.members import describe_left_out, make_no_text_error, place_in_member
from rag_core.ingestion.recognised_pages import count_lines

_NOT_RECOGNISED = "layout_unavailable"  # the code of a picture that a layout reader failed on

ReadFile = Callable[[bytes, str], Awaitable[Extraction]]  # bytes and the name of a file


@dataclass(slots=True)
class _MemberReadings:
    """What became of the pictures of a container: each that is there twice is read, and paid for, once."""

    read_file: ReadFile
    run: Run
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # the reason, by name
    codes: set[str | None] = field(default_factory=set)
    known: dict[bytes, Extraction | RagError] = field(default_factory=dict)
    silent: RagError | None = None  # of a service that does not answer

    async def read(self, member: PictureMember) -> None:
        name, digest, told = ", ".join(member.names), sha256(member.data).digest(), len(self.run.degraded)
        reading = self.known[digest] = self.known.get(digest) or self.silent or await self._read_new(member)
        self.run.degraded[told:] = [replace(d, fallback=f"{name}: {d.fallback}") for d in self.run.degraded[told:]]
        if isinstance(reading, RagError):
            self._leave_out(name, reading)
            return
        self.notes += [f"{name}: {note}" for note in reading.notes]
        for block in reading.blocks:
            for label in reversed(member.names[1:]):
                block = place_in_member(block, label, 1, 0)
            self.blocks.append(place_in_member(block, member.names[0], member.page, 0))

    async def _read_new(self, member: PictureMember) -> Extraction | RagError:
        try:
            return await self.read_file(member.data, member.names[-1].replace("\\", "/").rpartition("/")[2])
        except (UnreadableDocument, UnsupportedDocument) as error:
            if error.details.get("reason") == _NOT_RECOGNISED:  # the next picture would fail as well
                self.silent = error
            return error

    def _leave_out(self, name: str, error: RagError) -> None:
        self.unread[name] = error.message
        self.codes.add(error.code)
        if error.code == _NOT_RECOGNISED:
            self.run.degrade("layout", error.code, error.message, f"{name} was left out")


async def read_picture_members(extraction: Extraction, read_file: ReadFile, run: Run) -> Extraction:
    """Return the extraction of a zip or mail with what `read_file` reads in its pictures and scans.

    Those that cannot be read are named in a note; the run says so where that is a failure. What the layout service is
    paid for them is told as one sum.

    Raises:
        UnreadableDocument: nothing in the container holds text; `no_text_found` where all was looked at.
    """
    readings, told = _MemberReadings(read_file, run), len(run.warnings)
    pages_before, usd_before = run.layout_pages, run.cost_usd
    for member in extraction.picture_members:
        await readings.read(member)
    _tell_price_once(run, told, run.layout_pages - pages_before, usd_before)
    blocks = collect_blocks(count_lines(_sort_by_page([*extraction.blocks, *readings.blocks])))
    if not blocks:
        if readings.codes == {"no_text_found"} and not extraction.notes:
            raise make_no_text_found_error("nor in any file that it holds")
        code = _NOT_RECOGNISED if _NOT_RECOGNISED in readings.codes else "document_empty"
        raise make_no_text_error(readings.unread, "the archive", code)
    notes = (*extraction.notes, *readings.notes, *describe_left_out(readings.unread))
    return replace(extraction, blocks=blocks, notes=notes, picture_members=())


def _sort_by_page(blocks: Sequence[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: block.page or 0)


def _tell_price_once(run: Run, told: int, pages: int, usd_before: float | None) -> None:
    """Replace the warnings on each picture that was paid for by one on all of them."""
    if not pages:
        return
    run.warnings[told:] = [warning for warning in run.warnings[told:] if warning.code != "layout_pages"]
    what = "1 page of a picture in the file was" if pages == 1 else f"{pages} pages of pictures in the file were"
    sent = f"{what} sent to the layout service"
    if run.cost_usd is not None and usd_before is not None:
        sent += f", which costs about {run.cost_usd - usd_before:.2f} USD"
    run.warn("layout_pages", sent)

"""Presentation extraction: titles, texts, tables, charts and notes, slide by slide; a slide counts as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pptx import Presentation
from pptx.exc import InvalidXmlError, PackageNotFoundError, PythonPptxError
from pptx.table import _Row

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks
from rag_core.ingestion.extract.packages import open_package
from rag_core.ingestion.extract.placed_blocks import BlockMaker
from rag_core.text.raised_marks import join_runs, parse_level

_MAX_GROUP_DEPTH = 20  # of shapes in groups
_SENTENCE_ENDS = (".", "!", "?")
_BULLET_INDENT = "  "


def extract_pptx(data: bytes) -> Extraction:
    """Extract the slides that are shown; hidden ones are left out, with a note.

    Raises:
        UnreadableDocument: the file is damaged, unsafe or too large.
    """
    with open_package(data, "ppt/presentation.xml", "PowerPoint") as package:
        presentation = _open_presentation(package.fp)
        slides = list(presentation.slides)
        shown = [slide._element.get("show") not in ("0", "false") for slide in slides]
        maker = BlockMaker()
        blocks = collect_blocks(
            block
            for number, (slide, is_shown) in enumerate(zip(slides, shown, strict=True), 1)
            if is_shown
            for block in _read_slide(slide, number, maker)
        )
        title = " ".join(clean_text(presentation.core_properties.title or "").split())
    hidden = ", ".join(str(number) for number, is_shown in enumerate(shown, 1) if not is_shown)
    notes = (f"hidden slides were left out: {hidden}",) if hidden else ()
    return Extraction(
        blocks, len(slides), "pptx (python-pptx)", notes, "" if title == "PowerPoint Presentation" else title
    )


def _open_presentation(file: Any) -> Any:
    try:
        return Presentation(file)
    except (PackageNotFoundError, InvalidXmlError, PythonPptxError) as error:
        raise ValueError("no presentation") from error


def _read_slide(slide: Any, number: int, maker: BlockMaker) -> Iterator[Block]:
    maker.begin_page(number)
    place = f"slide {number}"
    title = slide.shapes.title
    if title is not None and (text := _read_text(title.text_frame, "").replace("\n", " ")):
        yield maker.make_heading(text, place, 1)
    shapes = [
        s for s in _iterate_shapes(slide.shapes, _MAX_GROUP_DEPTH) if title is None or s.shape_id != title.shape_id
    ]
    tables = charts = 0
    for shape in shapes:
        if getattr(shape, "has_table", False):
            tables += 1
            if table := maker.make_table(_read_table(shape.table), f"{place}, table {tables}"):
                yield table
        elif getattr(shape, "has_chart", False):
            charts += 1
            if table := maker.make_table(_read_chart(shape.chart), f"{place}, chart {charts}"):
                yield table
        elif shape.has_text_frame and (text := _read_text(shape.text_frame, _BULLET_INDENT)):
            yield maker.make(_mark_points(text) if shape.is_placeholder else text, place)
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if frame is not None and (text := _read_text(frame, "")):
        yield maker.make(text, f"{place}, notes")


def _iterate_shapes(shapes: Iterable[Any], depth: int) -> Iterator[Any]:
    """Yield the shapes in their order, with those of groups in the place of the group."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _iterate_shapes(shape.shapes, depth - 1) if depth else ()
        else:
            yield shape


def _read_text(frame: Any, indent: str) -> str:
    """Return the paragraphs of a text, a line each; a deeper one is an item of a list, indented by its level."""
    lines = ((p.level, " ".join(clean_text(_read_paragraph(p)).split())) for p in frame.paragraphs)
    return "\n".join(f"{indent * level}- {text}" if level and indent else text for level, text in lines if text)


def _read_cell(cell: Any) -> str:
    return "\n".join(map(_read_paragraph, cell.text_frame.paragraphs))


def _read_paragraph(paragraph: Any) -> str:
    """Return the text of a paragraph; its raised and lowered runs state a baseline other than 0."""
    runs = ((run.text, run.xpath("string(./a:rPr/@baseline)")) for run in paragraph._p.content_children)
    return join_runs((text, parse_level(baseline) or 0) for text, baseline in runs)


def _mark_points(text: str) -> str:
    """Return the text of a slide's body with a mark before each of several points that are no sentences.

    Without marks they would be read, and quoted, as one sentence.
    """
    lines = text.split("\n")
    are_sentences = all(line.endswith(_SENTENCE_ENDS) for line in lines)
    if len(lines) == 1 or are_sentences:
        return text
    return "\n".join(line if line.lstrip().startswith("- ") else f"- {line}" for line in lines)


def _read_table(table: Any) -> Sequence[Sequence[str]]:
    """Return the cells of a table; what a merged cell covers is empty.

    python-pptx 1.0 lists all rows anew for each row that is asked of it.
    """
    rows = (_Row(element, table.rows) for element in table._tbl.tr_lst)
    return [["" if cell.is_spanned else clean_text(_read_cell(cell)) for cell in row.cells] for row in rows]


def _read_chart(chart: Any) -> Sequence[Sequence[str]]:
    """Return the numbers behind a chart as a table with its categories in the first column."""
    plot = chart.plots[0]
    categories = [clean_text(str(category)) for category in plot.categories]
    series = list(plot.series)
    head = ["category", *(clean_text(s.name or "") for s in series)]
    values = [_read_values(s) for s in series]
    rows = [
        [category, *(f"{of[at]:.15g}" if at in of else "" for of in values)] for at, category in enumerate(categories)
    ]
    return [head, *rows]


def _read_values(series: Any) -> Mapping[int, float]:
    """Return the stored values of a series by the number of their point: python-pptx looks through all for each."""
    held = series._element.val
    return {} if held is None else {point.idx: point.value for point in reversed(held.xpath(".//c:pt"))}

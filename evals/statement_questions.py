"""`python -m evals.statement_questions FOLDER [--half first]`: questions for figures of annual reports that you have.

FOLDER/pdfs has reports named "Company Name_2019_anything.pdf", of the fiscal year 2019. queries.jsonl and qrels.tsv are
written beside it in the layout of pages, which `rag eval run` reads. The words of the
questions are those of a stranger (evals/data/statement_questions); a page is right that has the figure's row with the
figure of the report's own year: that of the statement, or another. Where two rows are needed, either one's page is.

Every report has half of the questions, and two reports that follow each other the same half of them, so that the two
halves of the reports (every second one, by file name) are asked alike: one is to choose on, the other to report. What
is told in prose is asked as well: what helps figures must not hide it.

evals/data/statement_questions/read has 70 more for ten reports, written from their pages by one who had not looked at
what a search finds: figures in a stranger's words, figures of two statements, and what is told. Each knows its half.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2

from rag_core.evaluation import beir
from rag_core.evaluation.labelled_collection import HALVES

FIGURES = Path(__file__).parent / "data" / "statement_questions" / "figures.jsonl"
READ = FIGURES.with_name("read.jsonl")
STATEMENTS = {
    "income": r"statements? of (?:consolidated )?(?:operations|income|earnings)",
    "balance": r"balance sheets?",
    "cash": r"statements? of (?:consolidated )?cash flows?",
}
HEADING_CHARS = 400  # of a page, within which the title of its statement stands
MIN_FIGURES = 20  # of a page that is a statement, not the contents or an auditor's letter
MAX_PROSE_PAGES = 12  # that tell the same
FIGURE = r"\(?\$? ?\(?(\d[\d,.]*)"


@dataclass(frozen=True, slots=True)
class AskedFigure:
    """A figure of a statement: patterns of its row, and the forms of a question for it."""

    statement: str
    rows: Sequence[str]
    questions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Report:
    """A report by its file, with its company, fiscal year and the text of each page."""

    file: str
    company: str
    year: int
    pages: Sequence[str]


def read_report(path: Path) -> Report:
    company, year = path.stem.split("_")[:2]
    document = pypdfium2.PdfDocument(path)
    try:
        pages = [document[n].get_textpage().get_text_range() for n in range(len(document))]
    finally:
        document.close()
    return Report(path.name, company, int(year), pages)


def load_figures() -> list[AskedFigure]:
    records = map(json.loads, FIGURES.read_text(encoding="utf-8").splitlines())
    return [AskedFigure(one["statement"], one["rows"], one["questions"]) for one in records]


def find_right_pages(report: Report, figure: AskedFigure) -> list[int]:
    """Return the numbers, from 1, of the pages that have the row of the figure with the value in the statement.

    Of what is told in prose they are the pages that tell it.
    """
    if figure.statement == "text":
        told = re.compile("|".join(figure.rows), re.IGNORECASE)
        return [n for n, page in enumerate(report.pages, 1) if told.search(" ".join(page.split()))][:MAX_PROSE_PAGES]
    for row in figure.rows:
        pattern = re.compile(rf"(?<![\w,] ){row}(?: ?\([a-z ,]+\))?[ .:]*\s{FIGURE}", re.IGNORECASE)
        for page in filter(lambda page: _is_statement(page, figure.statement), report.pages):
            if found := pattern.search(page):
                values = (match for match in map(pattern.finditer, report.pages))
                same = [any(one[1].strip(",.") == found[1].strip(",.") for one in of) for of in values]
                return [n for n, is_same in enumerate(same, 1) if is_same]
    return []


def _is_statement(page: str, statement: str) -> bool:
    titled = re.search(STATEMENTS[statement], page[:HEADING_CHARS], re.IGNORECASE)
    return bool(titled) and len(re.findall(r"\d[\d,]{2,}", page)) >= MIN_FIGURES


def ask_of_report(report: Report, figures: Sequence[AskedFigure], number: int) -> Iterator[tuple[str, list[int]]]:
    """Yield every second question that the report, the `number`th, can answer, with its right pages."""
    for n, figure in enumerate(figures):
        pages = find_right_pages(report, figure) if (n + number // 2) % 2 == 0 else []
        if pages:
            form = figure.questions[(n // 2 + number // 2) % len(figure.questions)]
            yield form.format(company=report.company, year=report.year, before=report.year - 1), pages


def list_read_questions(report: Report, half: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the questions of a half that were written for a report, with their right pages; "" is both halves.

    The report is known by its company, its year and its number of pages.
    """
    for one in map(json.loads, READ.read_text(encoding="utf-8").splitlines()):
        is_of_report = (one["company"], one["year"], one["page_count"]) == (
            report.company,
            report.year,
            len(report.pages),
        )
        if is_of_report and half in ("", one["half"]):
            yield one["question"], one["pages"]


def write_questions(folder: Path, half: str = "") -> int:
    """Write queries.jsonl and qrels.tsv for the reports of a folder, or of one half; return how many questions."""
    figures = load_figures()
    reports = [read_report(path) for path in sorted((folder / "pdfs").glob("*.pdf"))]
    asked = [
        (f"{n}-{m}", question, report.file, pages)
        for n, report in enumerate(reports)
        if not half or n % len(HALVES) == HALVES.index(half)
        for m, (question, pages) in enumerate(ask_of_report(report, figures, n))
    ]
    asked += [
        (f"{n}-read-{m}", question, report.file, pages)
        for n, report in enumerate(reports)
        for m, (question, pages) in enumerate(list_read_questions(report, half))
    ]
    queries = [json.dumps({"_id": id, "text": question}) for id, question, _, _ in asked]
    (folder / beir.QUERIES_FILE).write_text("\n".join(queries) + "\n", encoding="utf-8")
    lines = [f"{id}\t{file}#page={page}\t1" for id, _, file, pages in asked for page in pages]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n", encoding="utf-8")
    return len(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=HALVES, default="", help="of the reports that are asked about")
    given = parser.parse_args()
    print(f"{write_questions(given.folder, given.half)} questions")


if __name__ == "__main__":
    main()

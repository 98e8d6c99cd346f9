"""Twelve made documents of three companies that differ in little but their names, years and figures.

Annual reports of two years each, a quarterly report, press releases and travel policies: the covers are the same
boilerplate, the pages behind them seldom name the company, and the files have the names that people give them. Texts
and companies are written by hand in evals/data/filings; figures are drawn with a fixed seed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from evals.filing_pages import SPANNED, FilingTable, PageItem, TextLines, draw_pages
from rag_core.ingestion.upload import Upload
from tests.ingestion.documents import docx

FOLDER = Path(__file__).parent / "data" / "filings"
QUARTERLY_REPORT, QUARTER_ENDS = "TMI_Q2_FY23.pdf", ("July 29, 2023", "July 30, 2022")
YEARS = ("2022", "2023")
ANNUAL_PARTS = (
    "cover", "contents", "business", "risks", "properties", "equity", "discussion", "operations", "balance",
    "cash_flows", "segments", "debt", "leases", "taxes", "auditor",
)  # fmt: skip
QUARTERLY_PARTS = ("cover", "operations", "balance", "discussion", "equity")
OPERATIONS = {
    "Net sales": "sales", "Cost of sales": "cost", "Gross profit": "gross", "Research and development": "research",
    "Selling, general and administrative": "selling", "Operating income": "income", "Net income": "net",
}  # fmt: skip
BALANCE = {
    "Cash and cash equivalents": "cash", "Accounts receivable, net": "receivables", "Inventories": "inventories",
    "Property, plant and equipment, net": "property", "Goodwill": "goodwill", "Total assets": "assets",
    "Accounts payable": "payables", "Long-term debt": "debt",
}  # fmt: skip
CASH_FLOWS = {
    "Net income": "net", "Net cash provided by operating activities": "operating_cash",
    "Capital expenditures": "capital", "Dividends paid": "dividends", "Repurchases of common stock": "repurchases",
}  # fmt: skip
SHARES_OF_SALES = {
    "cost": 0.61, "research": 0.05, "selling": 0.17, "cash": 0.11, "receivables": 0.13, "inventories": 0.14,
    "property": 0.42, "goodwill": 0.2, "payables": 0.08, "debt": 0.3, "operating_cash": 0.15, "capital": 0.06,
    "dividends": 0.03, "repurchases": 0.04,
}  # fmt: skip
SHARES_OF_SEGMENTS = (0.52, 0.31, 0.17)
REASONS = ("freight costs", "the mix of products", "higher wages", "lower costs of materials", "the closing of a site")

Company = Mapping[str, Any]
Figures = Mapping[str, int]
Texts = Mapping[str, Sequence[Sequence[str]]]  # by part: its sections, each a heading and paragraphs


@dataclass(frozen=True, slots=True)
class FilingQuestion:
    """A question, and the file and page that state its answer; page 0 is a document without pages."""

    text: str
    source: str
    page: int


def load_questions() -> list[FilingQuestion]:
    """Return the questions with the page of the part in which their answer stands."""
    companies = {company["key"]: company for company in _load_json("companies.json")}
    records = map(json.loads, (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [_locate_answer(record, companies) for record in records]


def build_uploads() -> list[Upload]:
    """Return the documents, each under its file's name and without a title."""
    companies, texts = _load_json("companies.json"), _load_json("texts.json")
    oakhollow, tarnmoor, castellan = companies
    files = {
        company["files"][year]: _draw_annual_report(company, year, texts) for company in companies for year in YEARS
    }
    files |= {
        QUARTERLY_REPORT: _draw_quarterly_report(tarnmoor, texts),
        "er-q4.docx": _write_press_release(tarnmoor, texts),
        "er-q4 (1).docx": _write_press_release(oakhollow, texts),
        "travel.md": _write_travel_policy(oakhollow, texts),
        "T-and-E policy v7.md": _write_travel_policy(castellan, texts),
        "expenses_new.md": _write_travel_policy(tarnmoor, texts),
    }
    return [Upload(data=data, filename=name) for name, data in files.items()]


def _load_json(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def _locate_answer(record: Mapping[str, str], companies: Mapping[str, Company]) -> FilingQuestion:
    source = record.get("document") or companies[record["company"]]["files"][record["year"]]
    parts = QUARTERLY_PARTS if source == QUARTERLY_REPORT else ANNUAL_PARTS
    return FilingQuestion(record["text"], source, parts.index(record["part"]) + 1 if record["part"] else 0)


def _draw_annual_report(company: Company, year: str, texts: Mapping[str, Any]) -> bytes:
    end, before = company["year_end"][year], company["year_end"][str(int(year) - 1)]
    values = _draw_values(company, year) | {"forward_looking": texts["forward_looking"]}
    cover = {"form": "FORM 10-K", "kind": "ANNUAL", "period": f"For the fiscal year ended {end}"}
    pages: dict[str, list[PageItem]] = {
        "cover": _draw_cover(texts["cover"], values | cover),
        **_write_sections(texts["annual_report"], values),
        **_make_annual_tables(company, year, (end, before)),
    }
    numbered = enumerate(ANNUAL_PARTS, 1)
    return draw_pages([[*pages[part], TextLines((str(n), "Table of Contents"), size=7)] for n, part in numbered])


def _draw_quarterly_report(company: Company, texts: Mapping[str, Any]) -> bytes:
    year, _ = _draw_figures(company, "2023")
    now = {name: round(value * 0.24) for name, value in year.items()}
    before = {name: round(value * 0.93) for name, value in now.items()}
    values = _draw_values(company, "2023")
    period = f"For the quarterly period ended {QUARTER_ENDS[0]}"
    heads = (("", "Three Months Ended", SPANNED), ("", *QUARTER_ENDS))
    pages: dict[str, list[PageItem]] = {
        "cover": _draw_cover(texts["cover"], values | {"form": "FORM 10-Q", "kind": "QUARTERLY", "period": period}),
        **_write_sections(texts["quarterly_report"], values),
        "operations": [_make_table("Consolidated Statements of Operations", company, heads, OPERATIONS, now, before)],
        "balance": [
            _make_table("Consolidated Balance Sheets", company, (("", *QUARTER_ENDS),), BALANCE, year, year),
        ],
    }
    return draw_pages([pages[part] for part in QUARTERLY_PARTS])


def _draw_values(company: Company, year: str) -> dict[str, Any]:
    """Return what the texts of a company's year have in their places."""
    random = Random(f"texts {company['key']} {year}")
    owned, leased, end = random.randint(6, 24), random.randint(8, 60), company["year_end"][year]
    naming = f"Fiscal {year} refers to the year ended {end}. " if not end.startswith("December") else ""
    flaw = "were not effective because of a material weakness over access to the general ledger"
    return {
        **company,
        "end": end, "naming": naming, "owned": owned, "leased": leased, "sites": f"{owned + leased} {company['sites']}",
        "activity": company["business"], "number": 20000 + 317 * len(company["name"]),
        "town": company["city"].split(",")[0],
        "employees": random.randint(1200, 9800), "union": random.randint(4, 40), "feet": random.randint(60, 310),
        "customers": random.choice(("One customer", "Two customers", "Three customers")),
        "dividend": random.randint(20, 160) / 100, "repurchased": random.randint(200, 2400),
        "price": random.randint(1800, 9900) / 100, "remaining": random.randint(20, 400),
        "growth": random.randint(11, 129) / 10, "direction": random.choice(("rose", "fell")),
        "points": random.randint(20, 310), "reason": random.choice(REASONS), "spending": random.randint(12, 95),
        "facility": random.randint(10, 60), "month": random.choice(("March", "June", "October")),
        "maturity": int(year) + random.randint(3, 5), "interest": random.randint(210, 790) / 100,
        "letters": random.randint(21, 309) / 10, "term": random.randint(31, 98) / 10,
        "discount": random.randint(21, 69) / 10, "payments": random.randint(81, 909) / 10,
        "tax": random.randint(152, 289) / 10, "benefits": random.randint(11, 199) / 10,
        "controls": random.choice((flaw, "were effective")), "since": random.randint(1994, 2019),
        "direction_low": random.randint(2, 4), "direction_high": random.randint(5, 8), "meals": random.randint(38, 92),
        "receipts": random.randint(10, 30), "lodging": random.randint(140, 320), "mileage": random.randint(48, 68),
    }  # fmt: skip


def _draw_cover(lines: Sequence[str], values: Mapping[str, Any]) -> list[PageItem]:
    """Return the lines of a cover, the authority and the form in the largest type and the company's name in bold."""
    large, name = {*lines[:2], "{form}"}, "{cover_name}"
    return [
        TextLines((line.format(**values),), size=14 if line in large else 9, bold=line in large or line == name)
        for line in lines
    ]


def _write_sections(texts: Texts, values: Mapping[str, Any]) -> dict[str, list[PageItem]]:
    return {
        part: [TextLines([text.format(**values) for text in section], size=10, heading=True) for section in sections]
        for part, sections in texts.items()
    }


def _make_annual_tables(company: Company, year: str, ends: tuple[str, str]) -> dict[str, list[PageItem]]:
    now, segments = _draw_figures(company, year)
    before, earlier = _draw_figures(company, str(int(year) - 1))
    during, at = (("", "Year Ended", SPANNED), ("", *ends)), (("", "As of", SPANNED), ("", *ends))
    rows = [
        (name, f"{sales:,}", f"{profit:,}", f"{old:,}")
        for name, (sales, profit), (old, _) in zip(company["segments"], segments, earlier, strict=True)
    ]
    heads = (("", "Net sales", "Operating profit", "Net sales, prior year"),)
    return {
        "operations": [_make_table("Consolidated Statements of Operations", company, during, OPERATIONS, now, before)],
        "balance": [_make_table("Consolidated Balance Sheets", company, at, BALANCE, now, before)],
        "cash_flows": [_make_table("Consolidated Statements of Cash Flows", company, during, CASH_FLOWS, now, before)],
        "segments": [FilingTable(f"Note 3. Segments ({company['unit']})", heads, rows, column_width=90)],
    }


def _draw_figures(company: Company, year: str) -> tuple[dict[str, int], list[tuple[int, int]]]:
    """Return the figures of a company's year, and the sales and profit of each segment; they are the same each time."""
    random, scale = Random(f"{company['key']} {year}"), company["scale"] * (1 + 0.07 * (int(year) - 2021))
    segments = [
        (round(scale * share * random.uniform(0.9, 1.1)), round(scale * share * random.uniform(0.05, 0.2)))
        for share in SHARES_OF_SEGMENTS
    ]
    sales = sum(one for one, _ in segments)
    drawn = {name: round(sales * share * random.uniform(0.85, 1.15)) for name, share in SHARES_OF_SALES.items()}
    gross = sales - drawn["cost"]
    income = gross - drawn["research"] - drawn["selling"]
    assets = sum(drawn[name] for name in ("cash", "receivables", "inventories", "property", "goodwill"))
    return drawn | {
        "sales": sales,
        "gross": gross,
        "income": income,
        "net": round(0.77 * income),
        "assets": assets,
    }, segments


def _make_table(
    caption: str,
    company: Company,
    heads: Sequence[tuple[str, ...]],
    lines: Mapping[str, str],
    now: Figures,
    before: Figures,
) -> FilingTable:
    rows = [(label, f"{now[name]:,}", f"{before[name]:,}") for label, name in lines.items()]
    return FilingTable(f"{caption} ({company['unit']})", heads, rows, column_width=90)


def _write_press_release(company: Company, texts: Mapping[str, Any]) -> bytes:
    values = _draw_values(company, "2023") | {"forward_looking": texts["forward_looking"]}
    paragraph = '<w:p><w:pPr><w:pStyle w:val="%s"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>'
    styles = ["Heading1" if text.startswith("# ") else "Normal" for text in texts["press_release"]]
    lines = [escape(text.removeprefix("# ").format(**values)) for text in texts["press_release"]]
    return docx("".join(paragraph % each for each in zip(styles, lines, strict=True)))


def _write_travel_policy(company: Company, texts: Mapping[str, Any]) -> bytes:
    values = _draw_values(company, "2023")
    return "\n\n".join(text.format(**values) for text in texts["travel_policy"]).encode()

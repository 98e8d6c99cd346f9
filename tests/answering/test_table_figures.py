"""Claims about statements of companies, as filings have them and as chat models write them: the true ones stay.

Groups of rows stand between the years and the figures, a header has two lines, the scale stands in a heading, and a
claim writes it out, compares years and computes. The figures are made.
"""

from dataclasses import replace
from typing import get_args

import pytest

from rag_core.answering.citations import evidence_from_hits, rank_passages_for_judge
from rag_core.answering.facts.comparison import read_words
from rag_core.answering.overruling import overrule_by_facts
from rag_core.answering.record_claims import judge_by_records
from rag_core.answering.records import read_records
from rag_core.answering.statements import make_claims, read_statements
from rag_core.answering.table_figures import look_up_figures
from rag_core.core.model import Chunk, Finding, Hit, Judgement, Span

TITLE = "Tarnmoor Instruments, Inc.: FORM 10-K, fiscal year ended May 31, 2023"
BALANCE = """|  | May 31, 2023 (In millions, except par value) | May 31, 2022 (In millions, except par value) |
| ASSETS |  |  |
| Current assets: |  |  |
Cash and cash equivalents | $ 2,410 | $ 1,869
Accounts receivable, net | 695 | 592
Total current assets | 7,743 | 8,875
Goodwill | 4,773 | 4,501
Total assets | $ 25,981 | $ 23,847
| LIABILITIES |  |  |
Short-term debt | $ 781 | $ 1,451
Long-term debt | 9,234 | 7,509
Retained (loss) earnings | (412 ) | 310"""
EARNINGS = """Joint venture earnings follow:

|  | Fiscal Year | Fiscal Year | Fiscal Year |
In Millions | 2023 | 2022 | 2021
Dividends received | 72.6 | 90.5 | 115.7
| Net sales: |  |  |  |
Alba | $ 1,894.5 | $ 2,107.9 | $ 2,132.2
Brenta | 370.2 | 386.9 | 420.5
Total net sales | 2,264.7 | 2,494.8 | 2,552.7"""
INCOME = """| Quarters Ended March 31, | 2023 | 2022 | Inc/ (Dec) |  |
| Revenues |  |  |  |  |
Sales by own restaurants | $ 2,224.3 | $ 2,302.4 | $ (78.1) | (3)%
Revenues from franchises | 3,587.5 | 3,262.8 | 324.7 | 10
TOTAL REVENUES | 5,811.8 | 5,565.2 | 246.6 | 4"""
SEGMENTS = """| Greater China: |  |  |  |
Net sales | $ 40,308 | $ 43,678 | $ 51,942
Operating income | $ 15,261 | $ 16,232 | $ 19,742
| Japan: |  |  |  |
Net sales | $ 21,418 | $ 21,506 | $ 21,733
Operating income | $ 9,279 | $ 9,369 | $ 9,500"""
CHANGES = """|  | Three Months Ended June 30, 2023 | Six Months Ended June 30, 2023 |
Net income (loss) | $ (512) | $ 1,204
(Increase) decrease in receivables | (333) | 444
(Income) cost of pensions | (222) | 555
Cash provided (used) by investing | (777) | (888)"""
PROSE = (
    "Depreciation expense was $497 million, $460 million and $435 million for the years ended December 31, 2023, 2022 "
    "and 2021, respectively. Net sales rose by 4 %, including an unfavorable impact of 1 % related to items that "
    "affect comparability."
)
SCALE = ("Statement of income", "Dollars in millions, except per share data")
LAGE = """Kennzahlen in Mio. EUR, soweit nicht anders angegeben

|  | Q3 2024 | Q3 2023 | Veränd. in % |
Umsatz | 1.804,6 | 2.117,3 | −14,8
Konzernergebnis | −38,4 | 112,6 | –
Investitionen | 1.374,2 | 298,5 | 25,4
|  | 30.09.2024 | 31.12.2023 |  |
Mitarbeiter (Anzahl) | 11.872 | 11.540 | 2,9"""
PARTS = """Segments, 52 weeks ended 30 March 2024, £m

|  | Notes | Retail | Wholesale | Group |
1. External revenue | 14 | 1,612.4 | 805.6 | 2,418.0
2. Underlying operating profit | 15 | 133.8 | 71.5 | 205.3
Like-for-like growth (bps) | | 130bps | 210bps | 155bps"""
HIGHLIGHTS = """|  |  | Millions of yen |  | Thousands of U.S. dollars |
For the years ended March 31 | 2020 | 2021 | 2022 | 2022
Revenue | 1,043,600 | 995,940 | 1,128,914 | 9,231,449
Employees | 75,608 | 79,944 | 77,642 | -"""
RESULTAT = """Compte de résultat (en millions d’euros, sauf données par action)

|  | Notes | 2023 | 2022 retraité |
Chiffre d’affaires | 4.1 | 8 417,3 | 7 962,8
Croissance organique |  | +5,7% | –1,2%"""
CRORES = """Audited results (Rs. in crore, except per share data)

|  | 31.03.2024 Audited | 31.03.2023 Audited |
1. Revenue from operations | 12,473.18 | 11,206.54
9. Profit for the period | 856.79 | 677.56
Basic | 17.76 | 14.07"""
TRUE = [
    (BALANCE, (), "At the end of May 2023, Tarnmoor held cash and cash equivalents of $2,410 million."),
    (BALANCE, (), "Cash and equivalents rose from $1,869 million at May 31, 2022 to $2,410 million at May 31, 2023."),
    (BALANCE, (), "Total assets came to $25.981 billion in 2023, compared with $23.847 billion in 2022."),
    (
        BALANCE,
        (),
        "Short-term debt of $781 million and long-term debt of $9,234 million together were $10,015 million.",
    ),
    (BALANCE, (), "Long-term debt grew by 23.0 %, from $7,509 million in 2022 to $9,234 million in 2023."),
    (BALANCE, (), "Goodwill of $4,773 million was 18.4 % of the total assets of $25,981 million in 2023."),
    (BALANCE, (), "According to its Form 10-K, Tarnmoor had an accumulated loss of $412 million in 2023."),
    (
        EARNINGS,
        (),
        "Dividends received were $72.6 million in fiscal 2023, $90.5 million in 2022 and $115.7 million in 2021.",
    ),
    (EARNINGS, (), "Net sales of Brenta slipped to $370.2 million in fiscal 2023 from $386.9 million in fiscal 2022."),
    (INCOME, SCALE, "Franchises brought revenues of $3,587.5 million in the first quarter of 2023."),
    (INCOME, SCALE, "Total revenues rose to $5,811.8 million in 2023 from $5,565.2 million in 2022."),
    (SEGMENTS, (), "Operating income of $9,279 on net sales of $21,418 is a margin of about 43.3 % for Japan."),
    (SEGMENTS, (), "In fiscal 2023 net sales in Greater China were $40,308."),
    (INCOME, SCALE, "Sales by own restaurants fell by $78.1 million in 2023."),
    (CHANGES, (), "In the three months ended June 30, 2023, there was a net loss of $512."),
    (CHANGES, (), "A net loss of $512 in the quarter was part of a net income of $1,204 for six months of 2023."),
    (CHANGES, (), "Net income (loss) was $(512) for the three months ended June 30, 2023."),
    (CHANGES, (), "Receivables increased by $333 in the second quarter of 2023."),
    (CHANGES, (), "Pensions were an income, and no cost, of $222 in the three months ended June 30, 2023."),
    (CHANGES, (), "Investing used cash of $888 in the six months ended June 30, 2023."),
    (
        "Inventory takes 112.4 days and payables take 60.2 days.",
        (),
        "Inventory takes 112.4 days and payables take 60.2 days: the gap is 52.2 days.",
    ),
    (
        "The rate was 10.4 % in 2022 and 12.9 % in 2023.",
        (),
        "The rate of 12.9 % in 2023 is 1.24 times the rate of 10.4 % in 2022.",
    ),
    ("Take it for 5 weeks, or for 6 weeks.", (), "Take it for 5 (or 6) weeks."),
    (PROSE, (), "Depreciation went from $435 million in 2021 to $460 million in 2022 and $497 million in 2023."),
    (PROSE, (), "Net sales rose by 4 %, with an unfavorable impact of 1 % from items that affect comparability."),
    (LAGE, (), "Der Umsatz ist im dritten Quartal 2024 auf 1.804,6 Mio. EUR gefallen."),
    (LAGE, (), "Die Investitionen lagen im dritten Quartal 2024 bei rund 1,37 Milliarden Euro."),
    (LAGE, (), "Revenue was €1,804.6 million in the third quarter of 2024, down 14.8 %."),
    (LAGE, (), "Der Umsatz sank um 312,7 Mio. EUR, auf 1.804,6 Mio. EUR."),
    (PARTS, (), "Wholesale had external revenue of about £806 million."),
    (PARTS, (), "Retail and Wholesale had an external revenue of £1,612.4m and £805.6m, of the group's £2,418.0m."),
    (HIGHLIGHTS, (), "In 2022 revenue was about $9.23 billion, or ¥1,128,914 million."),
    (HIGHLIGHTS, (), "The number of employees fell by 2,302 to 77,642 in 2022."),
    (RESULTAT, (), "Le chiffre d'affaires 2023 du groupe est de 8,42 milliards d'euros."),
    (RESULTAT, (), "Sales of 2023 were €8,417.3 million, after organic growth of 5.7 %."),
    (CRORES, (), "Profit for the period was Rs. 856.79 crore, some 26 % more than the year before."),
    (CRORES, (), "Revenue from operations rose to 124.73 billion by March 2024."),
    (
        SEGMENTS,
        (),
        "Japan's net sales of $21,418, divided by the average of operating income of $9,279 and $9,369: 2.30 times.",
    ),
    (
        SEGMENTS,
        (),
        "Japan's margins of 43.3 %, 43.6 % and 43.7 %, from $9,279 of $21,418, $9,369 of $21,506 and $9,500 of "
        "$21,733, are 43.5 % on average.",
    ),
    (
        BALANCE,
        (),
        "Goodwill went from 18.9 % of total assets ($4,501 million of $23,847 million) to 18.4 % ($4,773 million of "
        "$25,981 million), by 0.5 percentage points.",
    ),
    (
        BALANCE,
        (),
        "Short-term debt of $781 million and long-term debt of $9,234 million together are 38.5 % of total assets of "
        "$25,981 million in 2023.",
    ),
    (
        BALANCE,
        (),
        "Total assets of $25,981 million less goodwill of $4,773 million are 2.74 times the current assets of $7,743 "
        "million.",
    ),
    (EARNINGS, (), "Net sales fell from $2,552.7 million in 2021 to $2,264.7 million in 2023, a CAGR of -5.8 %."),
    (BALANCE, (), "This means that total assets of $25,981 million in 2023, over goodwill of $4,773 million, are 5.4."),
    (BALANCE, (), "Receivables of $695 million beside total assets of $25,981 million in 2023 are 9.8 days of a year."),
    (
        EARNINGS,
        (),
        "The 3 year average of Brenta's share from 2021 to 2023 is 16.1 %, of 16.5 % (420.5 / 2,552.7), 15.5 % "
        "(386.9 / 2,494.8) and 16.3 % (370.2 / 2,264.7).",
    ),
]
FALSE = [
    (BALANCE, (), "At the end of May 2022, Tarnmoor held cash and cash equivalents of $2,410 million."),
    (BALANCE, (), "At the end of May 2023, Tarnmoor held cash and cash equivalents of $2,410 billion."),
    (BALANCE, (), "Cash and cash equivalents were $2,140 million in 2023."),
    (BALANCE, (), "Total assets were $7,743 million in 2023."),
    (BALANCE, (), "Goodwill was $9,234 million in 2023."),
    (
        BALANCE,
        (),
        "Short-term debt of $781 million and long-term debt of $9,234 million together were $10,115 million.",
    ),
    (BALANCE, (), "Long-term debt grew by 18.7 %, from $7,509 million in 2022 to $9,234 million in 2023."),
    (
        EARNINGS,
        (),
        "Dividends received were $90.5 million in fiscal 2023, $72.6 million in 2022 and $115.7 million in 2021.",
    ),
    (INCOME, SCALE, "Total revenues were $5,565.2 million in 2023."),
    (INCOME, SCALE, "Total revenues were $5,811.8 thousand in 2023."),
    (SEGMENTS, (), "Operating income of $9,279 on net sales of $21,418 is a margin of about 34.3 % for Japan."),
    (BALANCE, (), "Tarnmoor had retained earnings of $412 million in 2023."),
    (BALANCE, (), "At the end of May 2023, Tarnmoor held cash and cash equivalents of €2,410 million."),
    (INCOME, SCALE, "Sales by own restaurants rose by $78.1 million in 2023."),
    (CHANGES, (), "In the three months ended June 30, 2023, there was a net income of $512."),
    (CHANGES, (), "In the three months ended June 30, 2023, there was a net income of $1,204."),
    (CHANGES, (), "Receivables decreased by $333 in the second quarter of 2023."),
    (CHANGES, (), "Pensions were a cost, and no income, of $222 in the three months ended June 30, 2023."),
    (CHANGES, (), "Investing brought cash of $888 in the six months ended June 30, 2023."),
    (PROSE, (), "Depreciation went from $497 million in 2021 to $460 million in 2022 and $435 million in 2023."),
    (LAGE, (), "Der Umsatz ist im dritten Quartal 2024 auf 1.804,6 Tsd. EUR gefallen."),
    (LAGE, (), "Der Umsatz ist im dritten Quartal 2023 auf 1.804,6 Mio. EUR gefallen."),
    (PARTS, (), "Retail had external revenue of £805.6 million."),
    (PARTS, (), "External revenue of Retail was £1,612.4."),
    (PARTS, (), "External revenue of Retail was £14 million."),
    (HIGHLIGHTS, (), "Revenue of 2022 was 1,128,914 thousand yen."),
    (CRORES, (), "Profit for the period was 856.79 million rupees in March 2024."),
    (CRORES, (), "Profit for the period fell by some 26 %, to Rs. 856.79 crore."),
    (
        SEGMENTS,
        (),
        "Japan's net sales of $21,418, divided by the average of operating income of $9,279 and $9,369: 2.31 times.",
    ),
    (
        SEGMENTS,
        (),
        "Japan's margins of 43.3 %, 43.6 % and 43.7 %, from $9,279 of $21,418, $9,369 of $21,506 and $9,500 of "
        "$21,733, are 44.5 % on average.",
    ),
    (
        BALANCE,
        (),
        "Goodwill went from 18.9 % of total assets ($4,501 million of $23,847 million) to 18.4 % ($4,773 million of "
        "$25,981 million), by 1.5 percentage points.",
    ),
    (
        BALANCE,
        (),
        "Short-term debt of $781 million and long-term debt of $9,234 million together are 36.5 % of total assets of "
        "$25,981 million in 2023.",
    ),
    (EARNINGS, (), "Net sales fell from $2,552.7 million in 2021 to $2,264.7 million in 2023, a CAGR of -7.8 %."),
    (EARNINGS, (), "Net sales fell from $2,552.7 million in 2021 to $2,264.7 million in 2023, a CAGR of -6.2 %."),
    (EARNINGS, (), "Net sales fell from $2,552.7 million in 2021 to $2,264.7 million in 2023, a CAGR of -6.0 %."),
    (
        BALANCE,
        (),
        "Current assets of $7,743 million, goodwill of $4,773 million, short-term debt of $781 million and receivables "
        "of $695 million stand beside total assets of $25,981 million in 2023; receivables are 11.4 % of goodwill.",
    ),
    (
        "The rate was 10.4 % in 2022 and 12.9 % in 2023.",
        (),
        "The rate was 10.4 % in 2022 and 12.9 % in 2023; the margin was 2.6 %.",
    ),
]


def find_best_of_yes(content: str, headings: tuple[str, ...], claim: str) -> Finding:
    """Return the best that is left of a yes to a claim, on whichever part of the passage the judge rests it."""
    passages = rank_passages_for_judge(claim, evidence_from_hits([Hit(build_chunk(content, headings), 1.0)]))
    found = {
        overrule_by_facts(claim, passages, Judgement("supported", 0.95, n, judge="yes"), "").finding
        for n in range(len(passages))
    }
    return next(finding for finding in get_args(Finding) if finding in found)


def build_chunk(content: str, headings: tuple[str, ...] = ()) -> Chunk:
    span = Span(0, len(content), 7, 1, content.count("\n") + 1)
    return Chunk("report", "report", 0, content, TITLE, "report.pdf", "report", spans=(span,), heading_path=headings)


@pytest.mark.parametrize(
    ("claim", "finding"),
    [
        ("Total assets of $25,981 million in 2023 are 11.5 times net sales of $2,264.7 million.", "supported"),
        ("Total assets of $25,981 million in 2023 are 12.5 times net sales of $2,264.7 million.", "not_stated"),
        ("Total assets of $25,981 million in 2023 are 10.4 times net sales of $2,494.8 million.", "contradicted"),
        ("Net sales of $2,264.7 million are 9.1 % of average assets ($25,981m and $23,847m).", "supported"),
        ("Net sales of $2,264.7 million are 8.7 % of average assets ($25,981m and $23,847m).", "not_stated"),
    ],
)
def test_what_is_computed_from_two_statements_stands_in_two_passages(claim: str, finding: Finding) -> None:
    """S4-27: whichever of the two a judge rests its yes on."""
    chunks = [replace(build_chunk(content), id=str(n)) for n, content in enumerate((BALANCE, EARNINGS))]
    passages = rank_passages_for_judge(claim, evidence_from_hits([Hit(chunk, 1.0) for chunk in chunks]))
    found = [
        overrule_by_facts(claim, passages, Judgement("supported", 0.95, n, judge="yes"), "").finding
        for n in range(len(passages))
    ]
    assert next(one for one in get_args(Finding) if one in found) == finding


SPENT = "In fiscal 2022 we spent $4,773 million on capital expenditures."
IMPAIRED = "We recorded an impairment of goodwill of $781 million."
OTHERS = "|  | 2023 | 2022 |\nIn millions\nDeferred items | $ 781 | $ 4,501\nSundry reserves | 5,000 | 4,773"


@pytest.mark.parametrize(
    ("first", "second", "claim", "stays"),
    [
        (SPENT, BALANCE, "Capital expenditures were $4,773 million in 2022.", True),
        (IMPAIRED, BALANCE, "The impairment of goodwill was $781 million.", True),
        (BALANCE, OTHERS, "Goodwill was $781 million in 2023.", False),
        (BALANCE, OTHERS, "Goodwill was $4,773 million in 2022.", False),
    ],
)
def test_another_table_neither_contradicts_nor_excuses_what_the_deciding_passage_says(
    first: str, second: str, claim: str, stays: bool
) -> None:
    """S4-27: only a figure that the deciding passage leaves open is looked up beyond it."""
    chunks = [replace(build_chunk(content), id=str(n)) for n, content in enumerate((first, second))]
    passages = rank_passages_for_judge(claim, evidence_from_hits([Hit(chunk, 1.0) for chunk in chunks]))
    deciding = next(n for n, passage in enumerate(passages) if passage.chunk.id == "0")
    judged = overrule_by_facts(claim, passages, Judgement("supported", 0.95, deciding, judge="yes"), "")
    assert (judged.finding == "supported") is stays


def test_a_figure_of_another_document_is_no_support() -> None:
    """S4-27: the statements of two companies have the same rows."""
    claim = "Total assets of $25,981 million in 2023 are 11.5 times net sales of $2,264.7 million."
    chunks = [replace(build_chunk(BALANCE), id="0"), replace(build_chunk(EARNINGS), id="1", document_id="other")]
    passages = rank_passages_for_judge(claim, evidence_from_hits([Hit(chunk, 1.0) for chunk in chunks]))
    for n in range(len(passages)):
        judged = overrule_by_facts(claim, passages, Judgement("supported", 0.95, n, judge="yes"), "")
        assert judged.finding != "supported"


@pytest.mark.parametrize(("content", "headings", "claim"), TRUE)
def test_a_true_claim_about_figures_stays_supported(content: str, headings: tuple[str, ...], claim: str) -> None:
    """S4-27: what a filing states is no less stated for being a figure in millions below a year."""
    assert find_best_of_yes(content, headings, claim) == "supported"


@pytest.mark.parametrize(("content", "headings", "claim"), FALSE)
def test_a_figure_of_another_row_year_or_scale_is_overruled(
    content: str, headings: tuple[str, ...], claim: str
) -> None:
    """S4-27: no judge's yes stands on it."""
    assert find_best_of_yes(content, headings, claim) != "supported"


def test_a_figure_is_told_by_the_year_and_the_row_of_its_cell() -> None:
    chunk = build_chunk(BALANCE)
    placed = look_up_figures(read_words("Goodwill was $4,773 million in 2023, and $4,501 million in 2022."), chunk)
    assert placed.placed == {"$4,773 million", "$4,501 million", "2023", "2022"}
    assert placed.conflicts == ()
    [other_year] = look_up_figures(read_words("Goodwill was $4,773 million in 2022."), chunk).conflicts
    assert other_year.reason.startswith("date: $4,773 million (the passage: May 31, 2023")
    [other_row] = look_up_figures(read_words("Goodwill was $592 million in 2022."), chunk).conflicts
    assert other_row.reason == "number: $592 million (the passage: Goodwill: 4501)"


@pytest.mark.parametrize(("unit", "finding"), [("million", None), ("", "supported"), ("dozen", "contradicted")])
def test_a_record_in_millions_leaves_a_claim_that_writes_them_out_to_the_judge(unit: str, finding: str | None) -> None:
    content = (
        "| In millions | 2023 | 2022 |\n| --- | --- | --- |\n| Revenue | 5,811 | 5,565 |\n| Costs | 4,100 | 4,090 |"
    )
    figure = "6,811" if unit == "dozen" else f"5,811 {unit}".strip()
    [claim] = make_claims(read_statements(f"The revenue 2023 was {figure}."))
    judged = judge_by_records(claim, read_records(evidence_from_hits([Hit(build_chunk(content), 1.0)])))
    assert (judged and judged.finding) == finding

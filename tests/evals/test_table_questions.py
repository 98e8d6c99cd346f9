"""Questions over tables and lists are computed from cited cells, or it is said why not."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from evals.answers import SCOPE
from evals.table_documents import build_uploads
from evals.table_questions import REFUSED, format_report, load_questions, measure
from rag_core.answering.computing.computed_answers import COMPUTED
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Filter
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation.bulk_indexing import index_uploads
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import answer_with_pipeline
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.providers.null_models import NoEmbedder
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import OverlapReranker, kit


@pytest.fixture
async def made() -> AsyncIterator[Kit]:
    reranker = OverlapReranker()
    index = Index(EmbeddedStore(None), NoEmbedder("none is needed for words"))
    made = kit(index, llm=LocalTechniques(reranker, select_key_sentences), reranker=reranker)
    made = replace(made, has_chat_model=False)
    yield made
    await made.close()


async def ask(text: str, kit: Kit) -> tuple[Answer, Run]:
    run = Run(60)
    return await answer_with_pipeline(resolve_preset("standard").build_query(text, SCOPE), kit, run), run


async def test_at_least_18_of_20_questions_are_computed_right_with_their_cells_cited(made: Kit) -> None:
    """Count, compare, extreme, filter, difference, sum and ratio over csv, xlsx, docx, pdf, md and html."""
    outcomes = await measure(made)
    report = format_report(outcomes)
    assert len(load_questions()) == len(outcomes) == 26
    assert sum(not o.flaw for o in outcomes if o.question["operation"] != REFUSED) >= 18, report
    assert not [o for o in outcomes if o.question["operation"] == REFUSED and o.flaw], report
    cited = [citation for o in outcomes for claim in o.answer.claims for citation in claim.citations]
    assert {bool(citation.boxes) for citation in cited if citation.source == "annual_report.pdf"} == {True}


async def test_a_table_that_the_search_cut_is_read_whole(made: Kit) -> None:
    """Three hundred rows, of which the search returns ten."""
    rows = "\n".join(f"W{n:03d},{'Graz' if n % 3 else 'Linz'},{n}" for n in range(1, 301))
    await index_uploads([(SCOPE, Upload(data=f"Wagon,Depot,Load\n{rows}".encode(), filename="wagons.csv"))], made)
    counted, run = await ask("How many wagons are in Linz?", made)
    assert counted.text.startswith("100. Counted: rows with Depot Linz: W003 (Linz)")
    assert run.techniques["operation"] == "count over 100 cells"
    summed, _ = await ask("What is the total load of the wagons in Linz?", made)
    assert summed.text.startswith("15,150. Sum of Load with Depot Linz")
    assert [claim.judgement.judge for claim in summed.claims if claim.judgement] == [COMPUTED]


async def test_a_sum_over_a_missing_cell_is_refused_with_the_reason(made: Kit) -> None:
    await index_uploads([(SCOPE, upload) for upload in build_uploads()], made)
    answer, run = await ask("What is the total revenue of the stores in OK?", made)
    assert (answer.status, answer.claims) == ("unknown", ())
    assert answer.text == "I don't know: Norman has no figure in Revenue (USD)."
    assert [warning.code for warning in run.warnings if warning.code == "not_computed"]


async def test_an_extreme_of_a_column_half_of_words_is_refused_with_the_reason(made: Kit) -> None:
    """A 3ª is a figure to a parser, and was the highest division of a club that was as often in another."""
    seasons = (("2005/06", "1ª Aut."), ("2006/07", "3ª"), ("2007/08", "1ª Aut."), ("2008/09", "3ª"))
    rows = "\n".join(f"| {season} | {division} |" for season, division in seasons)
    table = f"# Seasons\n\n| Season | Division |\n| --- | --- |\n{rows}\n"
    await index_uploads([(SCOPE, Upload(content=table, filename="seasons.md"))], made)
    answer, _ = await ask("Which season has the highest division?", made)
    assert answer.status == "unknown"
    assert "2 of 4 rows have no figure in Division" in answer.text


@pytest.mark.parametrize(
    "text",
    [
        "How many people live there?",
        "Which is the best store?",
        "What is the total?",
        "How many miles is it to Austin?",
    ],
)
async def test_what_no_table_is_about_is_not_computed(text: str, made: Kit) -> None:
    await index_uploads([(SCOPE, upload) for upload in build_uploads()], made)
    answer, run = await ask(text, made)
    assert "operation" not in run.techniques
    assert not [claim for claim in answer.claims if claim.judgement and claim.judgement.judge == COMPUTED]


async def test_rows_that_a_filter_leaves_out_are_not_counted(made: Kit) -> None:
    table = b"Wagon,Depot,Load\nW1,Graz,5\nW2,Graz,7\nW3,Linz,9\n"
    await index_uploads([(SCOPE, Upload(data=table, filename="wagons.csv"))], made)
    conditions = (Filter("metadata.Load", "in", ("7", "9")),)
    query = resolve_preset("standard").build_query("How many wagons are in Graz?", SCOPE, filters=conditions)
    answer = await answer_with_pipeline(query, made, Run(60))
    assert answer.text == "1. Counted: rows with Depot Graz: W2 (Graz)."


POOLS = """# Pools

Visitors of each pool, by year.

| Pool | District | Length (m) | Visitors 2023 | Visitors 2024 | Heated | Entrance fee |
| --- | --- | --- | --- | --- | --- | --- |
| Kornhaus | North | 25 | 84,200 | 91,350 | yes | CHF 8 |
| Marzili | South | 50 | 203,150 | 221,080 | no | CHF 12 |
| Hallerbad | North | 33 | 45,900 | 42,010 | yes | CHF 7 |

Energy used in 2024.

| Item | Spring | Summer |
| --- | --- | --- |
| Chlorine (kg) | 310 | 890 |
"""


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("How many pools are heated?", "2. Counted: rows with Heated yes: Kornhaus (yes), Hallerbad (yes)."),
        ("Which pools are not heated?", "Marzili (no). Selected: rows with Heated no."),
        ("Which pools are not in the North district?", "Marzili (South). Selected: rows with District not North."),
        ("Which pools are in the North district?", "Kornhaus (North), Hallerbad (North)."),
        ("How many districts have a pool?", "2. Counted: different District: North, South."),
        ("Which pools are longer than 30 metres?", "Marzili (50), Hallerbad (33)."),
        ("Which pools cost less than CHF 10?", "Kornhaus (CHF 8), Hallerbad (CHF 7)."),
        ("How many more visitors did Marzili have in 2024 than in 2023?", "17,930, an increase."),
        ("How much did Hallerbad's visitors fall from 2023 to 2024?", "3,890, a decrease."),
        ("How much chlorine was used in summer?", "Chlorine (kg), Summer: 890."),
        ("How many visitors did all pools have together in 2024?", "354,440. Sum of Visitors 2024"),
        ("What do the pools in the South district cost together?", "12 CHF. Sum of Entrance fee with District South"),
        ("What does Marzili cost?", "Marzili, Entrance fee: CHF 12."),
    ],
)
async def test_a_citizens_question_about_a_table_is_answered_from_its_cells(text: str, begin: str, made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=POOLS, filename="pools.md"))], made)
    answer, _ = await ask(text, made)
    assert answer.text.startswith(begin)
    assert [claim.judgement.judge for claim in answer.claims if claim.judgement] == [COMPUTED]


async def test_the_cell_that_is_the_answer_is_cited_first(made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=POOLS, filename="pools.md"))], made)
    answer, _ = await ask("Which pool had the most visitors in 2024?", made)
    assert "Marzili" in answer.claims[0].citations[0].quote


@pytest.mark.parametrize(
    "text", ["How many pools are supervised?", "Which pools are clean?", "What colour is Marzili?"]
)
async def test_a_condition_that_no_column_settles_is_not_computed(text: str, made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=POOLS, filename="pools.md"))], made)
    _, run = await ask(text, made)
    assert "operation" not in run.techniques


FERRIES = """# Ferries

| Ferry | Cabins | Age | Built | Load limit (t) | Day, winter | Day, summer | Night, summer |
| --- | --- | --- | --- | --- | --- | --- | --- |
| Swift | 4 | 21 | 2004 | 80 | 310 | 450 | 270 |
| Puffin | 2 | 3 | 2022 | 40 | 190 | 420 | 150 |
| Auk | 4 | 12 | 2013 | 65 | 220 | 400 | 260 |

| Crew member | Trips by day | Trips by night |
| --- | --- | --- |
| Ada Holm | 31 | 12 |
| Per Lund | 18 | 25 |

Passengers may not board with:

- a lit stove
- fireworks
- loose animals

Profit or loss in £000

| Line | 2023 | 2024 |
| --- | --- | --- |
| North | (40) | 12 |
| South | (31) | (55) |
| East | 20 | (8) |
| Wages | (310) | (290) |
"""


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("Which ferry is the oldest?", "Swift: 21. Highest Age of 3 rows."),
        ("Which ferry was built most recently?", "Puffin: 2022. Highest Built of 3 rows."),
        ("Which is older, Puffin or Auk?", "Auk. Compared: Puffin: 3; Auk: 12."),
        ("Is the Auk or the Swift younger?", "Auk. Compared: Auk: 12; Swift: 21."),
        ("How much more do I pay for a Swift day, summer than for a night, summer?", "180. Difference of Swift:"),
        ("Did Lund make more trips by night than by day?", "Yes. Compared: Trips by night: 25; Trips by day: 18."),
        ("Which ferries have four cabins?", "Swift (4), Auk (4). Selected: rows with Cabins 4."),
        ("Which crew members made more than 20 on trips by night?", "Per Lund (25). Selected:"),
        ("How many things may passengers not board with?", "3. Counted: items of the list: a lit stove, fireworks"),
        ("Which line had the largest loss in 2024?", "Wages: (290) (in £000). Lowest 2024 of 4 rows."),
        ("Did the South line lose more in 2023 or in 2024?", "2024. Compared: 2023: (31); 2024: (55) (in £000)."),
    ],
)
async def test_adjectives_and_losses_say_which_way_a_column_points(text: str, begin: str, made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=FERRIES, filename="ferries.md"))], made)
    answer, _ = await ask(text, made)
    assert answer.text.startswith(begin)


@pytest.mark.parametrize(
    "text",
    [
        "Which ferry is the cheapest?",  # no column is of prices
        "Were the wages of the line higher in 2023 than in 2024?",  # 310 or -310
        "Did the East line lose more in 2023 or in 2024?",  # in 2023 it lost nothing
        "How many old ferries are there?",
    ],
)
async def test_a_measure_that_no_column_has_is_not_computed(text: str, made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=FERRIES, filename="ferries.md"))], made)
    _, run = await ask(text, made)
    assert "operation" not in run.techniques


HUT = """# Ridge Hut

| No. | Guest | Country | Nights | Weight limit (kg) | Bed price (€) | Breakfast |
| --- | --- | --- | --- | --- | --- | --- |
| 1 | Ada Holm | Norway | 3 | 15 | 42 | yes |
| 2 | Per Lund | Norway | 5 | 20 | 38 | no |
| 3 | Zoe Kern | Austria | 2 | 15 | 55 | yes |
| 4 | Jon Berg | Iceland | 7 | 25 | | no |

Spending in 2024

| | Budget 2024 | Actual 2024 | Change |
| --- | --- | --- | --- |
| Fire wood | 1,200 | 1,450 | 250 |
| Spare blankets | 800 | 640 | (160) |
| Total spending | 2,000 | 2,090 | 90 |

Matches

| Side | Won | Lost | Goals |
| --- | --- | --- | --- |
| Larks | 6 | 2 | 14 |
| Rooks | 3 | 5 | 9 |
"""


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("What is the average number of nights of the guests?", "4.25. Average of Nights: Ada Holm 3, Per Lund 5"),
        ("Which guest had the most nights?", "Jon Berg: 7. Highest Nights of 4 rows."),
        ("How many guests from Norway are there?", "2. Counted: rows with Country Norway: Ada Holm (Norway), Per Lund"),
        ("By how much did fire wood go over budget in 2024?", "250 more. Difference of Fire wood: Budget 2024: 1,200"),
        ("Did spare blankets cost more or less than planned in 2024?", "Less. Compared: Actual 2024: 640; Budget"),
        ("Was fire wood under budget in 2024?", "No. Compared: Actual 2024: 1,450; Budget 2024: 1,200."),
        ("How much more was the actual for the wood than for the blankets?", "810. Difference of Actual 2024:"),
        ("What share of the actual spending went on fire wood?", "69.4%. Share of Fire wood in Total spending, Actual"),
        ("Which lines of the spending went down?", "Spare blankets ((160)). Selected: rows with Change less than 0."),
        ("Which sides lost more matches than they won?", "Rooks (5). Selected: rows with Lost more than Won."),
        ("How many goals separate Larks and Rooks?", "5. Difference of Goals: Larks: 14; Rooks: 9."),
        ("How many sides won fewer than four matches?", "1. Counted: rows with Won fewer than 4: Rooks (3)."),
        ("How many goals did Larks and Rooks score together?", "I don't know"),  # "score" is in no table
    ],
)
async def test_ordinary_words_for_what_is_computed_are_understood(text: str, begin: str, made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=HUT, filename="ridge_hut.md"))], made)
    answer, _ = await ask(text, made)
    assert answer.text.startswith(begin)


@pytest.mark.parametrize(
    "text",
    [
        "Which guest is the heaviest?",  # a limit is no weight
        "Which side is the biggest?",  # nothing says how big
        "How heavy is Ada Holm?",
        "What is the bed price of Jon Berg?",  # an empty cell
        "Which sides won more matches than they drew?",
        "Which sides went up?",  # no column of that table says so
    ],
)
async def test_what_no_cell_states_is_not_computed(text: str, made: Kit) -> None:
    await index_uploads([(SCOPE, Upload(content=HUT, filename="ridge_hut.md"))], made)
    _, run = await ask(text, made)
    assert "operation" not in run.techniques


async def test_two_quoted_rows_are_no_answer_to_a_question_for_a_difference(made: Kit) -> None:
    rows = b"Item,Weight\nRed kettle,900\nBlue kettle,650\n"
    await index_uploads([(SCOPE, Upload(data=rows, filename="kettles.csv"))], made)
    answer, run = await ask("How much heavier is the shiny red kettle than the shiny blue kettle?", made)
    assert answer.status == "unknown"
    assert "operation" not in run.techniques


async def test_rows_of_two_documents_of_the_everyday_set_are_read_with_their_heads(made: Kit) -> None:
    """Heads of two rows in Word, and in a PDF with a table right below another. Here words in common choose quotes."""
    outcomes = await measure(made, "everyday", "tuning")
    wrong = [o for o in outcomes if o.flaw and o.answer.status == "answered"]
    assert not [o for o in wrong for claim in o.answer.claims if claim.judgement and claim.judgement.judge == COMPUTED]
    assert sum(not o.flaw for o in outcomes) >= 17, format_report(outcomes)

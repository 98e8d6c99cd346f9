"""Every cell of the degradation matrix, run: the page that users read is what happens."""

import asyncio
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from types import ModuleType

import pytest
from tenacity import wait_none

from local_emulator.search_service import SearchService
from rag_core.answering import answer
from rag_core.core import retrying
from rag_core.ingestion import layout_budget
from tests.faults import matrix
from tests.faults.cells import Cell, Outcome, outcome
from tests.faults.neighbours import stock

WITH_BUDGETS = (  # modules, some of which the service loads with the first request that needs them
    "rag_core.retrieval.steps",
    "rag_core.retrieval.agentic",
    "rag_core.retrieval.classical_retrieval",
    "rag_core.answering.answer",
    "rag_core.answering.summaries",
    "rag_core.answering.text_citation",
    "rag_core.answering.verification",
    "rag_core.guard.classical",
    "rag_core.ingestion.originals",
    "rag_core.ingestion.source_view",
    "rag_core.workbench.responses",
    "rag_core.workbench.consolidation",
    "rag_core.workbench.retrieval_steps",
)
BUDGETS = (  # of the steps, in seconds: in these tests they are short
    "ANSWER_TIMEOUT_S",
    "CITE_TIMEOUT_S",
    "EMBED_TIMEOUT_S",
    "ENRICH_TIMEOUT_S",
    "EXPANSION_TIMEOUT_S",
    "LOAD_ORIGINAL_TIMEOUT_S",
    "LOG_TIMEOUT_S",
    "RERANK_TIMEOUT_S",
    "SCORING_TIMEOUT_S",
    "SEARCH_TIMEOUT_S",
    "STORE_ORIGINAL_TIMEOUT_S",
    "SUMMARY_TIMEOUT_S",
    "VERIFICATION_TIMEOUT_S",
    "WEB_SEARCH_TIMEOUT_S",
)
BUDGET_S = 4.0
AT_ONCE = 12  # most of the time is waiting
MATRIX = matrix.cells(matrix.load())
OUTLASTED = Outcome(0, ("outlasted its deadline",), ())  # no cell of the matrix says so


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once, and what hangs is left early."""
    for name in WITH_BUDGETS:
        import_module(name)
    for module, budget in list_budgets():
        monkeypatch.setattr(module, budget, BUDGET_S)
    monkeypatch.setattr(answer, "DEFAULT_GENERATION", replace(answer.DEFAULT_GENERATION, within_s=BUDGET_S))
    monkeypatch.setattr(retrying, "_jitter", wait_none())
    monkeypatch.setattr(retrying, "RESERVE_S", 0.1)
    monkeypatch.setattr(layout_budget, "LAYOUT_TIME_SHARE", 0.25)


def list_budgets() -> list[tuple[ModuleType, str]]:
    """The budgets by every module that has them: one that imports a budget from another keeps a value of its own."""
    modules = [module for name, module in sys.modules.items() if name.startswith("rag_core.")]
    return [(module, budget) for module in modules for budget in BUDGETS if budget in vars(module)]


@pytest.fixture
def services() -> Iterator[SearchService]:
    with closing(SearchService(None, keys={"key"})) as service:
        yield service


def a_few() -> list[Cell]:
    """One cell of each row, and of each pair of an operation and a neighbour; every fault of each neighbour."""
    first: dict[object, Cell] = {}
    for cell, expected in MATRIX.items():
        first.setdefault((cell.operation, cell.dependency, expected), cell)
        first.setdefault((cell.dependency, cell.fault), cell)
    return list(dict.fromkeys(first.values()))


@pytest.mark.parametrize(
    "chosen", [pytest.param(a_few(), id="a few"), pytest.param(list(MATRIX), id="all", marks=pytest.mark.soak)]
)
async def test_what_a_fault_leaves_is_what_the_matrix_says(chosen: list[Cell], services: SearchService) -> None:
    """C45, C48, C50, G6: 0 x 500, each within its deadline. In CI a cell of each outcome, a soak for all of them.

    A cell that ends otherwise in the crowd, where it may have waited for a core past its deadline, is run again alone.
    """
    await stock(services)
    crowded = await differing(chosen, services, at_once=AT_ONCE)
    alone = await differing(crowded, services, at_once=1)
    print({"cells": len(MATRIX), "run": len(chosen), "run again": len(crowded), "matched": len(chosen) - len(alone)})
    assert alone == {}
    patient = [(module.__name__, budget) for module, budget in list_budgets() if getattr(module, budget) != BUDGET_S]
    assert patient == [], "loaded before in this process, these would keep their whole budget: name them above"


async def test_a_cell_that_is_wrong_is_found(services: SearchService, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the matrix promises what is not so."""
    cell = Cell("graph_query", "store", "down")
    monkeypatch.setitem(MATRIX, cell, replace(MATRIX[cell], status=200))  # type: ignore[arg-type]
    await stock(services)
    assert list(await differing([cell], services, at_once=1)) == [cell]


def test_there_are_500_cells_and_none_is_an_error_of_ours() -> None:
    assert len(MATRIX) >= 500
    assert {expected.status for expected in MATRIX.values()} <= {200, 202, 404, 422, 503, 504, 507}
    assert all(expected.codes for expected in MATRIX.values() if expected.status >= 400)


def test_the_page_is_current() -> None:
    page = matrix.PAGE.read_text("utf-8")
    assert page == matrix.render(page, matrix.load()), "run python -m tests.faults.matrix"


async def differing(chosen: Iterable[Cell], services: SearchService, *, at_once: int) -> dict[Cell, Outcome]:
    """The cells that end otherwise than the matrix says, and how."""
    turn = asyncio.Semaphore(at_once)

    async def run(cell: Cell) -> tuple[Cell, Outcome]:
        async with turn:
            try:
                return cell, await outcome(cell, services)
            except TimeoutError:
                return cell, OUTLASTED

    ended = await asyncio.gather(*map(run, chosen))
    return {cell: was for cell, was in ended if was != MATRIX[cell]}

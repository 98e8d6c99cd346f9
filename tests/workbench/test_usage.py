"""The usage of saved runs is the sum that a reader works out by hand, and unknown prices are counted, not guessed."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rag_core.core.model import SavedQuery
from rag_core.workbench.usage import report_usage
from tests.workbench.sessions import bench

CAUSE = {"step": "grade", "code": "timeout", "reason": "too slow", "fallback": "the order of the search"}


def record(tokens: int, usd: float | None, model: str = "", *causes: Any) -> dict[str, Any]:
    techniques = {"answer": model} if model else {}
    return {
        "input_tokens": tokens,
        "output_tokens": 1,
        "cost_usd": usd,
        "degraded": list(causes),
        "techniques": techniques,
    }


async def test_runs_are_summed_and_those_of_unknown_price_are_counted_apart() -> None:
    session = await bench()
    for steps, pipeline in (
        ({"retrieve": record(100, 0.25, "large", CAUSE)}, "advanced"),
        ({"expand": record(10, 0.5), "augment": record(20, None, "own", CAUSE, CAUSE)}, "workbench"),
        ({}, "standard"),
    ):
        query = SavedQuery(0, "", "?", steps=steps, preset={"pipeline": pipeline})
        await session.kit.archive.add_query(query, session.scope)
    report = await report_usage(session, days=1)
    assert (report.total.runs, report.total.input_tokens, report.total.output_tokens) == (3, 130, 3)
    assert (report.total.cost_usd, report.total.runs_of_unknown_price, report.total.degraded_runs) == (0.75, 1, 2)
    assert {name: usage.runs for name, usage in report.by_model.items()} == {"large": 1, "own": 1, "": 1}
    assert report.by_pipeline["workbench"].input_tokens == 30
    assert [(cause.step, cause.runs) for cause in report.degradations] == [("grade", 2)]
    later = datetime.now(UTC) + timedelta(days=2)
    assert (await report_usage(session, days=2, now=later)).total.runs == 0
    assert (await report_usage(session, days=3, now=later)).total.runs == 3
    await session.kit.archive.close()

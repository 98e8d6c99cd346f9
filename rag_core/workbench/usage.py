"""What the saved runs have used: tokens and their price by day, pipeline and model, and the steps that fell back."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rag_core.core.model import SavedQuery
from rag_core.workbench.session import WorkbenchSession, iterate_saved_queries


@dataclass(slots=True)
class UsageTotal:
    """The usage of runs together. `runs_of_unknown_price` are left out of `cost_usd`."""

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    runs_of_unknown_price: int = 0
    degraded_runs: int = 0

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add one run by the records of its steps."""
        given = list(records)
        prices = [record["cost_usd"] for record in given]
        self.runs += 1
        self.input_tokens += sum(record["input_tokens"] for record in given)
        self.output_tokens += sum(record["output_tokens"] for record in given)
        self.cost_usd += sum(price for price in prices if price is not None)
        self.runs_of_unknown_price += None in prices
        self.degraded_runs += any(record["degraded"] for record in given)


@dataclass(frozen=True, slots=True)
class DegradationCount:
    """A step that fell back, for which reason, and in how many runs."""

    step: str
    code: str
    reason: str
    runs: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The usage of the runs saved since a day: `by_day` by ISO date in UTC, `by_model` by the model that answered."""

    since: str
    total: UsageTotal
    by_day: Mapping[str, UsageTotal]
    by_pipeline: Mapping[str, UsageTotal]
    by_model: Mapping[str, UsageTotal]
    degradations: tuple[DegradationCount, ...]


async def report_usage(session: WorkbenchSession, *, days: int, now: datetime | None = None) -> UsageReport:
    """Return the usage of the runs that the scope has saved today and on the `days` - 1 days before, in UTC."""
    since = ((now or datetime.now(UTC)).astimezone(UTC).date() - timedelta(days=days - 1)).isoformat()
    total = UsageTotal()
    by_day, by_pipeline, by_model = (defaultdict[str, UsageTotal](UsageTotal) for _ in range(3))
    causes: Counter[tuple[str, str, str]] = Counter()
    async for query in iterate_saved_queries(session):
        if _get_day(query) < since:
            break  # they come newest first
        records = list(query.steps.values())
        keys = (_get_day(query), str(query.preset.get("pipeline", "workbench")), _name_model(records))
        for usage in (total, *(group[key] for group, key in zip((by_day, by_pipeline, by_model), keys, strict=True))):
            usage.add(records)
        causes.update({(cause["step"], cause["code"], cause["reason"]) for one in records for cause in one["degraded"]})
    counted = tuple(DegradationCount(*cause, runs) for cause, runs in causes.most_common())
    return UsageReport(since, total, by_day, by_pipeline, by_model, counted)


def _get_day(query: SavedQuery) -> str:
    return query.created_at[:10]


def _name_model(records: Iterable[Mapping[str, Any]]) -> str:
    """Return the model of the answer of a run, else of its last step that names one; "" where none is named."""
    named = {step: name for record in records for step, name in record["techniques"].items()}
    return str(named.get("answer") or next(reversed(named.values()), ""))

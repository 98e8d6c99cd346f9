"""The ceiling of what a layout service may cost for one upload: checked before each call, and said in the refusal."""

from dataclasses import dataclass

from rag_core.core.errors import Unavailable
from rag_core.core.model import Extraction
from rag_core.core.ports import LayoutReader
from rag_core.core.run import Run

DEFAULT_LAYOUT_BUDGET_USD = 5.0  # 500 pages of Document Intelligence
LAYOUT_TIME_SHARE = 0.6  # of the time left: the local parsers need the rest when the service does not answer
NOT_PLANNED = "layout_not_planned"


@dataclass(slots=True)
class BudgetedLayoutReader:
    """A layout reader with what it may cost for an upload, all files in it together, and what it has cost so far."""

    reader: LayoutReader
    budget_usd: float
    spent_usd: float = 0.0

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def kinds(self) -> frozenset[str]:
        return self.reader.kinds

    async def read(self, data: bytes, kind: str, pages: int, run: Run) -> Extraction:
        """Read a document of about so many pages; of a file whose pages are not known before, at least one.

        Raises:
            Unavailable: the reader failed, or the pages would cost more than is left (layout_budget).
        """
        price_usd = pages * self.reader.usd_per_page
        counted = "1 page" if pages == 1 else f"{pages} pages"
        if price_usd and self.spent_usd + price_usd > self.budget_usd + 1e-9:
            if not self.budget_usd:
                message = f"{self.name} would be paid about {price_usd:.2f} USD for {counted}, and may be paid nothing"
                source = "RAG_LAYOUT_BUDGET_USD or layout_budget_usd is 0"
                raise Unavailable(f"{message} ({source}): they were not sent", code="layout_budget")
            left_usd = max(0.0, self.budget_usd - self.spent_usd)
            message = (
                f"{self.name} would be paid about {price_usd:.2f} USD for {counted}, and {left_usd:.2f} USD is left of "
                f"the {self.budget_usd:.2f} USD that one upload may cost (RAG_LAYOUT_BUDGET_USD): they were not sent"
            )
            raise Unavailable(message, code="layout_budget")
        paid_before = run.layout_pages
        try:
            reading = self.reader.read(data, kind)
            return await run.step("layout", reading, within_s=LAYOUT_TIME_SHARE * run.remaining_s)
        except Unavailable as error:
            if error.code != NOT_PLANNED:
                raise
            run.planned_layout_pages += pages
            message = f"{error.message}: {counted} would cost about {price_usd:.2f} USD"
            raise Unavailable(message, code=NOT_PLANNED) from error
        finally:
            self.spent_usd += (run.layout_pages - paid_before) * self.reader.usd_per_page

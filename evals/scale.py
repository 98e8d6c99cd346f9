"""What a corpus needs, on paper: chunks, index size, search units, money and time from 10^4 to 10^9 chunks.

python -m evals.scale [--dims 1536] [--tokens-per-page 500] ... prints the tables of docs/reference/cost-and-scale.md.

The arithmetic of sizes is Microsoft's (learn.microsoft.com/azure/search/vector-search-index-size, 2025-01-09), limits
are those of services created after May 2024 (search-limits-quotas-capacity, 2025-11-20), prices as in
docs/reference/azure-deployment.md.
"""

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from evals.page_sections import fill_section
from rag_core.core.hosted_models import HOSTED_MODELS
from rag_core.evaluation import markdown_tables

GB = 1024**3
HOURS = 730  # a month
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cost-and-scale.md"


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier of Azure AI Search: GB of storage and of vectors in memory a partition, USD an hour and search unit."""

    name: str
    storage: float
    vectors: float
    partitions: int
    usd: float


TIERS = (
    Tier("Basic", 15, 5, 3, 0.101),
    Tier("S1", 160, 35, 12, 0.336),
    Tier("S2", 512, 150, 12, 1.344),
    Tier("S3", 1024, 300, 12, 2.688),
    Tier("L1", 2048, 150, 12, 3.839),
    Tier("L2", 4096, 300, 12, 7.677),
)
PARTITIONS = (1, 2, 3, 4, 6, 12)  # that a service can have
REPLICAS = 2  # Microsoft promises the availability of reads from two


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """A way to keep vectors: bits a number in memory, and how many float32 copies lie on disk beside those."""

    name: str
    bits: int
    originals: int


# learn.microsoft.com/azure/search/vector-search-how-to-storage-options (2025-03-31) names the copies: the one that is
# stored, of compressed vectors the original for rescoring, and what is searched, the only one of plain vectors besides
WAYS = (
    VectorFormat("float32", 32, 1),
    VectorFormat("int8", 8, 2),
    VectorFormat("int8, not stored", 8, 1),
)
PLAIN = WAYS[0]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The numbers that the tables go by. Change one on the command line: `--overlap 0`."""

    tokens_per_page: int = 500
    pages: int = 10  # a document
    chunk_size: int = 800  # tokens, S1-51
    overlap: int = 200  # S1-52
    dims: int = 1536  # S1-27
    bytes_per_token: float = 4.4  # of English text in UTF-8
    text_copies: float = 2.0  # what stands on disk for a byte of text: itself, its words and the other fields
    graph: float = 0.01  # of an HNSW index with m = 4 and 1536 dimensions, share of its vectors
    deleted: float = 0.10  # chunks that are replaced and not yet cleared away
    embedder_usd: float = HOSTED_MODELS["text-embedding-3-small"].input_usd  # a million tokens
    embedder_tokens_per_minute: int = 1_000_000  # the quota: an assumption, set yours

    @property
    def chunks_a_document(self) -> int:
        fresh = self.chunk_size - self.overlap
        return max(1, math.ceil((self.tokens_per_page * self.pages - self.overlap) / fresh))

    def estimate_vectors_gb(self, chunks: int, way: VectorFormat = PLAIN) -> float:
        """Return the GB of vectors in memory."""
        return chunks * self.dims * way.bits / 8 * (1 + self.graph) * (1 + self.deleted) / GB

    def estimate_text_gb(self, chunks: int) -> float:
        """Return the GB on disk of the text, its words and the other fields."""
        return chunks * self.chunk_size * self.bytes_per_token * self.text_copies * (1 + self.deleted) / GB

    def estimate_disk_gb(self, chunks: int, way: VectorFormat = PLAIN) -> float:
        """Return the GB on disk of everything."""
        originals = way.originals * self.estimate_vectors_gb(chunks)
        return self.estimate_text_gb(chunks) + originals + self.estimate_vectors_gb(chunks, way)

    def count_embedding_tokens(self, chunks: int) -> int:
        return chunks * self.chunk_size


@dataclass(frozen=True, slots=True)
class Service:
    """The cheapest services that hold an index; `count` above 1 shares it by workflow."""

    tier: Tier
    partitions: int
    count: int

    @property
    def usd_a_month(self) -> float:
        return self.tier.usd * HOURS * self.partitions * REPLICAS * self.count


def find_cheapest_service(storage_gb: float, vectors_gb: float) -> Service:
    """Return the cheapest service by the month, two replicas each; the fewer services win a draw."""
    return min(_list_fitting_services(storage_gb, vectors_gb), key=lambda service: (service.usd_a_month, service.count))


def _list_fitting_services(storage_gb: float, vectors_gb: float) -> Iterator[Service]:
    for tier in TIERS:
        needed = max(1, math.ceil(max(storage_gb / tier.storage, vectors_gb / tier.vectors)))
        count = math.ceil(needed / tier.partitions)
        share = math.ceil(needed / count)
        yield Service(tier, next(p for p in PARTITIONS if p >= share), count)


def format_scale_tables(given: Assumptions) -> str:
    """Format the tables in Markdown, a row an order of magnitude."""
    sizes = [10**power for power in range(4, 10)]
    return "\n".join([*_format_corpus_rows(given, sizes), "", *_format_service_rows(given, sizes)]) + "\n"


def _format_corpus_rows(given: Assumptions, sizes: list[int]) -> Iterator[str]:
    heads = f"chunks | documents of {given.pages} pages | text and words GB | vectors GB | million tokens to embed"
    yield f"| {heads} | USD | days |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for chunks in sizes:
        tokens = given.count_embedding_tokens(chunks)
        usd, days = tokens / 1e6 * given.embedder_usd, tokens / given.embedder_tokens_per_minute / 60 / 24
        documents, text = chunks // given.chunks_a_document, given.estimate_text_gb(chunks)
        yield _format_row(chunks, documents, text, given.estimate_vectors_gb(chunks), tokens / 1e6, usd, days)


def _format_service_rows(given: Assumptions, sizes: list[int]) -> Iterator[str]:
    yield "| chunks | " + " | ".join(f"{way.name} | USD a month" for way in WAYS) + " |"
    yield "| ---: |" + " --- | ---: |" * len(WAYS)
    for chunks in sizes:
        chosen = [
            find_cheapest_service(given.estimate_disk_gb(chunks, way), given.estimate_vectors_gb(chunks, way))
            for way in WAYS
        ]
        yield _format_row(
            chunks, *[cell for service in chosen for cell in (_format_service(service), service.usd_a_month)]
        )


def _format_service(service: Service) -> str:
    times = f"{service.count:,}×" if service.count > 1 else ""
    return f"{times}{service.tier.name}, {service.partitions}×{REPLICAS}"


def _format_row(*cells: str | float) -> str:
    return markdown_tables.format_row(cell if isinstance(cell, str) else _format_number(cell) for cell in cells)


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/reference/cost-and-scale.md")
    for field in fields(Assumptions):
        kind = int if isinstance(field.default, int) else float
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    given: Mapping[str, float] = vars(parser.parse_args())
    made = format_scale_tables(Assumptions(**{field.name: given[field.name] for field in fields(Assumptions)}))  # type: ignore[arg-type]
    print(made)
    if given["write"]:
        PAGE.write_text(fill_section(PAGE.read_text("utf-8"), "python -m evals.scale --write", made), "utf-8")


if __name__ == "__main__":
    main()

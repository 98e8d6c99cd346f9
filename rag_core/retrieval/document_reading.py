"""Reading a document in its own order, as much of it at once as a reader has room for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rag_core.core.errors import make_unknown_document_error
from rag_core.core.index import Index
from rag_core.core.model import Chunk, Document, Scope
from rag_core.core.run import Run
from rag_core.text.tokens import count_tokens

MAX_PASSAGES = 200  # at once, however short they are


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """Consecutive passages of a document; `next_passage` is the number of the next one, None at the end."""

    document: Document
    chunks: tuple[Chunk, ...]
    next_passage: int | None


async def read_document_passages(
    document_id: str, scope: Scope, index: Index, run: Run, *, first_passage: int, max_tokens: int
) -> DocumentPassages:
    """Return passages from `first_passage` on, the first of a document being 0: one, and more while they fit.

    Raises:
        NotFound: the scope has no such document, or it was deleted.
    """
    document = await run.step("document", index.store.load_document(document_id, scope))
    if document is None:
        raise make_unknown_document_error()
    limit = first_passage + MAX_PASSAGES + 1
    selecting = index.store.select(replace(scope, document_ids=(document_id,)), limit=limit)
    chunks = [chunk for chunk in await run.step("chunks", selecting) if chunk.ordinal >= first_passage]
    shown = _take_within(chunks[:MAX_PASSAGES], max_tokens)
    return DocumentPassages(document, shown, chunks[len(shown)].ordinal if len(shown) < len(chunks) else None)


def _take_within(chunks: Sequence[Chunk], max_tokens: int) -> tuple[Chunk, ...]:
    totals = accumulate(count_tokens(chunk.content) for chunk in chunks)
    fitting = sum(total <= max_tokens for total in totals)
    return tuple(chunks[: max(1, fitting)])

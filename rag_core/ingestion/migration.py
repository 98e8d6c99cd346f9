"""The move of an index to another store with the vectors that it has, and the proof that the two are the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag_core.core.concurrency import run_in_order
from rag_core.core.index import Index
from rag_core.core.model import Chunk, Document, Ranking, Scope
from rag_core.core.ports import Probe
from rag_core.text.sentences import find_sentences

MAX_QUESTIONS = 100
COMPARED_HITS = 5
MAX_CHUNKS = 1_000_000  # of a document: more than any has
MAX_COPIES_AT_ONCE = 8  # documents; a store may take those that come together in one step
MIN_SAME_SHARE = 0.95  # of the vector searches: an index that approximates neighbours misses some

MigrationProgress = Callable[[str, int, int], None]  # name of the stage, how many documents of it are done, of how many


@dataclass(frozen=True, slots=True)
class MovedContent:
    """What was written to the new store; `failed` has the ids of chunks that it does not find yet."""

    documents: int
    chunks: int
    vectors: int
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IndexDifferences:
    """How the new index differs from the old one: documents that are not the same, and questions found alike.

    `same_by_vector` counts the questions whose first five passages by vector are the same, `same_first` those whose
    first passage of hybrid search is. Stores rank words differently, so `same_first` may be lower.
    """

    documents: tuple[str, ...]
    questions: int
    same_by_vector: int
    same_first: int

    @property
    def is_same(self) -> bool:
        """Return whether every document is the same and nearly every question finds the same by vector."""
        return not self.documents and self.same_by_vector >= MIN_SAME_SHARE * self.questions


async def copy_documents(
    documents: Sequence[Document], old: Index, new: Index, progress: MigrationProgress = lambda *_: None
) -> MovedContent:
    """Write the documents of one index to another one, with the vectors that they have; nothing is embedded.

    A document that is there already is replaced, so that an interrupted copy is continued by the next call.

    Raises:
        Conflict: either index holds vectors of another model than its embedder's.
    """
    copied: list[MovedContent] = []

    def tell(moved: MovedContent) -> None:
        copied.append(moved)
        progress("copying", len(copied), len(documents))

    copying = (_copy_document(document, old, new) for document in documents)
    await run_in_order(copying, tell, at_once=MAX_COPIES_AT_ONCE)
    failed = tuple(id for moved in copied for id in moved.failed)
    return MovedContent(
        len(copied), sum(moved.chunks for moved in copied), sum(moved.vectors for moved in copied), failed
    )


async def _copy_document(document: Document, old: Index, new: Index) -> MovedContent:
    scope = _build_owner_scope(document)
    chunks = await _load_chunks(document, old)
    vectors = await old.load_reusable_vectors(document.id, scope)
    replaced = await new.replace_document(document, chunks, scope, vectors)
    return MovedContent(1, len(chunks), sum(chunk.content_hash in vectors for chunk in chunks), replaced.failed)


async def find_index_differences(
    documents: Sequence[Document], old: Index, new: Index, progress: MigrationProgress = lambda *_: None
) -> IndexDifferences:
    """Compare every document and passage of two indexes, and what up to 100 questions find in both.

    The questions are first sentences of passages, spread over the documents, each asked by the owner of its document.
    """
    different = []
    for number, document in enumerate(documents, 1):
        if not await _is_same_document(document, old, new):
            different.append(f"{document.workflow_id}/{document.id}")
        progress("comparing", number, len(documents))
    asked = _spread(documents, MAX_QUESTIONS)
    found = [await _search_both(document, number, old, new) for number, document in enumerate(asked)]
    return IndexDifferences(
        tuple(different),
        len(found),
        sum(_list_first(one[0]) == _list_first(other[0]) for one, other in found),
        sum(_list_first(one[1], 1) == _list_first(other[1], 1) for one, other in found),
    )


async def _is_same_document(document: Document, old: Index, new: Index) -> bool:
    scope, chunks = _build_owner_scope(document), await _load_chunks(document, old)
    embedded = (await old.load_reusable_vectors(document.id, scope)).keys()
    return (
        await new.store.load_document(document.id, scope) == document
        and await _load_chunks(document, new) == chunks
        and (
            (await new.store.load_vectors(document.id, scope)).keys() == embedded
            or (bool(embedded) and await new.store.is_embedded(document, chunks, scope))
        )
    )


async def _search_both(
    document: Document, number: int, old: Index, new: Index
) -> tuple[Sequence[Ranking], Sequence[Ranking]]:
    """Return the rankings of both indexes for a sentence of a document: by vector, then hybrid."""
    scope = _build_owner_scope(document)
    chunks = await _load_chunks(document, old)
    text = _take_sentence(chunks[number % len(chunks)].content) if chunks else document.title
    vector = (await old.embed_queries([text]))[0] if old.embedder.dimensions else None
    probes = [Probe("vector", "" if vector else text, vector), Probe("hybrid", text, vector)]
    return (
        await old.search(probes, scope, limit=COMPARED_HITS),
        await new.search(probes, scope, limit=COMPARED_HITS),
    )


def _build_owner_scope(document: Document) -> Scope:
    """Return the scope of a document's owner, which may read and write it."""
    return Scope(document.workflow_id, document.user_id, document.groups)


async def _load_chunks(document: Document, index: Index) -> list[Chunk]:
    scope = _build_owner_scope(document)
    own = Scope(scope.workflow_id, scope.user_id, scope.groups, (document.id,))
    return list(await index.store.select(own, limit=MAX_CHUNKS))


def _take_sentence(content: str) -> str:
    return next((content[start:end] for start, end in find_sentences(content)), content)[:200]


def _spread(documents: Sequence[Document], count: int) -> list[Document]:
    """Return up to `count` of the documents, evenly spread; of fewer documents each several times."""
    return [documents[n * len(documents) // count] for n in range(count)] if documents else []


def _list_first(ranking: Ranking, count: int = COMPARED_HITS) -> set[str]:
    """Return the texts, by hash, of the first hits: equal texts may stand in either order."""
    return {hit.chunk.content_hash for hit in ranking[:count]}

"""The canaries of the isolation audit: what is planted in each scope, and how it is removed again."""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from secrets import choice

from rag_core.core.errors import NotFound
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Document, Entity, Original, SavedQuery, SavedResult, Scope, Span

AUDIT_RESULT_LIMIT = 100
CANARY_ENTITY_TYPE = "canary"  # the type of the planted entities


@dataclass(frozen=True, slots=True)
class Canary:
    """The data planted in one scope, marked by three random words.

    Others query with `known_word`; `secret_word` must not be returned to them, and `deleted_word`, of a deleted
    document, to nobody.
    There are three documents: a live one, one with the hidden word in its id, and a deleted one.
    """

    scope: Scope
    known_word: str
    secret_word: str
    deleted_word: str

    @property
    def document_ids(self) -> tuple[str, str, str]:
        return f"audit-{self.known_word}", f"audit-{self.secret_word}", f"audit-{self.known_word}-deleted"

    @property
    def progress_id(self) -> str:
        """The id of the planted log of an answer."""
        return f"audit-{self.known_word}"


def create_canaries() -> list[Canary]:
    """Create canaries for four scopes: two workflows, and two users of a third."""
    first, second, third = (f"audit-{_create_random_word()}" for _ in range(3))
    scopes = [Scope(first), Scope(second, "ann"), Scope(third, "ann"), Scope(third, "bob")]
    return [Canary(scope, _create_random_word(), _create_random_word(), _create_random_word()) for scope in scopes]


def _create_random_word() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(16))


async def plant_canary(canary: Canary, kit: Kit) -> None:
    """Index the canary's documents, save a query and begin an answer, and delete the document that nobody may read."""
    for id in canary.document_ids:
        document, chunk = create_canary_document(id, canary), create_canary_chunk(id, canary)
        await kit.index.add_document(document, [chunk], canary.scope)
        if kit.keep_originals:
            await kit.archive.save_original(_create_canary_original(document, chunk))
    await _plant_saved_query(canary, kit)
    await kit.answer_log.start(canary.progress_id, canary.scope)
    await kit.answer_log.append(canary.progress_id, canary.secret_word, canary.scope)
    await kit.index.store.delete(canary.document_ids[2], canary.scope)


def create_canary_document(id: str, canary: Canary) -> Document:
    scope = canary.scope
    return Document(
        id,
        scope.workflow_id,
        _format_canary_title(canary),
        f"{canary.secret_word}.txt",
        canary.secret_word,
        "audit",
        user_id=scope.user_id,
    )


def create_canary_chunk(id: str, canary: Canary) -> Chunk:
    """Create a chunk with the hidden word in every field that a reply may show, and the known word to query by."""
    secret_word = canary.deleted_word if id == canary.document_ids[2] else canary.secret_word
    content = f"The {canary.known_word} valve of {secret_word} opens at 7 bar. The pressure is set by {secret_word}."
    return Chunk(
        id=f"{id}:0",
        document_id=id,
        ordinal=0,
        content=content,
        title=_format_canary_title(canary),
        source=f"{canary.secret_word}.txt",
        content_hash=f"{id}{secret_word}",
        spans=(Span(0, len(content), 1, 1, 1),),
        heading_path=(secret_word,),
        summary=f"On {secret_word}.",
        entities=(Entity(CANARY_ENTITY_TYPE, canary.known_word), Entity(CANARY_ENTITY_TYPE, secret_word)),
        metadata={"known": canary.known_word, secret_word: secret_word},
    )


def _create_canary_original(document: Document, chunk: Chunk) -> Original:
    data = chunk.content.encode()
    metadata = document.title, document.source, "text", document.content_hash
    return Original(document.id, document.workflow_id, *metadata, data)


def _format_canary_title(canary: Canary) -> str:
    return f"Valves of {canary.secret_word}"


async def _plant_saved_query(canary: Canary, kit: Kit) -> None:
    """Save a query with a result in the canary's scope."""
    text = f"Which {canary.known_word} valve is {canary.secret_word}?"
    saved_query = SavedQuery(0, "", text, retrieved_context=({"document_id": canary.document_ids[0], "content": text},))
    stored = await kit.archive.add_query(saved_query, canary.scope)
    await kit.archive.add_result(SavedResult(0, stored.id, text, canary.secret_word), canary.scope)


async def _remove_saved_queries(scope: Scope, kit: Kit) -> None:
    for saved_query in await kit.archive.list_queries(scope, limit=AUDIT_RESULT_LIMIT):
        await kit.archive.delete_query(saved_query.id, scope)


async def remove_planted_data(canaries: Sequence[Canary], intruder_scopes: Sequence[Scope], kit: Kit) -> None:
    """Remove all planted data, also documents that an intruder added under another scope's id."""
    for canary in canaries:
        await _remove_saved_queries(canary.scope, kit)
        await kit.answer_log.purge_workflow(canary.scope.workflow_id)
    for scope, canary in product(intruder_scopes, canaries):
        for id in canary.document_ids:
            await kit.index.store.purge(id, scope)
            await kit.archive.delete_original(id, scope.workflow_id)


async def load_planted_query(canary: Canary, kit: Kit) -> SavedQuery:
    """Return the canary's saved query, whose id anyone can guess. Raises NotFound once it was removed."""
    saved_queries = await kit.archive.list_queries(canary.scope, limit=1)
    if not saved_queries:
        raise NotFound("the planted query was removed", code="query_not_found")
    return saved_queries[0]

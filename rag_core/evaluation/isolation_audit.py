"""The isolation audit: plants canaries in several scopes and tries to read and change them from other scopes."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from rag_core.core.errors import Conflict, InvalidRequest, NotFound
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.ports import ChunkStore
from rag_core.evaluation.isolation_attempts import ATTEMPTS_BY_PATH, SCORED_ATTEMPTS, AttemptBuilder, Intruder
from rag_core.evaluation.isolation_canaries import (
    AUDIT_RESULT_LIMIT,
    Canary,
    create_canaries,
    create_canary_chunk,
    plant_canary,
    remove_planted_data,
)

REFUSAL_ERRORS = (NotFound, InvalidRequest, Conflict)  # valid replies, whose texts are searched for leaks too


@dataclass(frozen=True, slots=True)
class AuditedPath:
    """An audited read or write path: the number of attempts, and a message for each leak."""

    name: str
    attempts: int
    leaks: tuple[str, ...]


async def run_isolation_audit(kit: Kit, *, only_paths: Sequence[str] = ()) -> tuple[AuditedPath, ...]:
    """Plant canaries in four scopes and attempt every path, or those of `only_paths`, from each other scope.

    All planted data is removed, also when the audit fails. Two scopes are workflows; two are users of a third workflow.
    More intruders have no user, or groups with the name of a user. Every attempt is made twice, in both orders of the
    intruders, so that values cached for one are offered to the next. Configured chat and embedding models are called.

    Raises:
        Unavailable: a service did not answer.
    """
    canaries = create_canaries()
    shared_workflow_id = canaries[-1].scope.workflow_id
    extra_scopes = [
        Scope(shared_workflow_id),
        Scope(canaries[1].scope.workflow_id),
        Scope(shared_workflow_id, "eve", ("ann", "user:ann", "*")),
    ]
    intruders = [
        *(_create_intruder(canary.scope, canaries) for canary in canaries),
        *(_create_intruder(scope, canaries) for scope in extra_scopes),
    ]
    try:
        side_channel = await _audit_score_side_channel(canaries, kit)
        order = [*intruders, *reversed(intruders)]
        audited_paths = [
            await _audit_path(name, build_attempts, order, kit)
            for name, build_attempts in ATTEMPTS_BY_PATH.items()
            if not only_paths or name in only_paths
        ]
        return *audited_paths, side_channel, await _audit_own_documents(canaries, kit.index.store)
    finally:
        await remove_planted_data(canaries, [intruder.scope for intruder in intruders], kit)


def _create_intruder(scope: Scope, canaries: Sequence[Canary]) -> Intruder:
    other_canaries = tuple(canary for canary in canaries if canary.scope != scope)
    secrets = {
        word: _format_scope(canary.scope)
        for canary in other_canaries
        for word in (canary.secret_word, canary.deleted_word)
    }
    own_canary = next((canary for canary in canaries if canary.scope == scope), None)
    own_deleted = {own_canary.deleted_word: "a deleted document"} if own_canary else {}
    return Intruder(scope, other_canaries, {**secrets, **own_deleted})


async def _audit_path(
    name: str, build_attempts: AttemptBuilder, intruders: Sequence[Intruder], kit: Kit
) -> AuditedPath:
    leaks, attempts = dict[str, None](), 0
    for reader in intruders:
        for attempt in build_attempts(reader, kit):
            attempts += 1
            leaks |= dict.fromkeys(_find_leaks(name, reader, await _collect_reply_text(attempt)))
    return AuditedPath(name, attempts, tuple(leaks))


async def _collect_reply_text(attempt: Awaitable[object]) -> str:
    try:
        return repr(await attempt).casefold()
    except REFUSAL_ERRORS as refusal:
        return repr((refusal.message, refusal.details)).casefold()


def _find_leaks(name: str, intruder: Intruder, reply_text: str) -> list[str]:
    owners = [owner for word, owner in intruder.owners_by_secret.items() if word in reply_text]
    return [f"{name}: {_format_scope(intruder.scope)} received data of {owner}" for owner in owners]


def _format_scope(scope: Scope) -> str:
    return f"{scope.workflow_id}/{scope.user_id or '(nobody)'}"


async def _audit_score_side_channel(canaries: Sequence[Canary], kit: Kit) -> AuditedPath:
    """Plant the first canary, then the others; the replies to the first scope must not change."""
    first, *others = canaries
    await plant_canary(first, kit)
    first_reader = Intruder(first.scope, (first,), {})
    before = [
        await _collect_reply_text(attempt)
        for build_attempts in SCORED_ATTEMPTS
        for attempt in build_attempts(first_reader, kit)
    ]
    for canary in others:
        await plant_canary(canary, kit)
    after = [
        await _collect_reply_text(attempt)
        for build_attempts in SCORED_ATTEMPTS
        for attempt in build_attempts(first_reader, kit)
    ]
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    counts = f"{changed} of {len(before)} replies changed with documents of other scopes"
    message = f"scores: {counts}: give each tenant its own index"
    return AuditedPath("scores", len(before), (message,) if changed else ())


async def _audit_own_documents(canaries: Sequence[Canary], store: ChunkStore) -> AuditedPath:
    """Check that every scope still reads its own documents as planted, so that no intruder changed them."""
    problems = []
    for canary in canaries:
        contents = {
            chunk.document_id: chunk.content for chunk in await store.select(canary.scope, limit=AUDIT_RESULT_LIMIT)
        }
        planted = {id: create_canary_chunk(id, canary).content for id in canary.document_ids[:2]}
        deleted_ids = [document.id for document in await store.list_deleted(canary.scope)]
        if contents != planted or deleted_ids != [canary.document_ids[2]]:
            problems.append(f"own documents: those of {_format_scope(canary.scope)} differ from what was planted")
    return AuditedPath("own documents", len(canaries), tuple(problems))

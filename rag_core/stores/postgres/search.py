"""Rankings: words by `ts_rank`, meanings by cosine distance, both within what the scope and the filters admit."""

# ruff: noqa: S608 - the SQL is put together from this package's own words; values are bound

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rag_core.core.errors import Conflict
from rag_core.core.model import Chunk, Filter, Hit, Ranking, Scope, Vector
from rag_core.core.ports import Probe
from rag_core.core.rankings import best_first, reciprocal_rank
from rag_core.stores.postgres import reads
from rag_core.stores.postgres.conditions import Condition, passing
from rag_core.stores.postgres.connections import Connection
from rag_core.stores.postgres.records import BOTH, literal
from rag_core.stores.postgres.schema import WIDEST, space
from rag_core.stores.postgres.words import asked

LEG_DEPTH = 50  # at least, before fusion: what stands 50th in both legs still outscores the first of only one
CANDIDATES = 20_000  # chunks that share some word and are ranked by it: each costs a read of all its words
APPROXIMATE_FROM = 50_000  # chunks of a workflow: below, a scan of all is as fast and misses none (ENGINES 7)
EF_SEARCH = 200  # recall 0.98 at 5 ms among 100,000 (ENGINES 7)

# of words in the content and, for less, in the title; longer chunks have more words by chance (1)
RANK = "round(ts_rank('{0, 0, 0.4, 1}', c.words, %s::tsquery, 1)::numeric, 6)::float8"
ID = 'c.external_id collate "C" as chunk'
ORDER = "order by score desc, chunk"

EVERY = 1.0  # added to the rank, which is less, of a chunk with every word: those come before all others

Leg = list[tuple[str, float]]  # ids of chunks with their scores


class Question(NamedTuple):
    """A question's words for the server: all of them, and any."""

    every: str
    some: str


async def rankings(
    db: Connection, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
) -> list[Ranking]:
    """One ranking a probe. Raises Conflict when a vector is not as wide as the stored ones."""
    where, depth = passing(scope, filters), max(limit, LEG_DEPTH)
    await _refuse_other_dimensions(db, [probe.vector for probe in probes if probe.vector is not None])
    nearest = _by_index if not filters and await _many(db, scope) else _exactly
    questions = await _questions(db, [probe.words for probe in probes])
    ranked = []
    for probe, question in zip(probes, questions, strict=True):
        words = await _by_words(db, where, question, depth)
        meanings = [] if probe.vector is None else await nearest(db, where, probe.vector, depth)
        ranked.append(_fused(probe, words, meanings, rrf_k)[:limit])
    return await _hydrated(db, scope, ranked)


async def _questions(db: Connection, texts: Sequence[str]) -> list[Question]:
    """Stop words count only where there is nothing else."""
    sql = """
        select (case when numnode(english) > 0 then english else plainto_tsquery('rag_words', t) end)::text
        from unnest(%s::text[]) with ordinality as asked(t, place), plainto_tsquery('pg_catalog.english', t) english
        order by place"""
    found = await (await db.execute(sql, ([asked(text) for text in texts],))).fetchall()
    return [Question(every, every.replace("&", "|")) for (every,) in found]


async def _by_words(db: Connection, where: Condition, question: Question, depth: int) -> Leg:
    """Chunks with every word before those with some: these are looked at only where those are too few."""
    if not question.every:
        return []
    sql = f"select {ID}, {EVERY} + {RANK} as score from {BOTH} where {where.sql} and c.words @@ %s::tsquery"
    values = (question.some, *where.values, question.every, depth)
    found = await (await db.execute(f"{sql} {ORDER} limit %s", values)).fetchall()
    if len(found) < depth and question.some != question.every:
        found += await _by_some_words(db, where, question, depth - len(found))
    return [(id, score) for id, score in found]


async def _by_some_words(db: Connection, where: Condition, question: Question, depth: int) -> Leg:
    some = where.also("c.words @@ %s::tsquery", question.some).also("not c.words @@ %s::tsquery", question.every)
    candidates = f"select {ID}, c.words from {BOTH} where {some.sql} limit {CANDIDATES}"
    sql = f"select chunk, {RANK} as score from ({candidates}) c {ORDER} limit %s"
    return await (await db.execute(sql, (question.some, *some.values, depth))).fetchall()


async def _exactly(db: Connection, where: Condition, vector: Vector, depth: int) -> Leg:
    """The similarity is rounded to what float32 carries, so that equals are equal; that keeps the index out as well."""
    sql = f"select {ID}, {_similarity('c.embedding <=> %s::vector')} as score from {BOTH} where {where.sql}"
    values = (literal(vector), *where.values, depth)
    found = await db.execute(f"{sql} and c.embedding is not null {ORDER} limit %s", values)
    return [(id, score) for id, score in await found.fetchall()]


async def _by_index(db: Connection, where: Condition, vector: Vector, depth: int) -> Leg:
    await db.execute(
        "select set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        (str(max(EF_SEARCH, depth)),),
    )
    near = (
        f"select {ID}, c.embedding <=> %s::vector as distance from {BOTH} where {where.sql} "
        "and c.embedding is not null order by c.embedding <=> %s::vector limit %s"
    )
    sql = f"select chunk, {_similarity('distance')} as score from ({near}) near {ORDER}"
    found = await db.execute(sql, (literal(vector), *where.values, literal(vector), depth))
    return [(id, score) for id, score in await found.fetchall()]


def _similarity(distance: str) -> str:
    """1 - distance (S3-08); a vector of zeros is like nothing."""
    return f"coalesce(nullif(round((1 - ({distance}))::numeric, 6), 'NaN'), 0)::float8"


async def _many(db: Connection, scope: Scope) -> bool:
    sql = "select count(*) from (select from document_chunks where collection = %s limit %s) few"
    found = await (await db.execute(sql, (scope.workflow_id, APPROXIMATE_FROM))).fetchone()
    return found == (APPROXIMATE_FROM,) and not scope.document_ids and (await space(db)).dimensions <= WIDEST


async def _refuse_other_dimensions(db: Connection, vectors: Sequence[Vector]) -> None:
    kept = (await space(db)).dimensions if vectors else 0
    if kept and {len(vector) for vector in vectors} != {kept}:
        raise Conflict(f"the stored vectors have {kept} dimensions", code="reindex_required")


def _fused(probe: Probe, words: Leg, meanings: Leg, rrf_k: int) -> list[Hit]:
    legs = [_hits(words, probe.label, _rank), _hits(meanings, probe.label, _cosine)]
    both = bool(probe.words) and probe.vector is not None
    return reciprocal_rank(*legs, k=rrf_k) if both else [hit for leg in legs for hit in leg]


def _hits(leg: Leg, label: str, signals: Callable[[float], Mapping[str, float]]) -> list[Hit]:
    """Of chunks of which only the id is known yet: the rest is read for those that are returned."""
    return best_first([Hit(Chunk(id, "", 0, "", "", "", ""), s, signals(s), found_by=(label,)) for id, s in leg])


def _rank(score: float) -> dict[str, float]:
    return {"words": score - EVERY if score > EVERY else score}


def _cosine(score: float) -> dict[str, float]:
    return {"meaning": score}


async def _hydrated(db: Connection, scope: Scope, ranked: list[list[Hit]]) -> list[Ranking]:
    wanted = list({hit.chunk.id for ranking in ranked for hit in ranking})
    chunks = {chunk.id: chunk for chunk in await reads.get(db, scope, wanted)}
    return [[replace(hit, chunk=chunks[hit.chunk.id]) for hit in ranking] for ranking in ranked]

"""Hybrid search in PostgreSQL: lexical by `ts_rank`, vector by cosine distance, both within scope and filters."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

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

LEG_DEPTH = 50  # at least, before fusion: a chunk at rank 50 in both legs still outscores the first of only one leg
CANDIDATES = 20_000  # chunks with some query word that are ranked; each costs a read of its tsvector
APPROXIMATE_FROM = 50_000  # chunks of a workflow; with fewer, an exact scan is as fast and misses none
EF_SEARCH = 200  # recall 0.98 at 5 ms among 100,000 vectors

# The weights are of D, C, B, A. Content words are labelled A; title words C, so that they match but add no rank. Flag 1
# divides by 1 + log(length), because long chunks contain more words by chance.
RANK = "round(ts_rank('{0, 0, 0.4, 1}', c.words, %s::tsquery, 1)::numeric, 6)::float8"
ID = 'c.external_id collate "C" as chunk'
ORDER = "order by score desc, chunk"

EVERY = 1.0  # added to the rank (below 1) of chunks with every query word, so that they come first

Leg = list[tuple[str, float]]  # chunk ids with their scores


class Question(NamedTuple):
    """A query text as two tsqueries: one matches chunks with all of its words, one those with any."""

    every: str
    some: str


async def rankings(
    db: Connection, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
) -> list[Ranking]:
    """Return one ranking per probe. Raises Conflict when a vector has other dimensions than the stored ones."""
    condition, depth = passing(scope, filters), max(limit, LEG_DEPTH)
    await _refuse_other_dimensions(db, [probe.vector for probe in probes if probe.vector is not None])
    search_vectors = _by_index if not filters and await _many(db, scope) else _exactly
    tsqueries = await _questions(db, [probe.words for probe in probes])
    rankings = []
    for probe, tsquery in zip(probes, tsqueries, strict=True):
        lexical_leg = await _by_words(db, condition, tsquery, depth)
        vector_leg = [] if probe.vector is None else await search_vectors(db, condition, probe.vector, depth)
        rankings.append(_fused(probe, lexical_leg, vector_leg, rrf_k)[:limit])
    return await _hydrated(db, scope, rankings)


async def _questions(db: Connection, texts: Sequence[str]) -> list[Question]:
    """Parse query texts to tsqueries; stop words are used only when a text has no other words."""
    sql = """
        select (case when numnode(english) > 0 then english else plainto_tsquery('rag_words', t) end)::text
        from unnest(%s::text[]) with ordinality as asked(t, place), plainto_tsquery('pg_catalog.english', t) english
        order by place"""
    rows = await (await db.execute(sql, ([asked(text) for text in texts],))).fetchall()
    return [Question(every, every.replace("&", "|")) for (every,) in rows]


async def _by_words(db: Connection, condition: Condition, tsquery: Question, depth: int) -> Leg:
    """Rank chunks with every word before those with some, which are searched only when the first are too few."""
    if not tsquery.every:
        return []
    sql = f"select {ID}, {EVERY} + {RANK} as score from {BOTH} where {condition.sql} and c.words @@ %s::tsquery"
    values = (tsquery.some, *condition.values, tsquery.every, depth)
    rows = await (await db.execute(f"{sql} {ORDER} limit %s", values)).fetchall()
    if len(rows) < depth and tsquery.some != tsquery.every:
        rows += await _by_some_words(db, condition, tsquery, depth - len(rows))
    return [(id, score) for id, score in rows]


async def _by_some_words(db: Connection, condition: Condition, tsquery: Question, depth: int) -> Leg:
    any_condition = condition.also("c.words @@ %s::tsquery", tsquery.some).also(
        "not c.words @@ %s::tsquery", tsquery.every
    )
    candidates = f"select {ID}, c.words from {BOTH} where {any_condition.sql} limit {CANDIDATES}"
    sql = f"select chunk, {RANK} as score from ({candidates}) c {ORDER} limit %s"
    return await (await db.execute(sql, (tsquery.some, *any_condition.values, depth))).fetchall()


async def _exactly(db: Connection, condition: Condition, vector: Vector, depth: int) -> Leg:
    """Rank by an exact scan. Rounding the similarity to float32 precision makes ties equal and rules out the index."""
    sql = f"select {ID}, {_similarity('c.embedding <=> %s::vector')} as score from {BOTH} where {condition.sql}"
    values = (literal(vector), *condition.values, depth)
    rows = await db.execute(f"{sql} and c.embedding is not null {ORDER} limit %s", values)
    return [(id, score) for id, score in await rows.fetchall()]


async def _by_index(db: Connection, condition: Condition, vector: Vector, depth: int) -> Leg:
    await db.execute(
        "select set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        (str(max(EF_SEARCH, depth)),),
    )
    nearest = (
        f"select {ID}, c.embedding <=> %s::vector as distance from {BOTH} where {condition.sql} "
        "and c.embedding is not null order by c.embedding <=> %s::vector limit %s"
    )
    sql = f"select chunk, {_similarity('distance')} as score from ({nearest}) near {ORDER}"
    rows = await db.execute(sql, (literal(vector), *condition.values, literal(vector), depth))
    return [(id, score) for id, score in await rows.fetchall()]


def _similarity(distance: str) -> str:
    """Format the SQL of the similarity 1 - distance (S3-08), which is 0 for a vector of zeros."""
    return f"coalesce(nullif(round((1 - ({distance}))::numeric, 6), 'NaN'), 0)::float8"


async def _many(db: Connection, scope: Scope) -> bool:
    sql = "select count(*) from (select from document_chunks where collection = %s limit %s) few"
    row = await (await db.execute(sql, (scope.workflow_id, APPROXIMATE_FROM))).fetchone()
    return row == (APPROXIMATE_FROM,) and not scope.document_ids and (await space(db)).dimensions <= WIDEST


async def _refuse_other_dimensions(db: Connection, vectors: Sequence[Vector]) -> None:
    dimensions = (await space(db)).dimensions if vectors else 0
    if dimensions and {len(vector) for vector in vectors} != {dimensions}:
        raise Conflict(f"the stored vectors have {dimensions} dimensions", code="reindex_required")


def _fused(probe: Probe, lexical_leg: Leg, vector_leg: Leg, rrf_k: int) -> list[Hit]:
    legs = [_hits(lexical_leg, probe.label, _rank), _hits(vector_leg, probe.label, _cosine)]
    is_hybrid = bool(probe.words) and probe.vector is not None
    return reciprocal_rank(*legs, k=rrf_k) if is_hybrid else [hit for leg in legs for hit in leg]


def _hits(leg: Leg, label: str, build_signals: Callable[[float], Mapping[str, float]]) -> list[Hit]:
    """Convert a leg to hits whose chunks have only an id; the rest is loaded for the hits that are returned."""
    return best_first([Hit(Chunk(id, "", 0, "", "", "", ""), s, build_signals(s), found_by=(label,)) for id, s in leg])


def _rank(score: float) -> dict[str, float]:
    return {"words": score - EVERY if score > EVERY else score}


def _cosine(score: float) -> dict[str, float]:
    return {"meaning": score}


async def _hydrated(db: Connection, scope: Scope, rankings: list[list[Hit]]) -> list[Ranking]:
    chunk_ids = list({hit.chunk.id for ranking in rankings for hit in ranking})
    chunks_by_id = {chunk.id: chunk for chunk in await reads.get(db, scope, chunk_ids)}
    return [[replace(hit, chunk=chunks_by_id[hit.chunk.id]) for hit in ranking] for ranking in rankings]

"""Hybrid search in PostgreSQL: lexical by `ts_rank`, vector by cosine distance, both within scope and filters."""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rag_core.core.errors import Conflict
from rag_core.core.model import Chunk, Filter, Hit, Ranking, Scope, Vector
from rag_core.core.ports import Probe
from rag_core.core.rankings import MIN_LEG_DEPTH, fuse_by_reciprocal_rank, sort_by_score
from rag_core.stores.postgres import reads
from rag_core.stores.postgres.conditions import PostgresCondition, build_visible_chunks_condition
from rag_core.stores.postgres.connections import PostgresConnection
from rag_core.stores.postgres.lexical_text import normalize_lexical_query
from rag_core.stores.postgres.records import CHUNKS_JOIN_DOCUMENTS, format_pgvector_literal
from rag_core.stores.postgres.row_security import CHUNKS_VIEW
from rag_core.stores.postgres.schema import MAX_INDEXED_DIMENSIONS, load_postgres_embedding_space

MAX_LEXICAL_CANDIDATES = 20_000  # chunks with some query word that are ranked; each costs a read of its tsvector
MIN_CHUNKS_FOR_HNSW = 50_000  # chunks of a workflow; with fewer, an exact scan is as fast and misses none
HNSW_EF_SEARCH = 200  # recall 0.98 at 5 ms among 100,000 vectors

# The weights are of D, C, B, A. Content words are labelled A; title words C, so that they match but add no rank. Flag 1
# divides by 1 + log(length), because long chunks contain more words by chance.
TS_RANK_SQL = "round(ts_rank('{0, 0, 0.4, 1}', c.words, %s::tsquery, 1)::numeric, 6)::float8"
CHUNK_ID_SQL = 'c.external_id collate "C" as chunk'
ORDER_BY_SCORE_SQL = "order by score desc, chunk"

ALL_WORDS_BONUS = 1.0  # added to the rank (below 1) of chunks with every query word, so that they come first

ScoredChunkIds = list[tuple[str, float]]  # chunk ids with their scores


class TsqueryPair(NamedTuple):
    """A query text as two tsqueries: one matches chunks with all of its words, one those with any."""

    all_words: str
    any_word: str


async def search_postgres(
    db: PostgresConnection, scope: Scope, probes: Sequence[Probe], filters: Sequence[Filter], limit: int, rrf_k: int
) -> list[Ranking]:
    """Return one ranking per probe. Raises Conflict when a vector has other dimensions than the stored ones."""
    condition, depth = build_visible_chunks_condition(scope, filters), max(limit, MIN_LEG_DEPTH)
    await _require_postgres_dimensions(db, [probe.vector for probe in probes if probe.vector is not None])
    search_vectors = _search_hnsw_index if not filters and await _has_many_chunks(db, scope) else _scan_postgres_vectors
    tsqueries = await _parse_tsquery_pairs(db, [probe.lexical_query for probe in probes])
    rankings = []
    for probe, tsquery in zip(probes, tsqueries, strict=True):
        lexical_leg = await _search_postgres_lexical_leg(db, condition, tsquery, depth)
        vector_leg = [] if probe.vector is None else await search_vectors(db, condition, probe.vector, depth)
        rankings.append(_fuse_postgres_legs(probe, lexical_leg, vector_leg, rrf_k)[:limit])
    return await _load_postgres_hit_chunks(db, scope, rankings)


async def _parse_tsquery_pairs(db: PostgresConnection, texts: Sequence[str]) -> list[TsqueryPair]:
    """Parse query texts to tsqueries; stop words are used only when a text has no other words."""
    sql = """
        select (case when numnode(english) > 0 then english else plainto_tsquery('rag_words', t) end)::text
        from unnest(%s::text[]) with ordinality as asked(t, place), plainto_tsquery('pg_catalog.english', t) english
        order by place"""
    rows = await (await db.execute(sql, ([normalize_lexical_query(text) for text in texts],))).fetchall()
    return [TsqueryPair(every, every.replace("&", "|")) for (every,) in rows]


async def _search_postgres_lexical_leg(
    db: PostgresConnection, condition: PostgresCondition, tsquery: TsqueryPair, depth: int
) -> ScoredChunkIds:
    """Rank chunks with every word before those with some, which are searched only when the first are too few."""
    if not tsquery.all_words:
        return []
    sql = (
        f"select {CHUNK_ID_SQL}, {ALL_WORDS_BONUS} + {TS_RANK_SQL} as score from {CHUNKS_JOIN_DOCUMENTS} "
        f"where {condition.sql} and c.words @@ %s::tsquery"
    )
    values = (tsquery.any_word, *condition.values, tsquery.all_words, depth)
    rows = await (await db.execute(f"{sql} {ORDER_BY_SCORE_SQL} limit %s", values)).fetchall()
    if len(rows) < depth and tsquery.any_word != tsquery.all_words:
        rows += await _search_any_word(db, condition, tsquery, depth - len(rows))
    return [(id, score) for id, score in rows]


async def _search_any_word(
    db: PostgresConnection, condition: PostgresCondition, tsquery: TsqueryPair, depth: int
) -> ScoredChunkIds:
    any_condition = condition.and_where("c.words @@ %s::tsquery", tsquery.any_word).and_where(
        "not c.words @@ %s::tsquery", tsquery.all_words
    )
    candidates = (
        f"select {CHUNK_ID_SQL}, c.words from {CHUNKS_JOIN_DOCUMENTS} where {any_condition.sql} "
        f"limit {MAX_LEXICAL_CANDIDATES}"
    )
    sql = f"select chunk, {TS_RANK_SQL} as score from ({candidates}) c {ORDER_BY_SCORE_SQL} limit %s"
    return await (await db.execute(sql, (tsquery.any_word, *any_condition.values, depth))).fetchall()


async def _scan_postgres_vectors(
    db: PostgresConnection, condition: PostgresCondition, vector: Vector, depth: int
) -> ScoredChunkIds:
    """Rank by an exact scan. Rounding the similarity to float32 precision makes ties equal and rules out the index."""
    similarity = _format_similarity_sql("c.embedding <=> %s::vector")
    sql = f"select {CHUNK_ID_SQL}, {similarity} as score from {CHUNKS_JOIN_DOCUMENTS} where {condition.sql}"
    values = (format_pgvector_literal(vector), *condition.values, depth)
    rows = await db.execute(f"{sql} and c.embedding is not null {ORDER_BY_SCORE_SQL} limit %s", values)
    return [(id, score) for id, score in await rows.fetchall()]


async def _search_hnsw_index(
    db: PostgresConnection, condition: PostgresCondition, vector: Vector, depth: int
) -> ScoredChunkIds:
    await db.execute(
        "select set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        (str(max(HNSW_EF_SEARCH, depth)),),
    )
    nearest = (
        f"select {CHUNK_ID_SQL}, c.embedding <=> %s::vector as distance from {CHUNKS_JOIN_DOCUMENTS} "
        f"where {condition.sql} and c.embedding is not null order by c.embedding <=> %s::vector limit %s"
    )
    sql = f"select chunk, {_format_similarity_sql('distance')} as score from ({nearest}) near {ORDER_BY_SCORE_SQL}"
    rows = await db.execute(
        sql, (format_pgvector_literal(vector), *condition.values, format_pgvector_literal(vector), depth)
    )
    return [(id, score) for id, score in await rows.fetchall()]


def _format_similarity_sql(distance: str) -> str:
    """Format the SQL of the similarity 1 - distance (S3-08), which is 0 for a vector of zeros."""
    return f"coalesce(nullif(round((1 - ({distance}))::numeric, 6), 'NaN'), 0)::float8"


async def _has_many_chunks(db: PostgresConnection, scope: Scope) -> bool:
    sql = f"select count(*) from (select from {CHUNKS_VIEW} where collection = %s limit %s) few"
    row = await (await db.execute(sql, (scope.workflow_id, MIN_CHUNKS_FOR_HNSW))).fetchone()
    return (
        row == (MIN_CHUNKS_FOR_HNSW,)
        and not scope.document_ids
        and (await load_postgres_embedding_space(db)).dimensions <= MAX_INDEXED_DIMENSIONS
    )


async def _require_postgres_dimensions(db: PostgresConnection, vectors: Sequence[Vector]) -> None:
    dimensions = (await load_postgres_embedding_space(db)).dimensions if vectors else 0
    if dimensions and {len(vector) for vector in vectors} != {dimensions}:
        raise Conflict(f"the stored vectors have {dimensions} dimensions", code="reindex_required")


def _fuse_postgres_legs(probe: Probe, lexical_leg: ScoredChunkIds, vector_leg: ScoredChunkIds, rrf_k: int) -> list[Hit]:
    legs = [
        _hits_from_scored_ids(lexical_leg, probe.label, _build_lexical_signal),
        _hits_from_scored_ids(vector_leg, probe.label, _build_vector_signal),
    ]
    is_hybrid = bool(probe.lexical_query) and probe.vector is not None
    return fuse_by_reciprocal_rank(*legs, k=rrf_k) if is_hybrid else [hit for leg in legs for hit in leg]


def _hits_from_scored_ids(
    leg: ScoredChunkIds, label: str, build_signals: Callable[[float], Mapping[str, float]]
) -> list[Hit]:
    """Convert a leg to hits whose chunks have only an id; the rest is loaded for the hits that are returned."""
    return sort_by_score(
        [Hit(Chunk(id, "", 0, "", "", "", ""), s, build_signals(s), found_by=(label,)) for id, s in leg]
    )


def _build_lexical_signal(score: float) -> dict[str, float]:
    return {"words": score - ALL_WORDS_BONUS if score > ALL_WORDS_BONUS else score}


def _build_vector_signal(score: float) -> dict[str, float]:
    return {"meaning": score}


async def _load_postgres_hit_chunks(db: PostgresConnection, scope: Scope, rankings: list[list[Hit]]) -> list[Ranking]:
    chunk_ids = list({hit.chunk.id for ranking in rankings for hit in ranking})
    chunks_by_id = {chunk.id: chunk for chunk in await reads.get_postgres_chunks(db, scope, chunk_ids)}
    return [[replace(hit, chunk=chunks_by_id[hit.chunk.id]) for hit in ranking] for ranking in rankings]

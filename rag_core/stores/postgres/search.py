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

MIN_CHUNKS_FOR_HNSW = 20_000  # chunks of a workflow; an exact scan of these misses none and takes some 30 ms of CPU
HNSW_EF_SEARCH = 400  # finds 94 % of the 20 nearest of 10,000 vectors that hardly cluster, in 7 ms; 200 finds 87 %
MAX_EF_SEARCH = 1000  # of pgvector

# The weights are of D, C, B, A: words of the content are labelled A; of the titles C, and count half as much. Flag 1
# divides by 1 + log(length), because long chunks contain more words by chance.
TS_RANK_SQL = "ts_rank('{0, 0.5, 0, 1}', c.words, %s::tsquery, 1)"
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
    vectors = [probe.vector for probe in probes if probe.vector is not None]
    await _require_postgres_dimensions(db, vectors)
    uses_index = vectors and not filters and await _has_many_chunks(db, scope)
    search_vectors = _search_hnsw_index_first if uses_index else _scan_postgres_vectors
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
    every_condition = condition.and_where("c.words @@ %s::tsquery", tsquery.all_words)
    ranked = await _rank_by_words(db, every_condition, tsquery, depth)
    leg = [(id, ALL_WORDS_BONUS + score) for id, score in ranked]
    if len(leg) < depth and tsquery.any_word != tsquery.all_words:
        leg += await _search_any_word(db, condition, tsquery, [id for id, _ in leg], depth - len(leg))
    return leg


async def _search_any_word(
    db: PostgresConnection, condition: PostgresCondition, tsquery: TsqueryPair, found: Sequence[str], depth: int
) -> ScoredChunkIds:
    """Rank all chunks with some word but those that were found before."""
    condition = condition.and_where("c.words @@ %s::tsquery", tsquery.any_word)
    condition = condition.and_where("c.external_id <> all(%s::varchar[])", found)
    return await _rank_by_words(db, condition, tsquery, depth)


async def _rank_by_words(
    db: PostgresConnection, condition: PostgresCondition, tsquery: TsqueryPair, depth: int
) -> ScoredChunkIds:
    score = _format_rounding_sql(TS_RANK_SQL)
    sql = f"select {CHUNK_ID_SQL}, {score} as score from {CHUNKS_JOIN_DOCUMENTS} where {condition.sql}"
    rows = await db.execute(f"{sql} {ORDER_BY_SCORE_SQL} limit %s", (tsquery.any_word, *condition.values, depth))
    return await rows.fetchall()


async def _scan_postgres_vectors(
    db: PostgresConnection, condition: PostgresCondition, vector: Vector, depth: int
) -> ScoredChunkIds:
    """Rank by an exact scan. Rounding the similarity to float32 precision makes ties equal and rules out the index."""
    similarity = _format_similarity_sql("c.embedding <=> %s::vector")
    sql = f"select {CHUNK_ID_SQL}, {similarity} as score from {CHUNKS_JOIN_DOCUMENTS} where {condition.sql}"
    values = (format_pgvector_literal(vector), *condition.values, depth)
    rows = await db.execute(f"{sql} and c.embedding is not null {ORDER_BY_SCORE_SQL} limit %s", values)
    return [(id, score) for id, score in await rows.fetchall()]


async def _search_hnsw_index_first(
    db: PostgresConnection, condition: PostgresCondition, vector: Vector, depth: int
) -> ScoredChunkIds:
    """Search the index, or scan where it gave up early: it looks at some 20,000 vectors, which others may have."""
    leg = await _search_hnsw_index(db, condition, vector, depth)
    return leg if len(leg) == depth else await _scan_postgres_vectors(db, condition, vector, depth)


async def _search_hnsw_index(
    db: PostgresConnection, condition: PostgresCondition, vector: Vector, depth: int
) -> ScoredChunkIds:
    await db.execute(
        "select set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        (str(min(max(HNSW_EF_SEARCH, depth), MAX_EF_SEARCH)),),
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
    return f"coalesce(nullif({_format_rounding_sql(f'1 - ({distance})')}, 'NaN'), 0)"


def _format_rounding_sql(number: str) -> str:
    """Format the SQL that rounds a float to 6 digits; by way of `numeric` each row costs 0.6 µs more."""
    return f"(round(({number})::float8 * 1e6) / 1e6)"


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

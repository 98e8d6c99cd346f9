"""The schema of a database as the index holds it: read within a scope, and asked what is near to a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Ranking, Scope
from rag_core.core.ports import Probe
from rag_core.core.run import Run
from rag_core.schema import documents
from rag_core.schema.documents import PastQuestion
from rag_core.schema.features import Evidence, SchemaWords
from rag_core.schema.model import ColumnKey, Database
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.similarity import compare_columns, compute_word_cosines
from rag_core.schema.value_matching import ScoredMatch, match_values
from rag_core.text.identifiers import list_roots

MAX_SCHEMA_CHUNKS = 5000  # tables and columns of one database
MAX_VALUE_CHUNKS = 40  # that share most words with a question
MAX_PAST_QUESTIONS = 3
SOURCE_PREFIX = documents.build_source("")


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A database read from the index, with its words."""

    database: Database
    words: SchemaWords


async def list_databases(scope: Scope, index: Index) -> list[str]:
    """Return the names of the databases that a scope sees, in order."""
    stored = await index.store.list_documents(scope)
    names = {one.source.removeprefix(SOURCE_PREFIX) for one in stored if one.source.startswith(SOURCE_PREFIX)}
    return sorted(names)


async def choose_database(name: str | None, scope: Scope, index: Index) -> str:
    """Return the named database, or the only one of the scope.

    Raises:
        NotFound: there is none, or none of this name.
        InvalidRequest: there are several, and none is named.
    """
    names = await list_databases(scope, index)
    if name in names:
        return str(name)
    if name is not None or not names:
        known = ", ".join(names) or "none: rag index --database adds one"
        raise NotFound(f"no such database is indexed here; there are {known}", field="database")
    if len(names) > 1:
        raise InvalidRequest("database", f"must be one of {', '.join(names)}")
    return names[0]


async def load_schema(name: str, scope: Scope, index: Index) -> StoredSchema:
    """Read a database from the index, as far as the scope sees it."""
    parts = (documents.TABLE_PART, documents.COLUMN_PART)
    chunks: list[Chunk] = []
    for part in parts:
        chunks += await index.store.select(scope, filters=documents.filter_part(name, part), limit=MAX_SCHEMA_CHUNKS)
    database = documents.parse_database(name, chunks)
    return StoredSchema(database, SchemaWords(database))


async def gather_evidence(text: str, schema: StoredSchema, scope: Scope, kit: Kit, run: Run) -> Evidence:
    """Return what the index says of a question: the columns near to it in meaning, and its words that are values.

    Without an embedder the columns are told by words alone, and the run says so.
    """
    question = QuestionReading(text)
    matches = await run.step("values", _find_values(question, schema, scope, kit.index))
    rankings = await run.attempt(
        "columns",
        _search_columns(question, schema, scope, kit.index),
        otherwise=(),
        fallback="columns were found by their words alone",
    )
    cosines = [_collect_cosines(ranking) for ranking in rankings] or _compare_words(question, schema.words)
    similarities = compare_columns(schema.database.columns, cosines[0], cosines[1:])
    return Evidence(question, schema.words, similarities, matches)


async def find_past_questions(text: str, name: str, scope: Scope, kit: Kit, run: Run) -> list[PastQuestion]:
    """Return the questions asked before that are most like this one, at most `MAX_PAST_QUESTIONS`."""
    vectors = await run.attempt(
        "past_questions", kit.index.embed_queries([text]), otherwise=(), fallback="compared by their words alone"
    )
    probe = Probe("question", lexical_query=text, vector=next(iter(vectors), None))
    filters = documents.filter_part(name, documents.QUESTION_PART)
    (ranking,) = await kit.index.search([probe], scope, limit=MAX_PAST_QUESTIONS, filters=filters)
    return [documents.parse_past_question(hit.chunk) for hit in ranking]


async def _search_columns(
    question: QuestionReading, schema: StoredSchema, scope: Scope, index: Index
) -> Sequence[Ranking]:
    vectors = await index.embed_queries([question.text, *question.phrases])
    probes = [Probe(f"phrase{n}", vector=vector) for n, vector in enumerate(vectors)]
    filters = documents.filter_part(schema.database.name, documents.COLUMN_PART)
    return await index.search(probes, scope, limit=len(schema.database.columns), filters=filters)


def _compare_words(question: QuestionReading, words: SchemaWords) -> list[dict[ColumnKey, float]]:
    columns = {column: of.name | of.label | of.table for column, of in words.by_column.items()}
    return [compute_word_cosines(columns, frozenset(list_roots(text))) for text in (question.text, *question.phrases)]


def _collect_cosines(ranking: Ranking) -> dict[ColumnKey, float]:
    keys = ((documents.parse_column_key(hit.chunk), hit.signals.get("meaning", hit.score)) for hit in ranking)
    return {key: cosine for key, cosine in keys if key}


async def _find_values(
    question: QuestionReading, schema: StoredSchema, scope: Scope, index: Index
) -> list[ScoredMatch]:
    filters = documents.filter_part(schema.database.name, documents.VALUES_PART)
    probe = Probe("values", lexical_query=question.text)
    (ranking,) = await index.search([probe], scope, limit=MAX_VALUE_CHUNKS, filters=filters)
    known = {
        (key, value)
        for hit in ranking
        if (key := documents.parse_column_key(hit.chunk))
        for value in documents.parse_values(hit.chunk)
    }
    shown = {
        ((table.name, column.name), value)
        for table, column in schema.database.iterate_columns()
        for value in column.values
    }
    wanted = ((key, value) for key, value in known | shown if key not in schema.database.key_columns)
    return match_values(question, wanted)

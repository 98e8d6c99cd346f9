"""The schema of a database as the index holds it: read within a scope, and asked what is near to a question."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.index import Index
from rag_core.core.model import Chunk, Filter, Ranking, Scope, Vector
from rag_core.core.ports import ChunkStore, Probe
from rag_core.schema import documents
from rag_core.schema.answerable import EVERYDAY_QUESTIONS, Background
from rag_core.schema.documents import PastQuestion
from rag_core.schema.evidence import LinkEvidence
from rag_core.schema.joins import infer_keys
from rag_core.schema.model import ColumnKey, Database
from rag_core.schema.name_glossary import explain_columns, list_unexplained_names, read_meanings
from rag_core.schema.named_values import find_alike_columns, find_person_columns
from rag_core.schema.past_use import QuestionLog
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.schema_words import SchemaWords
from rag_core.schema.similarity import compare_columns, compute_word_cosines, find_near_columns
from rag_core.schema.value_matching import ScoredMatch, match_values
from rag_core.text.identifiers import list_roots
from rag_core.text.question_cues import COMPUTING_ROOTS
from rag_core.text.sentences import find_sentences

MAX_KEPT_SCHEMAS = 32  # of one store, by scope: what each reader may see
# that are ranked for a question and each of its phrases; more cost time, and on the six schemas of BIRD mini-dev as one
# of 388 columns the recall of 20 was 0.920 with 100 and 0.904 with all
MAX_RANKED_COLUMNS = 100
MAX_SCHEMA_CHUNKS = 5000  # tables and columns of one database
MAX_LOGGED_QUESTIONS = 5000  # that are counted, of a database
MAX_VALUE_CHUNKS = 40  # that share most words with a question
MAX_PAST_QUESTIONS, MAX_RULES = 3, 5
MAX_GLOSSARY_PASSAGES = 20  # that are searched for meanings of names
MAX_HINTS, MAX_HINT_CHARS = 2, 300  # sentences of rules that are read with a question
SOURCE_PREFIX = documents.build_source("")


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A database read from the index, with its words, and the columns by the chunks in which they stand.

    `log` has the questions that were asked of it before; `backgrounds`, by embedding space, are filled when first
    needed. `read_at` is when it was indexed (ISO 8601, UTC), None where that is not recorded.
    """

    database: Database
    words: SchemaWords
    columns_by_chunk: Mapping[str, ColumnKey]
    log: QuestionLog = field(default_factory=QuestionLog)
    backgrounds: dict[str, Background] = field(default_factory=dict)
    read_at: str | None = None


_kept_schemas: WeakKeyDictionary[ChunkStore, OrderedDict[tuple[str, Scope], tuple[str, StoredSchema]]]
_kept_schemas = WeakKeyDictionary()


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
        known = f"only {', '.join(names)}" if names else "and no other: rag index --database adds one"
        raise NotFound(f"no such database is indexed here, {known}", field="database")
    if len(names) > 1:
        raise InvalidRequest("database", f"must be one of {', '.join(names)}")
    return names[0]


async def load_schema(name: str, scope: Scope, index: Index) -> StoredSchema:
    """Return a database of the index, as far as the scope sees it; read again only after a change of the workflow."""
    version = await index.store.load_corpus_version(scope)
    kept = _kept_schemas.setdefault(index.store, OrderedDict())
    if version and (found := kept.get((name, scope))) and found[0] == version:
        return found[1]
    schema = await _read_schema(name, scope, index)
    if version:  # "" is not known, and nothing may be kept under it
        kept[name, scope] = version, schema
        while len(kept) > MAX_KEPT_SCHEMAS:
            kept.popitem(last=False)
    return schema


async def _read_schema(name: str, scope: Scope, index: Index) -> StoredSchema:
    chunks: list[Chunk] = []
    for part in (documents.TABLE_PART, documents.COLUMN_PART):
        chunks += await index.store.select(scope, filters=documents.filter_part(name, part), limit=MAX_SCHEMA_CHUNKS)
    database = infer_keys(documents.parse_database(name, chunks))
    known = set(database.columns)
    keys = {chunk.id: key for chunk in chunks if (key := documents.parse_column_key(chunk)) in known}
    filters = documents.filter_part(name, documents.QUESTION_PART)
    asked = await index.store.select(scope, filters=filters, limit=MAX_LOGGED_QUESTIONS)
    log = QuestionLog(map(documents.parse_past_question, asked), frozenset(known))
    meanings = await _find_meanings(database, scope, index)
    database = explain_columns(database, meanings)
    read_at = documents.parse_read_at(chunks)
    return StoredSchema(database, SchemaWords(database, meanings), keys, log, read_at=read_at)


async def _find_meanings(database: Database, scope: Scope, index: Index) -> dict[str, str]:
    """Return what the scope's other documents say of names that nobody described; where all are, none is looked up."""
    if not (names := list_unexplained_names(database)):
        return {}
    probe = Probe("names", lexical_query=" ".join(names))
    (ranking,) = await index.search(
        [probe], scope, limit=MAX_GLOSSARY_PASSAGES, filters=await _leave_out_schemas(scope, index)
    )
    return read_meanings(names, [hit.chunk.content for hit in ranking])


async def _leave_out_schemas(scope: Scope, index: Index) -> list[Filter]:
    return [Filter("source", "ne", documents.build_source(name)) for name in await list_databases(scope, index)]


async def load_background(schema: StoredSchema, scope: Scope, index: Index) -> Background | None:
    """Return how near everyday questions are to a schema; None where no column of it has a vector.

    Raises:
        Unavailable: the embedder failed.
    """
    space = index.embedder.space
    if space not in schema.backgrounds:
        vectors = await index.embed_queries(EVERYDAY_QUESTIONS)
        rankings = await _search_columns(vectors, schema, scope, index, limit=1)
        if not all(rankings):
            return None
        nearest = [ranking[0].signals.get("meaning", ranking[0].score) for ranking in rankings]
        schema.backgrounds[space] = Background.from_cosines(nearest)
    return schema.backgrounds[space]


async def gather_evidence(
    question: QuestionReading,
    vectors: Sequence[Vector],
    schema: StoredSchema,
    scope: Scope,
    index: Index,
    *,
    background: Background | None = None,
) -> LinkEvidence:
    """Return what the index says of a question: the columns near to it in meaning, and its words that are values.

    `vectors` are of the question and of its phrases, in order; without any the columns are told by words alone. With a
    `background` it is measured how much nearer the schema is to the question than to everyday questions.
    """
    matches, alike = await _find_values(question, schema, scope, index)
    rankings = await _search_columns(vectors, schema, scope, index) if vectors else ()
    cosines = [_collect_cosines(ranking, schema) for ranking in rankings] or _compare_words(question, schema.words)
    similarities = compare_columns(schema.database.columns, cosines[0], cosines[1:])
    near = zip(question.own_phrases, map(find_near_columns, cosines[1:]), strict=False)
    past = schema.log.find_past_use(question)
    evidence = LinkEvidence(question, schema.words, similarities, matches, dict(near), alike=alike, past=past)
    if background is None or not rankings or not rankings[0]:
        return evidence
    return replace(evidence, nearness=background.measure_nearness(max(cosines[0].values())))


def select_hints(text: str, passages: Sequence[str], known_roots: frozenset[str]) -> list[str]:
    """Return the sentences with a word of the question that the schema does not have, at most `MAX_HINTS`.

    "Villains are heroes whose alignment is Bad" says what a schema without villains means by them.
    """
    unknown = QuestionReading(text).roots - known_roots - COMPUTING_ROOTS
    sentences = (passage[start:end] for passage in passages for start, end in find_sentences(passage))
    return [one for one in sentences if len(one) <= MAX_HINT_CHARS and unknown & set(list_roots(one))][:MAX_HINTS]


async def find_past_questions(
    text: str, vector: Vector | None, name: str, scope: Scope, index: Index
) -> list[PastQuestion]:
    """Return the questions asked before that are most like this one, at most `MAX_PAST_QUESTIONS`.

    Of twice as many, those whose SQL reads columns of the database come before those of which nobody knows.
    """
    filters = documents.filter_part(name, documents.QUESTION_PART)
    probe = Probe("past question", lexical_query=text, vector=vector)
    (ranking,) = await index.search([probe], scope, limit=2 * MAX_PAST_QUESTIONS, filters=filters)
    found = [documents.parse_past_question(hit.chunk) for hit in ranking]
    return sorted(found, key=lambda one: not one.columns)[:MAX_PAST_QUESTIONS]


async def find_rules(text: str, vector: Vector | None, scope: Scope, index: Index) -> Ranking:
    """Return the passages of the scope's other documents that are nearest to a question, at most `MAX_RULES`."""
    probe = Probe("rule", lexical_query=text, vector=vector)
    (ranking,) = await index.search([probe], scope, limit=MAX_RULES, filters=await _leave_out_schemas(scope, index))
    return ranking


def read_values(
    question: QuestionReading, values: Sequence[tuple[ColumnKey, str]], words: SchemaWords
) -> tuple[list[ScoredMatch], dict[ColumnKey, float]]:
    """Return the values that stand in a question, and the columns of which its names may be values, with strengths."""
    matches = match_values(question, values, names=words.name_roots)
    people = find_person_columns(question, matches, words.person_columns, words.known_roots)
    return matches, people | find_alike_columns(question, values, matches)


async def _search_columns(
    vectors: Sequence[Vector], schema: StoredSchema, scope: Scope, index: Index, *, limit: int = MAX_RANKED_COLUMNS
) -> Sequence[Ranking]:
    probes = [Probe(f"phrase {n}", vector=vector) for n, vector in enumerate(vectors)]
    filters = documents.filter_part(schema.database.name, documents.COLUMN_PART)
    return await index.search(probes, scope, limit=limit, filters=filters)


def _compare_words(question: QuestionReading, words: SchemaWords) -> list[dict[ColumnKey, float]]:
    columns = {column: of.name | of.label | of.table for column, of in words.by_column.items()}
    return [compute_word_cosines(columns, frozenset(list_roots(text))) for text in (question.text, *question.phrases)]


def _collect_cosines(ranking: Ranking, schema: StoredSchema) -> dict[ColumnKey, float]:
    """Return the cosines by column; a column that was indexed since the schema was read is left out."""
    keys = schema.columns_by_chunk
    return {keys[hit.chunk.id]: hit.signals.get("meaning", hit.score) for hit in ranking if hit.chunk.id in keys}


async def _find_values(
    question: QuestionReading, schema: StoredSchema, scope: Scope, index: Index
) -> tuple[list[ScoredMatch], dict[ColumnKey, float]]:
    filters = documents.filter_part(schema.database.name, documents.VALUES_PART)
    probe = Probe("values", lexical_query=question.explained)
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
    wanted = [(key, value) for key, value in known | shown if key not in schema.database.key_columns]
    return read_values(question, wanted, schema.words)

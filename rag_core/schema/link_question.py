"""Linking of a question to a database of the index: what is stored, what is near, and what of it is needed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.core.kit import Kit
from rag_core.core.model import Ranking, Scope, Vector
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.schema import stored_schema
from rag_core.schema.answerable import Background, describe_columns, estimate_answerable, is_in_schema
from rag_core.schema.ddl import write_ddl
from rag_core.schema.documents import PastQuestion
from rag_core.schema.linking import LinkBudget, link_columns
from rag_core.schema.model import Database, SchemaLinks
from rag_core.schema.model_reading import (
    CANDIDATES,
    READING_TIMEOUT_S,
    SHOWN_COLUMNS,
    ModelReading,
    read_question_by_model,
)
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.stored_schema import StoredSchema

MODEL_STEP = "link_schema"
SCORING_TIMEOUT_S = 20.0  # of a model that reads one passage
WITHOUT_MODEL = "the tables were chosen without a chat model"
NOTHING_CHOSEN = ModelReading()


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """What a question was linked to, with the passages of rules and the questions asked before, nearest first.

    `schema_read_at` is when the schema was read from its database (ISO 8601, UTC): what changed since is not known.
    """

    links: SchemaLinks
    rules: Ranking
    past_questions: Sequence[PastQuestion]
    schema_read_at: str | None = None


async def link_question(
    text: str, database: str | None, scope: Scope, kit: Kit, run: Run, *, budget: LinkBudget, by_model: bool = False
) -> LinkedQuestion:
    """Return what of a database a question needs; without a name, of the only one in the scope.

    Sentences of rules that explain a word unknown to the schema are read with the question. `by_model` a chat model
    chooses among the likeliest tables and columns and splits the question, which costs one call; what it cannot say is
    degraded.

    Raises:
        NotFound: no such database is indexed here.
        InvalidRequest: there are several, and none is named.
        Conflict: the index holds another model's vectors.
    """
    index = kit.index
    name = await stored_schema.choose_database(database, scope, index)
    schema = await run.step("schema", stored_schema.load_schema(name, scope, index))
    vector = next(iter(await _embed([text], kit, run)), None)
    rules = await run.step("rules", stored_schema.find_rules(text, vector, scope, index))
    past = await run.step("past_questions", stored_schema.find_past_questions(text, vector, name, scope, index))
    hints = stored_schema.select_hints(text, [hit.chunk.content for hit in rules], schema.words.known_roots)
    asked = _Asked(QuestionReading(text, tuple(hints)), vector, schema, scope)
    if by_model and not kit.has_chat_model:
        run.techniques[MODEL_STEP] = WITHOUT_MODEL
    elif by_model:
        wide = await _link(asked, kit, run, budget.widen(CANDIDATES, SHOWN_COLUMNS))
        reading = await _read_by_model(text, wide, schema, kit, run)
        asked = replace(asked, reading=replace(asked.reading, parts=reading.parts), chosen=reading)
    links = await _estimate_answerable(text, await _link(asked, kit, run, budget), schema.database, kit, run)
    links = await asyncio.to_thread(write_ddl, links, schema.database, budget.tokens)
    return LinkedQuestion(links, rules, past, schema.read_at)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question of a schema: as it is read, its vector, and what a chat model chose."""

    reading: QuestionReading
    vector: Vector | None
    schema: StoredSchema
    scope: Scope
    chosen: ModelReading = NOTHING_CHOSEN


async def _link(asked: _Asked, kit: Kit, run: Run, budget: LinkBudget) -> SchemaLinks:
    phrases = [] if asked.vector is None else await _embed(asked.reading.phrases, kit, run)
    vectors = [] if asked.vector is None else [asked.vector, *phrases]
    background = None if asked.vector is None else await _load_background(asked, kit, run)
    gathering = stored_schema.gather_evidence(
        asked.reading, vectors, asked.schema, asked.scope, kit.index, background=background
    )
    evidence = await run.step("columns", gathering)
    chosen = asked.chosen
    linking = asyncio.to_thread(link_columns, evidence, budget, chosen=chosen.tables, chosen_columns=chosen.columns)
    return await run.step("link", linking)


async def _estimate_answerable(text: str, links: SchemaLinks, database: Database, kit: Kit, run: Run) -> SchemaLinks:
    """Return the links with the chance that the schema answers the question; without a nearness there is none."""
    if links.nearness is None:
        return links
    answered: Sequence[float] = ()
    if kit.entailment_scorer is not None:
        answered = await run.attempt(
            "answerability",
            kit.entailment_scorer.score_answers(text, [describe_columns(links, database)]),
            otherwise=(),
            fallback="whether the schema answers the question was told by similarity alone",
            within_s=SCORING_TIMEOUT_S,
        )
    chance = estimate_answerable(links.nearness, next(iter(answered), None))
    return replace(links, answerable=chance, not_in_schema=not is_in_schema(chance, database, was_read=bool(answered)))


async def _load_background(asked: _Asked, kit: Kit, run: Run) -> Background | None:
    return await run.attempt(
        "background",
        stored_schema.load_background(asked.schema, asked.scope, kit.index),
        otherwise=None,
        fallback="it was not estimated whether the schema answers the question",
    )


async def _read_by_model(text: str, links: SchemaLinks, schema: StoredSchema, kit: Kit, run: Run) -> ModelReading:
    asking = read_question_by_model(text, links, schema.database, note_techniques(kit, run).llm)
    return await run.attempt(
        MODEL_STEP, asking, otherwise=NOTHING_CHOSEN, fallback=WITHOUT_MODEL, within_s=READING_TIMEOUT_S
    )


async def _embed(texts: Sequence[str], kit: Kit, run: Run) -> Sequence[Vector]:
    return await run.attempt(
        "embed",
        kit.index.embed_queries(texts),
        otherwise=(),
        fallback="columns were found by their words alone",
    )

"""Linking of a question to a database of the index: what is stored, what is near, and what of it is needed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.core.kit import Kit
from rag_core.core.model import Ranking, Scope, Vector
from rag_core.core.run import Run
from rag_core.schema import stored_schema
from rag_core.schema.ddl import write_ddl
from rag_core.schema.documents import PastQuestion
from rag_core.schema.linking import LinkBudget, link_columns
from rag_core.schema.model import SchemaLinks
from rag_core.schema.question_reading import QuestionReading


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """What a question was linked to, with the passages of rules and the questions asked before, nearest first."""

    links: SchemaLinks
    rules: Ranking
    past_questions: Sequence[PastQuestion]


async def link_question(
    text: str, database: str | None, scope: Scope, kit: Kit, run: Run, *, budget: LinkBudget
) -> LinkedQuestion:
    """Return what of a database a question needs; without a name, of the only one in the scope.

    Sentences of rules that explain a word unknown to the schema are read with the question.

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
    question = QuestionReading(text, tuple(hints))
    vectors = [vector, *await _embed(question.phrases, kit, run)] if vector is not None else []
    evidence = await run.step("columns", stored_schema.gather_evidence(question, vectors, schema, scope, index))
    links = await run.step("link", asyncio.to_thread(link_columns, evidence, budget))
    return LinkedQuestion(await asyncio.to_thread(write_ddl, links, schema.database, budget.tokens), rules, past)


async def _embed(texts: Sequence[str], kit: Kit, run: Run) -> Sequence[Vector]:
    return await run.attempt(
        "embed",
        kit.index.embed_queries(texts),
        otherwise=(),
        fallback="columns were found by their words alone",
    )

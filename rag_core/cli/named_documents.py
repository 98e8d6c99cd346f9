"""The document that a user names on the command line: by its id, path or title."""

from collections.abc import Sequence
from pathlib import Path

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.model import Document
from rag_core.text.near_names import suggest_name

MAX_NAMED_DOCUMENTS = 20  # documents that a person is shown; a program asks for all by --json


def find_document_id(name: str, documents: Sequence[Document], *, kind: str = "document") -> str:
    """Return the id of the single document with this id, source, path or title; `kind` names these in an error.

    Raises:
        NotFound: there is no such document.
        InvalidRequest: several documents match.
    """
    ids = [document.id for document in _select_named(name, documents)]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise InvalidRequest("DOC", f"matches {len(ids)} documents: give one of the ids {_list_some(ids)}")
    if not documents:
        raise NotFound(f"no {kind} has this id, path or title: there is none here")
    titles = [document.title for document in documents]
    listed = f"the {kind}s are {', '.join(titles[:10])}{' …' if titles[10:] else ''}"
    names = [*titles, *(Path(document.source).name for document in documents)]
    raise NotFound(f"no {kind} has this id, path or title; {suggest_name(name, names).removeprefix('; ') or listed}")


def sort_newest_first(deleted: Sequence[Document]) -> list[Document]:
    """Return deleted documents, those that were deleted last first."""
    return sorted(deleted, key=lambda document: document.deleted_at or "", reverse=True)


def _list_some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MAX_NAMED_DOCUMENTS} more" if len(ids) > MAX_NAMED_DOCUMENTS else ""
    return ", ".join(ids[:MAX_NAMED_DOCUMENTS]) + more


def is_named(name: str, documents: Sequence[Document]) -> bool:
    """Return whether a document has this id, source, path or title."""
    return bool(_select_named(name, documents))


def _select_named(name: str, documents: Sequence[Document]) -> list[Document]:
    path = str(Path(name).resolve())
    return [
        document
        for document in documents
        if name in (document.id, document.source, document.title, Path(document.source).name) or path == document.source
    ]

"""The document that a user names on the command line: by its id, path or title."""

from collections.abc import Sequence
from pathlib import Path

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.model import Document


def find_document_id(name: str, documents: Sequence[Document]) -> str:
    """Return the id of the single document with this id, source, path or title.

    Raises:
        NotFound: there is no such document.
        InvalidRequest: several documents match.
    """
    path = str(Path(name).resolve())
    ids = [
        document.id
        for document in documents
        if name in (document.id, document.source, document.title, Path(document.source).name) or path == document.source
    ]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise InvalidRequest("DOC", f"matches {len(ids)} documents: give one of the ids {', '.join(ids)}")
    titles = ", ".join(document.title for document in documents[:10]) or "none: nothing is indexed here"
    raise NotFound(
        f"no document has this id, path or title; the documents are {titles}{' …' if documents[10:] else ''}"
    )

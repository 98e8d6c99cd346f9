"""The documents as resources of the Model Context Protocol: their addresses, and how they are listed and read."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

from functions.strict_json import JsonObject

LIST_TOOL, READ_TOOL = "list_documents", "read_document"
RESOURCES_PER_PAGE = 100
MAX_RESOURCE_TOKENS = 50_000  # the most that `read_document` gives at once
DOCUMENT_URI = re.compile(r"rag://documents/([^/]+)/([^/]+)")
DOCUMENT_TEMPLATE: JsonObject = {
    "uriTemplate": "rag://documents/{workflow_id}/{document_id}",
    "name": "document",
    "description": "The text of an indexed document; list_documents has the ids.",
    "mimeType": "text/plain",
}
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}  # documents are replaced, and each caller sees others


def parse_cursor(cursor: Any) -> int | None:
    """Return the number of the first document of a page, 0 without a cursor; None for a cursor that is none of ours."""
    if cursor is None:
        return 0
    return int(cursor) if isinstance(cursor, str) and re.fullmatch(r"[1-9][0-9]{0,8}", cursor) else None


def parse_document_uri(uri: str) -> JsonObject | None:
    """Return the workflow and the document that an address names, None for any other address."""
    named = DOCUMENT_URI.fullmatch(uri)
    return {"workflow_id": unquote(named[1]), "document_id": unquote(named[2])} if named else None


def format_resource_list(documents: Sequence[JsonObject], workflow_id: str, offset: int) -> JsonObject:
    """Return a page of documents as `resources/list` shows them; `nextCursor` is left out of the last."""
    end = offset + RESOURCES_PER_PAGE
    more = {"nextCursor": str(end)} if end < len(documents) else {}
    return {"resources": [_describe(document, workflow_id) for document in documents[offset:end]], **more, **NOT_CACHED}


def format_resource(uri: str, reply: JsonObject) -> JsonObject:
    """Return the compact reply of a document as the text of its resource; a text that goes on says how."""
    parts = [passage.partition("\n")[2] for passage in reply["passages"]]
    if "next" in reply:
        parts.append(f"(The document goes on: {READ_TOOL} with first_passage {reply['next']}.)")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "\n\n".join(parts)}], **NOT_CACHED}


def _describe(document: JsonObject, workflow_id: str) -> JsonObject:
    ids = "/".join(quote(id, safe="") for id in (workflow_id, document["document_id"]))
    described = {"description": document["summary"]} if document["summary"] else {}
    return {
        "uri": f"rag://documents/{ids}",
        "name": document["source"] or document["document_id"],
        "title": document["title"],
        "mimeType": "text/plain",
        **described,
    }

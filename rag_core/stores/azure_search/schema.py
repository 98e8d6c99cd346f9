"""The definition of the index for Azure AI Search. The field `kind` separates chunks, documents and workflow states."""

from collections.abc import Mapping
from typing import Any

from rag_core.core.errors import Conflict

VECTOR = "content_vector"
SEMANTIC = "chunks-semantic"
NEAREST, EXACT = "nearest", "exact"  # vector profiles: HNSW, and an exhaustive scan
ANALYZER = "en.lucene"  # English stems, as in the embedded store

Definition = dict[str, Any]


def definition(name: str, dimensions: int) -> Definition:
    """Build the definition of an index for vectors of these dimensions; 0 gives one that can never hold vectors."""
    fields = [*_fields(), *([_vector(dimensions)] if dimensions else [])]
    base = {"name": name, "fields": fields, "similarity": {"@odata.type": "#Microsoft.Azure.Search.BM25Similarity"}}
    return {**base, "semantic": _semantic(), **({"vectorSearch": _vector_search()} if dimensions else {})}


def width(index: Mapping[str, Any]) -> int:
    """Return the dimensions of the vectors; 0 when the index has none."""
    return next((field.get("dimensions") or 0 for field in index["fields"] if field["name"] == VECTOR), 0)


def upgraded(existing: Definition, new: Definition) -> Definition:
    """Add missing fields and the semantic configuration to an existing definition; the rest stays unchanged.

    Raises:
        Conflict: a field has another type or other dimensions (reindex_required), so that another index is needed.
    """
    existing_fields = {field["name"]: field for field in existing["fields"]}
    if width(existing) != width(new):
        raise _another(existing, f"holds vectors of {width(existing)} dimensions, the embedder makes {width(new)}")
    for field in new["fields"]:
        field_type = existing_fields.get(field["name"], field)["type"]
        if field_type != field["type"]:
            raise _another(existing, f"has {field['name']} as {field_type}, not {field['type']}")
    missing = [field for field in new["fields"] if field["name"] not in existing_fields]
    semantic = existing.get("semantic") or new["semantic"]
    return {**existing, "fields": [*existing["fields"], *missing], "semantic": semantic}


def _another(existing: Definition, problem: str) -> Conflict:
    message = (
        f"the index {existing['name']} {problem}: name another in AZURE_SEARCH_INDEX and index the documents again"
    )
    return Conflict(message, code="reindex_required")


def _fields() -> list[Definition]:
    return [
        _text("key", key=True),  # the service allows only letters, digits, _ - =
        _text("kind", filterable=True, facetable=True),
        _text("id", filterable=True, sortable=True),
        _text("workflow_id", filterable=True, facetable=True),
        _searched("content"),
        _searched("title", filterable=True, facetable=True),
        {**_text("codes", searchable=True), "analyzer": "standard.lucene"},  # terms besides the words
        _text("source", filterable=True, facetable=True),
        _field("page_number", "Edm.Int32", filterable=True, facetable=True),
        _text("chunk_summary"),
        _text("entities"),
        _texts("entity_codes", searchable=True, filterable=True, facetable=True),
        _text("document_id", filterable=True, sortable=True, facetable=True),
        _field("ordinal", "Edm.Int32", filterable=True, sortable=True),
        _text("spans"),
        _texts("heading_path"),
        _text("parent_id", filterable=True),
        _text("user_id", filterable=True),
        _texts("groups", filterable=True),
        _texts("readers", filterable=True),
        _text("content_hash", filterable=True),
        _text("metadata"),
        _texts("facts", filterable=True, facetable=True),
        _texts("fact_names", filterable=True, facetable=True),
        _text("space", filterable=True, facetable=True),
        _text("version", filterable=True, sortable=True),
        _field("live", "Edm.Boolean", filterable=True),
        _text("record"),
    ]


def _field(name: str, kind: str, **uses: bool) -> Definition:
    """Build a stored field; every use that is not named is off."""
    off = {"key": False, "filterable": False, "sortable": False, "facetable": False}
    return {"name": name, "type": kind, "retrievable": True, "stored": True, "searchable": False, **off, **uses}


def _text(name: str, **uses: bool) -> Definition:
    return _field(name, "Edm.String", **uses)


def _texts(name: str, **uses: bool) -> Definition:
    definition = _field(name, "Collection(Edm.String)", **uses)
    del definition["sortable"]  # the service refuses it for collections
    return definition


def _searched(name: str, **uses: bool) -> Definition:
    return {**_text(name, **uses), "searchable": True, "analyzer": ANALYZER}


def _vector(dimensions: int) -> Definition:
    return {
        "name": VECTOR,
        "type": "Collection(Edm.Single)",
        "searchable": True,
        "retrievable": True,  # unchanged chunks keep their vectors at the next indexing
        "stored": True,
        "dimensions": dimensions,
        "vectorSearchProfile": NEAREST,
    }


def _vector_search() -> Definition:
    hnsw = {"name": "hnsw-cosine", "kind": "hnsw", "hnswParameters": {"metric": "cosine"}}
    scan = {"name": "scan-cosine", "kind": "exhaustiveKnn", "exhaustiveKnnParameters": {"metric": "cosine"}}
    profiles = [{"name": NEAREST, "algorithm": hnsw["name"]}, {"name": EXACT, "algorithm": scan["name"]}]
    return {"algorithms": [hnsw, scan], "profiles": profiles}


def _semantic() -> Definition:
    prioritized = {
        "titleField": {"fieldName": "title"},
        "prioritizedContentFields": [{"fieldName": "content"}],
        "prioritizedKeywordsFields": [{"fieldName": "entity_codes"}],
    }
    configuration = {"name": SEMANTIC, "prioritizedFields": prioritized}
    return {"defaultConfiguration": SEMANTIC, "configurations": [configuration]}

"""The definition of the index for Azure AI Search. The field `kind` separates chunks, documents and workflow states."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_core.core.errors import Conflict, Misconfigured

VECTOR_FIELD = "content_vector"
SEMANTIC_CONFIGURATION = "chunks-semantic"
HNSW_PROFILE, EXHAUSTIVE_PROFILE = "nearest", "exact"  # vector profiles: HNSW, and an exhaustive scan
COMPRESSION = "compressed"
VECTORIZER = "queries"
ACL_USERS_FIELD, ACL_GROUPS_FIELD = "acl_users", "acl_groups"  # object ids of Microsoft Entra
PERMISSION_FILTER_OPTION = "permissionFilterOption"
LEXICAL_ANALYZER = "en.lucene"  # English stems, as in the embedded store

IndexDefinition = dict[str, Any]

QUANTIZATIONS: Mapping[str, dict[str, Any]] = {
    "scalar": {"kind": "scalarQuantization", "scalarQuantizationParameters": {"quantizedDataType": "int8"}},
    "binary": {"kind": "binaryQuantization"},
}
# candidates for each hit, by `python -m evals.vector_compression`: 2 lose none of the nearest, 10 lose 2 in 100
OVERSAMPLING: Mapping[str, float] = {"scalar": 2.0, "binary": 10.0}


@dataclass(frozen=True, slots=True)
class VectorCompression:
    """The compression of the vectors that are searched: `scalar` or `binary`, of the first dimensions or all (None).

    The originals stay on disk: by them the candidates are compared again, and chunks that did not change keep them.
    """

    kind: str
    truncated_dimensions: int | None = None


@dataclass(frozen=True, slots=True)
class QueryVectorizer:
    """The deployment by which the service embeds the queries of a retrieval; without a key its identity is used."""

    endpoint: str
    deployment: str
    model: str
    key: str | None = dataclasses.field(default=None, repr=False)


def build_index_definition(
    name: str,
    dimensions: int,
    compression: VectorCompression | None = None,
    vectorizer: QueryVectorizer | None = None,
    *,
    document_acl: bool = False,
    stores_vectors: bool = True,
) -> IndexDefinition:
    """Build the definition of an index for vectors of these dimensions; 0 gives one that can never hold vectors.

    With `document_acl` the service checks by users and groups who may see a document, which is a preview. Without
    `stores_vectors` it keeps of each vector only what it searches by, and returns none.

    Raises:
        Misconfigured: the vectors have no more dimensions than they are to be cut to.
    """
    _require_longer_vectors(dimensions, compression)
    fields = [*_build_index_fields(), *([_build_vector_field(dimensions, stores_vectors)] if dimensions else [])]
    acl = {PERMISSION_FILTER_OPTION: "enabled"} if document_acl else {}
    fields += _build_acl_fields() if document_acl else []
    base = {"name": name, "fields": fields, "similarity": {"@odata.type": "#Microsoft.Azure.Search.BM25Similarity"}}
    return {
        **base,
        **acl,
        "semantic": _build_semantic_config(),
        **({"vectorSearch": _build_vector_search_config(compression, vectorizer)} if dimensions else {}),
    }


def get_vector_dimensions(index: Mapping[str, Any]) -> int:
    """Return the dimensions of the vectors; 0 when the index has none."""
    return next((field.get("dimensions") or 0 for field in index["fields"] if field["name"] == VECTOR_FIELD), 0)


def upgrade_index_definition(existing: IndexDefinition, new: IndexDefinition) -> IndexDefinition:
    """Add missing fields and the semantic configuration to an existing definition, and exchange its vectorizer.

    Whether the service filters by users becomes as in the new definition.

    Raises:
        Conflict: a field has another type, other dimensions, another compression or is stored otherwise
            (reindex_required), so that another index is needed.
    """
    existing_fields = {field["name"]: field for field in existing["fields"]}
    if get_vector_dimensions(existing) != get_vector_dimensions(new):
        raise _make_incompatible_index_error(
            existing,
            f"holds vectors of {get_vector_dimensions(existing)} dimensions, "
            f"the embedder makes {get_vector_dimensions(new)}",
        )
    if (held := _describe_compression(existing)) != (wanted := _describe_compression(new)):
        raise _make_incompatible_index_error(
            existing, f"compresses its vectors by {held}, and the settings by {wanted}"
        )
    if _stores_vectors(existing) != (is_stored := _stores_vectors(new)):
        raise _make_incompatible_index_error(
            existing,
            f"{'does not keep' if is_stored else 'keeps'} the vectors that it is sent, which is not as "
            f"AZURE_SEARCH_VECTORS_STORED={is_stored:d} asks",
        )
    for field in new["fields"]:
        field_type = existing_fields.get(field["name"], field)["type"]
        if field_type != field["type"]:
            raise _make_incompatible_index_error(existing, f"has {field['name']} as {field_type}, not {field['type']}")
    missing = [field for field in new["fields"] if field["name"] not in existing_fields]
    semantic = existing.get("semantic") or new["semantic"]
    upgraded = {**existing, "fields": [*existing["fields"], *missing], "semantic": semantic}
    filters_by_users = existing.get(PERMISSION_FILTER_OPTION) == "enabled"
    if filters_by_users != (PERMISSION_FILTER_OPTION in new):
        upgraded[PERMISSION_FILTER_OPTION] = "disabled" if filters_by_users else "enabled"
    return (
        upgraded if _describe_vectorizer(existing) == _describe_vectorizer(new) else _exchange_vectorizer(upgraded, new)
    )


def _exchange_vectorizer(existing: IndexDefinition, new: IndexDefinition) -> IndexDefinition:
    """Return the existing definition with the new one's vectorizer, or without one, in each profile of its vectors."""
    search, vectorizers = existing["vectorSearch"], new["vectorSearch"].get("vectorizers", [])
    name = VECTORIZER if vectorizers else None
    profiles = [{**profile, "vectorizer": name} for profile in search["profiles"]]
    return {**existing, "vectorSearch": {**search, "vectorizers": vectorizers, "profiles": profiles}}


def _describe_vectorizer(index: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what tells one vectorizer from another; the service hides keys. Empty where there is none."""
    for one in (index.get("vectorSearch") or {}).get("vectorizers") or ():
        given = one.get("azureOpenAIParameters") or {}
        return (str(given.get("resourceUri")).rstrip("/"), given.get("deploymentId"), given.get("modelName"))
    return ()


def _require_longer_vectors(dimensions: int, compression: VectorCompression | None) -> None:
    kept = compression and compression.truncated_dimensions
    if kept and dimensions and kept >= dimensions:
        message = (
            f"AZURE_SEARCH_TRUNCATED_DIMENSIONS must be less than the {dimensions} dimensions of the embedding model"
        )
        raise Misconfigured(message, field="AZURE_SEARCH_TRUNCATED_DIMENSIONS")


def _describe_compression(index: Mapping[str, Any]) -> str:
    """Describe the compression of an index by its kind and the dimensions kept."""
    search = index.get("vectorSearch") or {}
    names = {one["name"]: one.get("compression") for one in search.get("profiles") or ()}
    profile = next((field.get("vectorSearchProfile") for field in index["fields"] if field["name"] == VECTOR_FIELD), "")
    found = next((one for one in search.get("compressions") or () if one["name"] == names.get(profile)), None)
    if found is None:
        return "nothing"
    kept = found.get("truncationDimension")
    return f"{found['kind']} of the first {kept} dimensions" if kept else str(found["kind"])


def _stores_vectors(index: Mapping[str, Any]) -> bool:
    """Return whether an index keeps the vectors that it is sent; true of one that has none."""
    return all(field.get("stored") is not False for field in index["fields"] if field["name"] == VECTOR_FIELD)


def _make_incompatible_index_error(existing: IndexDefinition, problem: str) -> Conflict:
    message = (
        f"the index {existing['name']} {problem}: name another in AZURE_SEARCH_INDEX and index the documents again"
    )
    return Conflict(message, code="reindex_required")


def _build_index_fields() -> list[IndexDefinition]:
    return [
        _build_text_field("key", key=True),  # the service allows only letters, digits, _ - =
        _build_text_field("kind", filterable=True, facetable=True),
        _build_text_field("id", filterable=True, sortable=True),
        _build_text_field("workflow_id", filterable=True, facetable=True),
        _build_searchable_field("content"),
        _build_searchable_field("title", filterable=True, facetable=True),
        {**_build_text_field("codes", searchable=True), "analyzer": "standard.lucene"},  # terms besides the words
        _build_text_field("source", filterable=True, facetable=True),
        _build_index_field("page_number", "Edm.Int32", filterable=True, facetable=True),
        _build_text_field("chunk_summary"),
        _build_text_field("entities"),
        _build_text_collection_field("entity_codes", searchable=True, filterable=True, facetable=True),
        _build_text_field("document_id", filterable=True, sortable=True, facetable=True),
        _build_index_field("ordinal", "Edm.Int32", filterable=True, sortable=True),
        _build_text_field("spans"),
        _build_text_collection_field("heading_path"),
        _build_text_field("parent_id", filterable=True),
        _build_text_field("user_id", filterable=True),
        _build_text_collection_field("groups", filterable=True),
        _build_text_collection_field("readers", filterable=True),
        _build_text_field("content_hash", filterable=True),
        _build_text_field("metadata"),
        _build_text_collection_field("facts", filterable=True, facetable=True),
        _build_text_collection_field("fact_names", filterable=True, facetable=True),
        _build_text_field("space", filterable=True, facetable=True),
        _build_text_field("version", filterable=True, sortable=True),
        _build_index_field("live", "Edm.Boolean", filterable=True),
        _build_text_field("record"),
    ]


def _build_acl_fields() -> list[IndexDefinition]:
    kinds = {ACL_USERS_FIELD: "userIds", ACL_GROUPS_FIELD: "groupIds"}
    return [
        {**_build_text_collection_field(name, filterable=True), "permissionFilter": kind}
        for name, kind in kinds.items()
    ]


def _build_index_field(name: str, kind: str, **uses: bool) -> IndexDefinition:
    """Build a stored field; every use that is not named is off."""
    off = {"key": False, "filterable": False, "sortable": False, "facetable": False}
    return {"name": name, "type": kind, "retrievable": True, "stored": True, "searchable": False, **off, **uses}


def _build_text_field(name: str, **uses: bool) -> IndexDefinition:
    return _build_index_field(name, "Edm.String", **uses)


def _build_text_collection_field(name: str, **uses: bool) -> IndexDefinition:
    definition = _build_index_field(name, "Collection(Edm.String)", **uses)
    del definition["sortable"]  # the service refuses it for collections
    return definition


def _build_searchable_field(name: str, **uses: bool) -> IndexDefinition:
    return {**_build_text_field(name, **uses), "searchable": True, "analyzer": LEXICAL_ANALYZER}


def _build_vector_field(dimensions: int, is_stored: bool) -> IndexDefinition:
    return {
        "name": VECTOR_FIELD,
        "type": "Collection(Edm.Single)",
        "searchable": True,
        "retrievable": is_stored,  # so that unchanged chunks keep their vectors at the next indexing
        "stored": is_stored,
        "dimensions": dimensions,
        "vectorSearchProfile": HNSW_PROFILE,
    }


def _build_vector_search_config(
    compression: VectorCompression | None, vectorizer: QueryVectorizer | None
) -> IndexDefinition:
    hnsw = {"name": "hnsw-cosine", "kind": "hnsw", "hnswParameters": {"metric": "cosine"}}
    scan = {"name": "scan-cosine", "kind": "exhaustiveKnn", "exhaustiveKnnParameters": {"metric": "cosine"}}
    uses = ({"compression": COMPRESSION} if compression else {}) | ({"vectorizer": VECTORIZER} if vectorizer else {})
    profiles = [
        {"name": HNSW_PROFILE, "algorithm": hnsw["name"], **uses},
        {"name": EXHAUSTIVE_PROFILE, "algorithm": scan["name"], **uses},
    ]
    compressions = {"compressions": [_build_compression(compression)]} if compression else {}
    vectorizers = {"vectorizers": [_build_vectorizer(vectorizer)]} if vectorizer else {}
    return {"algorithms": [hnsw, scan], "profiles": profiles, **compressions, **vectorizers}


def _build_vectorizer(vectorizer: QueryVectorizer) -> IndexDefinition:
    parameters = {
        "resourceUri": vectorizer.endpoint,
        "deploymentId": vectorizer.deployment,
        "modelName": vectorizer.model,
    }
    key = {"apiKey": vectorizer.key} if vectorizer.key else {}
    return {"name": VECTORIZER, "kind": "azureOpenAI", "azureOpenAIParameters": parameters | key}


def _build_compression(compression: VectorCompression) -> IndexDefinition:
    rescoring = {
        "enableRescoring": True,  # a hit's similarity is compared with thresholds, so it has to be the true one
        "defaultOversampling": OVERSAMPLING[compression.kind],
        "rescoreStorageMethod": "preserveOriginals",
    }
    kept = compression.truncated_dimensions
    truncation = {"truncationDimension": kept} if kept else {}
    return {"name": COMPRESSION, **QUANTIZATIONS[compression.kind], "rescoringOptions": rescoring, **truncation}


def _build_semantic_config() -> IndexDefinition:
    prioritized = {
        "titleField": {"fieldName": "title"},
        "prioritizedContentFields": [{"fieldName": "content"}],
        "prioritizedKeywordsFields": [{"fieldName": "entity_codes"}],
    }
    configuration = {"name": SEMANTIC_CONFIGURATION, "prioritizedFields": prioritized}
    return {"defaultConfiguration": SEMANTIC_CONFIGURATION, "configurations": [configuration]}

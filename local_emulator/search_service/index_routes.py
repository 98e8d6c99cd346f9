"""Handle requests for indexes: their definitions, statistics and analysis."""

from datetime import UTC, datetime, timedelta
from typing import Any

from werkzeug.wrappers import Response

from . import text_analysis
from .documents import EmulatedIndex
from .expressions import format_date
from .preconditions import check_etag, make_etag
from .refusals import ServiceRefusal, make_missing_index_refusal, make_refusal
from .resources import KINDS
from .responses import parse_body, respond_with_minimal_metadata, respond_without_body, select_members
from .schema import ANALYSIS_PARTS, Schema, parse_schema
from .state import Call, ServiceState
from .versions import show_members

Json = dict[str, Any]

DOWNTIME = (
    "Index update not allowed because it would cause downtime. In order to add new analyzers, tokenizers, token "
    "filters, or character filters to an existing index, or modify its similarity settings, set the "
    "'allowIndexDowntime' query parameter to 'true' in the index update request. Note that this operation will put "
    "your index offline for at least a few seconds, causing your indexing and query requests to fail. Performance and "
    "write availability of the index can be impaired for several minutes after the index is updated, or longer for "
    "very large indexes."
)
MOST_INDEXES = 200
HIDDEN_SINCE = "2024-03-01-preview"  # the first version in which vectors are not retrievable unless it is said
DESCRIBED_SINCE = "2025-05-01-preview"  # the first version in which an index has a description
# bytes of an index in the basic tier, and of its vectors
MOST_STORED, MOST_VECTORS_STORED = 16_106_127_360, 5_368_709_120
# of a field, once it is there
FIXED = ("searchable", "filterable", "sortable", "facetable", "analyzer", "normalizer", "dimensions", "compression")


def create_index(state: ServiceState, call: Call) -> Response:
    made = _parse_definition(call)
    with state.lock:
        return _add_index(state, call, made)


def put_index(state: ServiceState, call: Call, name: str) -> Response:
    made = _parse_definition(call)
    if made.name != name:
        raise make_refusal("Index name in the request body does not match the name in the URL.")
    with state.lock:
        held = state.indexes.get(name)
        check_etag(call.request, held.etag if held else None)
        if held is None:
            return _add_index(state, call, made)
        _check_change(held.schema, made)
        _check_downtime(held.schema, made, call)
        _check_synonym_maps(state, made)
        held.change_definition(made, make_etag())
    if "return=minimal" in call.request.headers.get("Prefer", ""):
        return respond_without_body(204)
    return _build_index_response(held, call, 200)


def _add_index(state: ServiceState, call: Call, made: Schema) -> Response:
    if made.name in state.indexes or state.resources.get("aliases", made.name):
        message = f"Cannot create index '{made.name}' because it already exists."
        raise ServiceRefusal(409, message, code="ResourceNameAlreadyInUse", detail="CannotCreateExistingIndex")
    if len(state.indexes) >= MOST_INDEXES:
        raise ServiceRefusal(400, f"Index quota of {MOST_INDEXES} has been exceeded for this service.")
    _check_synonym_maps(state, made)
    index = EmulatedIndex(made, make_etag(), state.storage, state.synonyms, state.delay_s)
    state.storage.save_index(index.etag, made.definition)
    state.indexes[made.name] = index
    response = _build_index_response(index, call, 201)
    response.headers["Location"] = f"{call.request.host_url}indexes('{made.name}')?api-version={call.version}"
    return response


def _check_synonym_maps(state: ServiceState, made: Schema) -> None:
    for name in {name for field in made.fields.values() for name in field.synonym_maps}:
        if state.resources.get("synonymmaps", name) is None:
            raise make_refusal(
                f"The request is invalid. Details: definition : The synonym map '{name}' does not exist.",
                code="InvalidRequestParameter",
            )


def get_index(state: ServiceState, call: Call, name: str) -> Response:
    return _build_index_response(state.find_aliased_index(name), call, 200)


def delete_index(state: ServiceState, call: Call, name: str) -> Response:
    with state.lock:
        held = state.indexes.get(name)
        check_etag(call.request, held.etag if held else None)
        if held is None:
            raise make_missing_index_refusal(name)
        for alias in state.resources.list_all("aliases"):
            if name in alias.definition["indexes"]:
                raise make_refusal(
                    f"The index '{name}' cannot be deleted: the alias '{alias.definition['name']}' is mapped to it.",
                    code="OperationNotAllowed",
                )
        held.drop_definition()
        del state.indexes[name]
    return respond_without_body(204)


def list_indexes(state: ServiceState, call: Call) -> Response:
    shown = [_describe_index(state.indexes[name], call) for name in sorted(state.indexes)]
    context = f"{call.request.host_url}$metadata#indexes"
    shown = select_members(shown, call.request.args.get("$select"))
    return respond_with_minimal_metadata({"@odata.context": context, "value": shown})


def get_index_statistics(state: ServiceState, call: Call, name: str) -> Response:
    index = state.find_index(name)
    context = f"{call.request.host_url}$metadata#Microsoft.Azure.Search.{call.model_version}.IndexStatistics"
    counts = show_members(_count_index(state, index), call.version)
    return respond_with_minimal_metadata({"@odata.context": context, **counts})


def get_service_statistics(state: ServiceState, call: Call) -> Response:
    indexes = list(state.indexes.values())
    stored = sum(state.storage.measure_documents(index.schema.name) for index in indexes)

    def count(collection: str) -> tuple[int, int | None]:
        return len(state.resources.list_all(collection)), KINDS[collection].most

    used: dict[str, tuple[int, int | None]] = {
        "documentCount": (sum(len(index.documents) for index in indexes), None),
        "indexesCount": (len(indexes), MOST_INDEXES),
        "indexersCount": count("indexers"),
        "dataSourcesCount": count("datasources"),
        "storageSize": (stored, MOST_STORED),
        "synonymMaps": count("synonymmaps"),
        "skillsetCount": count("skillsets"),
        "aliasesCount": count("aliases"),
        "vectorIndexSize": (sum(index.vectors.measure_vectors() for index in indexes), MOST_VECTORS_STORED),
    }
    counters = {name: {"usage": usage, "quota": quota} for name, (usage, quota) in used.items()}
    limits: Json = {
        "maxStoragePerIndex": MOST_STORED,
        "maxFieldsPerIndex": 1000,
        "maxFieldNestingDepthPerIndex": 10,
        "maxComplexCollectionFieldsPerIndex": 40,
        "maxComplexObjectsInCollectionsPerDocument": 3000,
        "maxCumulativeIndexerRuntimeSeconds": None,
    }
    context = f"{call.request.host_url}$metadata#Microsoft.Azure.Search.{call.model_version}.ServiceStatistics"
    answer = {"@odata.context": context, "counters": counters, "indexersRuntime": _describe_runtime(), "limits": limits}
    return respond_with_minimal_metadata(show_members(answer, call.version))


def _describe_runtime() -> Json:
    """Describe how long indexers ran today: they never do."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "usedSeconds": 0,
        "remainingSeconds": None,
        "beginningTime": format_date(today),
        "endingTime": format_date(today + timedelta(days=1)),
    }


def list_index_statistics(state: ServiceState, call: Call) -> Response:
    model = f"Collection(Microsoft.Azure.Search.{call.model_version}.IndexStatisticsSummary)"
    shown = [{"name": name, **_count_index(state, index)} for name, index in sorted(state.indexes.items())]
    return respond_with_minimal_metadata(
        {"@odata.context": f"{call.request.host_url}$metadata#{model}", "value": shown}
    )


def _count_index(state: ServiceState, index: EmulatedIndex) -> Json:
    return {
        "documentCount": len(index.documents),
        "storageSize": state.storage.measure_documents(index.schema.name),
        "vectorIndexSize": index.vectors.measure_vectors(),
    }


def analyze_text(state: ServiceState, call: Call, name: str) -> Response:
    definition = state.find_index(name).schema.definition
    context = f"{call.request.host_url}$metadata#Microsoft.Azure.Search.{call.model_version}.AnalyzeResult"
    tokens = text_analysis.analyze_text(parse_body(call.request), definition)
    return respond_with_minimal_metadata({"@odata.context": context, "tokens": tokens})


def _parse_definition(call: Call) -> Schema:
    body = parse_body(call.request)
    try:
        if call.version < HIDDEN_SINCE:
            body["fields"] = [{"retrievable": True} | field for field in body["fields"]]
        return parse_schema(body)
    except (KeyError, TypeError, AttributeError) as failure:
        raise make_refusal(f"The request is invalid. Details: index : {failure} is missing or malformed.") from failure


def _check_change(held: Schema, made: Schema) -> None:
    """Check that no field is removed or indexed otherwise; fields may be added, or be shown otherwise."""
    for path, kind in held.kinds.items():
        if path not in made.kinds:
            raise _make_change_refusal(f"Existing field(s) '{path}' cannot be deleted.", "CannotDeleteExistingField")
        old, new = held.fields.get(path), made.fields.get(path)
        if made.kinds[path] != kind or any(getattr(old, name, None) != getattr(new, name, None) for name in FIXED):
            raise _make_change_refusal(f"Existing field '{path}' cannot be changed.", "CannotChangeExistingField")
    if held.key != made.key:
        raise _make_change_refusal("The key field cannot be changed.", "CannotChangeExistingField")


def _check_downtime(held: Schema, made: Schema, call: Call) -> None:
    """Check that parts of the analysis are added with the caller's leave, and suggesters over new fields only."""

    def list_names(schema: Schema, part: str) -> set[str]:
        return {one["name"] for one in schema.definition[part]}

    allowed = call.request.args.get("allowIndexDowntime", "").lower() == "true"
    if not allowed and any(list_names(made, part) - list_names(held, part) for part in ANALYSIS_PARTS):
        raise make_refusal(
            f"An index with the name '{held.name}' in service 'localhost' could not be updated. {DOWNTIME}",
            code="OperationNotAllowed",
        )
    for suggester in made.definition["suggesters"]:
        old = [path for path in suggester["sourceFields"] if path in held.kinds]
        if old and suggester["name"] not in list_names(held, "suggesters"):
            raise make_refusal(
                f"Fields that were already present in an index ({', '.join(old)}) cannot be referenced by a new "
                "suggester. Only new fields added in the same index update operation are allowed.",
                code="OperationNotAllowed",
            )


def _make_change_refusal(message: str, detail: str) -> ServiceRefusal:
    return make_refusal(message, code="OperationNotAllowed", detail=detail)


def _describe_index(index: EmulatedIndex, call: Call) -> Json:
    shown = show_members(index.schema.definition, call.version)
    if shown["description"] is None and call.version < DESCRIBED_SINCE:
        del shown["description"]
    return {"@odata.etag": index.etag, **shown}


def _build_index_response(index: EmulatedIndex, call: Call, status: int) -> Response:
    context = f"{call.request.host_url}$metadata#indexes/$entity"
    response = respond_with_minimal_metadata({"@odata.context": context, **_describe_index(index, call)}, status)
    response.headers["ETag"] = index.etag
    return response

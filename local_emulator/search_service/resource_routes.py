"""Handle requests for the definitions that are not indexes: synonym maps, aliases, knowledge and data sources."""

from collections.abc import Mapping
from typing import Any

from werkzeug.wrappers import Response

from .preconditions import check_etag
from .refusals import ServiceRefusal, make_missing_refusal, make_refusal, make_unimplemented_refusal
from .resources import KINDS, Resource, complete_definition
from .responses import parse_body, respond_with_minimal_metadata, respond_without_body, select_members
from .state import Call, ServiceState
from .versions import show_members

Json = dict[str, Any]

# what is named in a member of which other collection's definitions
USED_IN: Mapping[str, tuple[str, str]] = {"knowledgesources": ("knowledgebases", "knowledgeSources")}


def create_resource(state: ServiceState, call: Call, collection: str) -> Response:
    made = complete_definition(collection, parse_body(call.request))
    with state.lock:
        if state.resources.get(collection, made["name"]):
            raise _make_existing_refusal(collection, made["name"])
        return _save_resource(state, call, collection, made, 201)


def put_resource(state: ServiceState, call: Call, collection: str, name: str) -> Response:
    made = complete_definition(collection, {"name": name} | (parse_body(call.request) or {}))
    if made["name"] != name:
        raise make_refusal("The name in the request body does not match the name in the URL.")
    with state.lock:
        held = state.resources.get(collection, name)
        check_etag(call.request, held.etag if held else None)
        return _save_resource(state, call, collection, made, 200 if held else 201)


def _save_resource(state: ServiceState, call: Call, collection: str, made: Json, status: int) -> Response:
    if collection == "aliases" and made["name"] in state.indexes:
        raise _make_existing_refusal(collection, made["name"])
    _check_references(state, collection, made)
    if status == 201 and len(state.resources.list_all(collection)) >= KINDS[collection].most:
        raise ServiceRefusal(400, f"The quota of {KINDS[collection].most} has been exceeded for this service.")
    saved = state.resources.save(collection, made)
    if collection == "synonymmaps":
        state.synonyms.set_map(made["name"], made["synonyms"])
    if status == 200 and "return=minimal" in call.request.headers.get("Prefer", ""):
        return respond_without_body(204)
    response = _build_resource_response(call, collection, saved, status)
    if status == 201:
        response.headers["Location"] = (
            f"{call.request.host_url}{collection}('{made['name']}')?api-version={call.version}"
        )
    return response


def _make_existing_refusal(collection: str, name: str) -> ServiceRefusal:
    message = f"Cannot create {KINDS[collection].called} '{name}' because it already exists."
    return ServiceRefusal(409, message, code="ResourceNameAlreadyInUse")


def _check_references(state: ServiceState, collection: str, made: Json) -> None:
    """Check that what a definition names is there."""
    if collection == "aliases":
        state.find_index(made["indexes"][0])
    if collection == "knowledgesources" and made["kind"] == "searchIndex":
        state.find_aliased_index(str(made["searchIndexParameters"]["searchIndexName"]))
    if collection == "indexers":
        _check_indexer_references(state, made)
    if collection == "knowledgebases":
        for one in made["knowledgeSources"]:
            if state.resources.get("knowledgesources", one["name"]) is None:
                raise make_missing_refusal("knowledge source", one["name"])


def _check_indexer_references(state: ServiceState, made: Json) -> None:
    """Check that what an indexer reads from, runs and writes to is there."""
    skillset = made["skillsetName"]
    for called, name, is_there in (
        ("a data source", made["dataSourceName"], state.resources.get("datasources", made["dataSourceName"])),
        ("a skillset", skillset, skillset is None or state.resources.get("skillsets", skillset)),
        ("an index", made["targetIndexName"], made["targetIndexName"] in state.indexes),
    ):
        if not is_there:
            raise make_refusal(f"This indexer refers to {called} '{name}' that doesn't exist")


def get_resource(state: ServiceState, call: Call, collection: str, name: str) -> Response:
    return _build_resource_response(call, collection, state.resources.find(collection, name), 200)


def delete_resource(state: ServiceState, call: Call, collection: str, name: str) -> Response:
    with state.lock:
        held = state.resources.get(collection, name)
        check_etag(call.request, held.etag if held else None)
        state.resources.find(collection, name)
        _check_unused(state, collection, name)
        state.resources.drop(collection, name)
        if collection == "synonymmaps":
            state.synonyms.set_map(name, None)
    return respond_without_body(204)


def _check_unused(state: ServiceState, collection: str, name: str) -> None:
    others, member = USED_IN.get(collection, ("", ""))
    for other in state.resources.list_all(others) if others else ():
        if name in [one["name"] for one in other.definition[member]]:
            raise make_refusal(
                f"The {KINDS[collection].called} '{name}' cannot be deleted: the {KINDS[others].called} "
                f"'{other.definition['name']}' uses it.",
                code="OperationNotAllowed",
            )


def list_resources(state: ServiceState, call: Call, collection: str) -> Response:
    shown = [_describe_resource(one, call) for one in state.resources.list_all(collection)]
    context = f"{call.request.host_url}$metadata#{collection}"
    shown = select_members(shown, call.request.args.get("$select"))
    return respond_with_minimal_metadata({"@odata.context": context, "value": shown})


def refuse_to_run(state: ServiceState, call: Call, name: str, operation: str) -> Response:
    """Refuse to run an indexer, and to tell how it ran: it is kept only, and a client would wait for it for ever."""
    del call
    state.resources.find("indexers", name)
    raise make_unimplemented_refusal(f"'{operation}' of indexers, which read from other services of Azure")


def get_source_status(state: ServiceState, call: Call, name: str) -> Response:
    """Tell that a source is in step: an index is, always; what would have to be fetched is not implemented."""
    kind = state.resources.find("knowledgesources", name).definition["kind"]
    if kind not in ("searchIndex", "web"):
        raise make_unimplemented_refusal(f"the status of knowledge sources of kind '{kind}'")
    model = f"Microsoft.WindowsAzure.Search.Core.Models.{call.model_version}.KnowledgeSources.KnowledgeSourceStatus"
    status: Json = {
        "@odata.context": f"{call.request.host_url}$metadata#{model}",
        **({"kind": kind} if call.version >= "2026" else {}),
        "synchronizationStatus": "active",
        **dict.fromkeys(("synchronizationInterval", "currentSynchronizationState", "lastSynchronizationState")),
        "statistics": None,
    }
    return respond_with_minimal_metadata(status)


def _describe_resource(resource: Resource, call: Call) -> Json:
    return {"@odata.etag": resource.etag, **show_members(resource.definition, call.version)}


def _build_resource_response(call: Call, collection: str, resource: Resource, status: int) -> Response:
    context = f"{call.request.host_url}$metadata#{collection}/$entity"
    shown = {"@odata.context": context, **_describe_resource(resource, call)}
    response = respond_with_minimal_metadata(shown, status)
    response.headers["ETag"] = resource.etag
    return response

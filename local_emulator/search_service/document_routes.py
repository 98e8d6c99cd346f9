"""Handle requests for documents: changes, look-ups, and search, suggestion and completion by POST or GET."""

from typing import Any

from werkzeug.wrappers import Response

from . import query, suggestions
from .address_parameters import AUTOCOMPLETE, SEARCH, SUGGEST, read_parameters
from .documents import read_actions
from .permissions import make_reader, refuse_labels
from .request import parse_search_request
from .responses import parse_body, respond_about_documents, respond_with_count, respond_without_body
from .selection import parse_selection
from .state import Call, ServiceState

Json = dict[str, Any]


def change_documents(state: ServiceState, call: Call, name: str) -> Response:
    index = state.find_aliased_index(name)
    unsafe = call.request.args.get("allowUnsafeKeys", "").lower() == "true"
    actions = read_actions(parse_body(call.request))
    statuses = index.apply_actions(actions, unsafe_keys=unsafe, fails=state.faults.fails_action)
    status = 200 if all(one["status"] for one in statuses) else 207
    return respond_about_documents(call.request, name, _name_models(call, "IndexResult"), {"value": statuses}, status)


def get_document(state: ServiceState, call: Call, name: str, key: str) -> Response:
    index = state.find_aliased_index(name)
    shown = parse_selection(call.request.args.get("$select", ""), index.schema)
    document = index.latest.get(key)
    if document is None or not make_reader(call.request, index.schema).may_read(document):
        missing = respond_without_body(404)
        missing.headers["Content-Language"] = "en"
        return missing
    return respond_about_documents(call.request, name, "docs(*)/$entity", shown.select_fields(document))


def count_documents(state: ServiceState, call: Call, name: str) -> Response:
    index = state.find_aliased_index(name)
    with index.lock:
        index.publish_due_changes()
        return respond_with_count(len(index.documents))


def search_documents(state: ServiceState, call: Call, name: str) -> Response:
    return _search(state, call, name, parse_body(call.request))


def search_by_address(state: ServiceState, call: Call, name: str) -> Response:
    return _search(state, call, name, read_parameters(call.request, SEARCH))


def _search(state: ServiceState, call: Call, name: str, body: Any) -> Response:
    index = state.find_aliased_index(name)
    reader = make_reader(call.request, index.schema)
    asked = parse_search_request(body, index.schema, ranker=state.reranker is not None, rewriter=state.rewriter)
    if asked.semantic:
        state.faults.strike("semantic")
    status, answer = query.run_search(index, asked, body, state.reranker, call.request.url, reader)
    if call.request.method == "GET":
        answer.pop("@search.nextPageParameters", None)  # its link says where the next page is
    return respond_about_documents(call.request, name, "docs(*)", answer, status)


def suggest_documents(state: ServiceState, call: Call, name: str) -> Response:
    return _suggest(state, call, name, parse_body(call.request))


def suggest_by_address(state: ServiceState, call: Call, name: str) -> Response:
    return _suggest(state, call, name, read_parameters(call.request, SUGGEST))


def _suggest(state: ServiceState, call: Call, name: str, body: Any) -> Response:
    index = state.find_aliased_index(name)
    refuse_labels(index.schema)
    answer = suggestions.suggest_documents(index, body)
    return respond_about_documents(call.request, name, "docs(*)", answer)


def complete_word(state: ServiceState, call: Call, name: str) -> Response:
    return _complete(state, call, name, parse_body(call.request))


def complete_by_address(state: ServiceState, call: Call, name: str) -> Response:
    return _complete(state, call, name, read_parameters(call.request, AUTOCOMPLETE))


def _complete(state: ServiceState, call: Call, name: str, body: Any) -> Response:
    index = state.find_aliased_index(name)
    refuse_labels(index.schema)
    answer = suggestions.complete_word(index, body)
    return respond_about_documents(call.request, name, _name_models(call, "AutocompleteItem"), answer)


def _name_models(call: Call, model: str) -> str:
    return f"Collection(Microsoft.Azure.Search.{call.model_version}.{model})"

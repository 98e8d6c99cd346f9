"""Retrieve from a knowledge base at minimal reasoning effort: each intent is asked of each source as it is."""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from werkzeug.wrappers import Response

from .documents import EmulatedIndex
from .field_texts import list_texts
from .permissions import Reader, make_reader
from .query import find_documents, rank_semantically
from .refusals import make_refusal, make_unimplemented_refusal
from .request import parse_search_request
from .responses import parse_body, respond_with_minimal_metadata
from .schema import Schema
from .selection import Selection
from .semantic import RankedDocument
from .state import Call, ServiceState

Json = dict[str, Any]

KNOWN = {
    *("intents", "knowledgeSourceParams", "includeActivity", "maxRuntimeInSeconds", "retrievalReasoningEffort"),
    *("maxOutputSize", "maxOutputSizeInTokens", "outputMode"),
}
SOURCE_OPTIONS = {
    *("knowledgeSourceName", "kind", "filterAddOn", "includeReferences", "includeReferenceSourceData"),
    *("rerankerThreshold", "alwaysQuerySource"),
}
DEPTH = 50  # documents of a source that the ranker sees
DEFAULT_TOKENS = 5_000
LETTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Found:
    """What one intent found in one source."""

    source: Json
    options: Mapping[str, Any]
    index: EmulatedIndex
    activity: int
    ranked: Sequence[RankedDocument]
    documents: Mapping[str, Json]


def retrieve(state: ServiceState, call: Call, name: str) -> Response:
    base = state.resources.find("knowledgebases", name).definition
    body = _check_body(parse_body(call.request))
    activity: list[Json] = []
    found = list(_search_sources(state, call, base, body, activity))
    tokens = sum(map(_count_tokens, found))
    activity.append({"type": "agenticReasoning", "id": len(activity), "reasoningTokens": tokens})
    passages, references = _build_references(found, _read_size(body))
    model = f"Microsoft.WindowsAzure.Search.Core.Models.{call.model_version}.Agents.AgentRetrievalResponse"
    answer: Json = {
        "@odata.context": f"{call.request.host_url}$metadata#{model}",
        "response": [{"content": [{"type": "text", "text": json.dumps(passages, ensure_ascii=False)}]}],
        "activity": activity if body.get("includeActivity", True) else None,
        "references": references,
    }
    if "text/event-stream" in call.request.headers.get("Accept", ""):
        return _stream_answer(name, body, answer)
    return respond_with_minimal_metadata(answer)


def _stream_answer(name: str, body: Json, answer: Json) -> Response:
    """Respond with the events of a retrieval, all at once: when it began, what was done, and the whole answer."""
    started = {
        "requestId": str(uuid.uuid4()),
        "knowledgeBaseName": name,
        "outputMode": "extractiveData",
        "reasoningEffort": body.get("retrievalReasoningEffort") or {"kind": "minimal"},
    }
    events: list[tuple[str, Any]] = [
        ("retrieval.started", started),
        *(("activity.completed", one) for one in answer["activity"] or ()),
        ("references.completed", answer["references"]),
        ("response.completed", {"statusCode": 200, "response": answer}),
    ]
    lines = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
    return Response(lines, mimetype="text/event-stream")


def _check_body(body: Any) -> Json:
    """Check what is asked. Raises a ServiceRefusal; whatever needs a model that reasons is not implemented."""
    if not isinstance(body, dict):
        raise make_refusal("The request is invalid. Details: parameters : The body must be an object.")
    given = {name: value for name, value in body.items() if value is not None}
    if "messages" in given:
        raise make_unimplemented_refusal("'messages' of a retrieval: they need a model that plans queries")
    effort = (given.get("retrievalReasoningEffort") or {}).get("kind", "minimal")
    if effort != "minimal":
        raise make_unimplemented_refusal(f"the reasoning effort '{effort}'")
    if given.get("outputMode", "extractiveData") != "extractiveData":
        raise make_unimplemented_refusal(f"the output mode '{given['outputMode']}'")
    if unknown := given.keys() - KNOWN:
        raise make_refusal(f"'{min(unknown)}' is not a property of a retrieval request.")
    intents = given.get("intents")
    if not isinstance(intents, list) or not intents or not all(_is_intent(one) for one in intents):
        raise make_refusal(
            "The request is invalid. Details: parameters : 'intents' must be a list of semantic intents, each with a "
            "'search'.",
            code="MissingRequiredParameter",
        )
    return given


def _is_intent(one: Any) -> bool:
    return isinstance(one, dict) and one.get("type", "semantic") == "semantic" and bool(one.get("search"))


def _read_size(body: Json) -> int:
    return int(body.get("maxOutputSize") or body.get("maxOutputSizeInTokens") or DEFAULT_TOKENS) * LETTERS_PER_TOKEN


def _search_sources(state: ServiceState, call: Call, base: Json, body: Json, activity: list[Json]) -> Iterator[Found]:
    """Ask each source each intent, and note in `activity` what was asked."""
    for one in base["knowledgeSources"]:
        source = state.resources.find("knowledgesources", one["name"]).definition
        if source["kind"] != "searchIndex":
            raise make_unimplemented_refusal(f"retrieval from knowledge sources of kind '{source['kind']}'")
        index = state.find_aliased_index(source["searchIndexParameters"]["searchIndexName"])
        options = _find_options(body, source["name"])
        reader = make_reader(call.request, index.schema)
        for intent in body["intents"]:
            yield _search_source(state, source, options, index, intent["search"], reader, activity)


def _find_options(body: Json, name: str) -> Mapping[str, Any]:
    for options in body.get("knowledgeSourceParams") or ():
        if options.get("knowledgeSourceName") == name:
            if unknown := options.keys() - SOURCE_OPTIONS:
                raise make_unimplemented_refusal(f"'{min(unknown)}' of 'knowledgeSourceParams'")
            return dict(options)
    return {}


def _search_source(
    state: ServiceState,
    source: Json,
    options: Mapping[str, Any],
    index: EmulatedIndex,
    text: str,
    reader: Reader,
    activity: list[Json],
) -> Found:
    began, parameters = time.perf_counter(), source["searchIndexParameters"]
    configuration = parameters["semanticConfigurationName"] or (index.schema.definition["semantic"] or {}).get(
        "defaultConfiguration"
    )
    searched = [field["name"] for field in parameters["searchFields"]]
    body: Json = {"search": text, "queryType": "semantic", "semanticConfiguration": configuration}
    body["filter"] = options.get("filterAddOn")
    vectors = [field.path for field in index.schema.fields.values() if field.vectorizer]
    chosen = [path for path in vectors if not searched or path in searched]
    body["vectorQueries"] = [{"kind": "text", "text": text, "k": DEPTH, "fields": path} for path in chosen]
    words = [path for path in searched if path not in vectors]
    body["searchFields"] = ",".join(words) or None
    asked = parse_search_request(body, index.schema, ranker=state.reranker is not None)
    state.faults.strike("semantic")
    with index.lock:
        index.publish_due_changes()
        found = find_documents(asked, index, reader)
    least = float(options.get("rerankerThreshold") or 0)
    ranked = [one for one in rank_semantically(asked, found, state.reranker).by_key.values() if one.score >= least]
    activity.append(
        {
            "type": "searchIndex",
            "id": len(activity),
            "knowledgeSourceName": source["name"],
            "queryTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "count": len(ranked[:DEPTH]),
            "elapsedMs": round((time.perf_counter() - began) * 1000),
            "searchIndexArguments": {
                "search": text,
                "filter": options.get("filterAddOn"),
                "semanticConfigurationName": configuration,
                "sourceDataFields": [
                    {"name": path} for path in _list_source_fields(source, index.schema, configuration)
                ],
                "searchFields": parameters["searchFields"],
            },
        }
    )
    return Found(source, options, index, len(activity) - 1, ranked[:DEPTH], found.documents)


def _list_source_fields(source: Json, schema: Schema, configuration: str | None) -> list[str]:
    """List the fields that a reference shows: those named, or the configuration's and the key."""
    named = [field["name"] for field in source["searchIndexParameters"]["sourceDataFields"]]
    if named:
        return named
    return list(dict.fromkeys([*_list_roles(schema, configuration).values(), schema.key]))


def _list_roles(schema: Schema, configuration: str | None) -> dict[str, str]:
    """List the first field of each role in a semantic configuration: title, terms and content."""
    configurations = (schema.definition["semantic"] or {"configurations": []})["configurations"]
    prioritized = next(one["prioritizedFields"] for one in configurations if one["name"] == configuration)
    named = {
        "title": [prioritized["titleField"]] if prioritized["titleField"] else [],
        "terms": prioritized["prioritizedKeywordsFields"],
        "content": prioritized["prioritizedContentFields"],
    }
    return {role: fields[0]["fieldName"] for role, fields in named.items() if fields}


def _count_tokens(one: Found) -> int:
    """Count the tokens that a search gave to the ranker, for which the service charges."""
    roles = _list_roles(one.index.schema, _get_configuration(one))
    documents = [one.documents[ranked.key] for ranked in one.ranked]
    texts = [text for document in documents for path in roles.values() for text in list_texts(document, path)]
    return sum(map(len, texts)) // LETTERS_PER_TOKEN


def _get_configuration(one: Found) -> str | None:
    """Return the semantic configuration that a source names, or the index's default."""
    named: str | None = one.source["searchIndexParameters"]["semanticConfigurationName"]
    return named or (one.index.schema.definition["semantic"] or {}).get("defaultConfiguration")


def _build_references(found: Sequence[Found], size: int) -> tuple[list[Json], list[Json]]:
    """Build the passages, best first and as many as fit, and the reference of each; a document is told once."""
    best = sorted(((one, ranked) for one in found for ranked in one.ranked), key=lambda pair: -pair[1].score)
    passages: list[Json] = []
    references: list[Json] = []
    told: set[tuple[str, str]] = set()
    for one, ranked in best:
        if (one.source["name"], ranked.key) in told:
            continue
        told.add((one.source["name"], ranked.key))
        configuration = _get_configuration(one)
        document = one.documents[ranked.key]
        roles = _list_roles(one.index.schema, configuration)
        texts = {role: " ".join(list_texts(document, path)) for role, path in roles.items()}
        size -= sum(map(len, texts.values()))
        if size < 0 and passages:
            break
        passages.append({"ref_id": len(passages), **texts})
        if one.options.get("includeReferences", True):
            references.append(_build_reference(one, ranked, document, configuration, len(passages) - 1))
    return passages, references


def _build_reference(
    one: Found, ranked: RankedDocument, document: Json, configuration: str | None, number: int
) -> Json:
    shown: Json | None = None
    if one.options.get("includeReferenceSourceData"):
        paths = frozenset(_list_source_fields(one.source, one.index.schema, configuration))
        shown = Selection(one.index.schema, paths).select_fields(document)
    return {
        "type": "searchIndex",
        "id": str(number),
        "activitySource": one.activity,
        "sourceData": shown,
        "rerankerScore": ranked.score,
        "docKey": ranked.key,
    }

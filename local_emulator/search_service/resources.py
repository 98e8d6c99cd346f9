"""Keep the service's named definitions other than indexes: each has defaults, checks, and an ETag."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .part_defaults import SHAPER, complete_skill, has_nested_inputs
from .preconditions import make_etag
from .refusals import make_missing_refusal, make_refusal, make_unimplemented_refusal
from .storage import Storage
from .synonyms import check_rules

Json = dict[str, Any]

NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){0,126}(?<!-)")
SOURCE_PARAMETERS = (
    *("searchIndexParameters", "azureBlobParameters", "mcpToolParameters", "webParameters"),
    *("remoteSharePointParameters", "indexedSharePointParameters", "indexedOneLakeParameters"),
)
SOURCE_KINDS = {name.removesuffix("Parameters"): name for name in SOURCE_PARAMETERS}
DATA_SOURCE_TYPES = (
    *("azuresql", "cosmosdb", "azureblob", "azuretable", "mysql", "adlsgen2", "onelake", "sharepoint"),
)
NO_START = "0001-01-01T00:00:00Z"  # of a schedule that names none
INDEXER_PARAMETERS: Json = {
    **dict.fromkeys(("batchSize", "maxFailedItems", "maxFailedItemsPerBatch", "base64EncodeKeys")),
    "configuration": {},
}
WHOLE = {"@odata.context", "@odata.etag"}


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of resource: how the service calls one, its members with their defaults, and what is checked of them."""

    called: str
    defaults: Mapping[str, Any]
    check: Callable[[Json], None]
    most: int


@dataclass(frozen=True, slots=True)
class Resource:
    etag: str
    definition: Json


def _check_synonym_map(given: Json) -> None:
    if given["format"] != "solr":
        raise make_refusal(f"The format '{given['format']}' is not known: 'solr' was expected.", parameter="format")
    check_rules(given["synonyms"])


def _check_alias(given: Json) -> None:
    indexes = given["indexes"]
    if not isinstance(indexes, list) or len(indexes) != 1 or not isinstance(indexes[0], str):
        raise make_refusal(
            "The request is invalid. Details: alias : An alias must be mapped to exactly one index.",
            code="InvalidRequestParameter",
        )


def _require_source_kind(given: Json) -> None:
    """Refuse a kind of source by its name, before a member that only that kind has is called unknown."""
    if given.get("kind") not in SOURCE_KINDS:
        raise make_unimplemented_refusal(f"knowledge sources of kind '{given.get('kind')}'")


def _check_knowledge_source(given: Json) -> None:
    wanted = SOURCE_KINDS[given["kind"]]
    if given[wanted] is None and given["kind"] != "web":
        raise make_refusal(
            f"The request is invalid. Details: knowledgeSource : '{wanted}' is required for the kind "
            f"'{given['kind']}'.",
            code="MissingRequiredParameter",
        )
    if given["kind"] == "searchIndex":
        defaults: Json = {
            "searchIndexName": None,
            "semanticConfigurationName": None,
            "sourceDataFields": [],
            "searchFields": [],
        }
        given[wanted] = defaults | {k: v for k, v in given[wanted].items() if v is not None}


def _check_knowledge_base(given: Json) -> None:
    for model in given["models"]:
        if isinstance(model.get("azureOpenAIParameters"), dict):
            model["azureOpenAIParameters"] = {"authIdentity": None} | model["azureOpenAIParameters"]
    sources = given["knowledgeSources"]
    if not sources or not all(isinstance(one, dict) and one.get("name") for one in sources):
        raise make_refusal(
            "The request is invalid. Details: knowledgeBase : 'knowledgeSources' must name at least one knowledge "
            "source.",
            code="MissingRequiredParameter",
        )


def _check_data_source(given: Json) -> None:
    if given["type"] not in DATA_SOURCE_TYPES:
        raise make_refusal(f"Data source type '{given['type']}' is not supported")
    if not isinstance(given["container"], dict) or not given["container"].get("name"):
        raise make_refusal("A data source must have a container with a name.", parameter="container")
    given["container"] = {"name": None, "query": None} | given["container"]
    given["credentials"] = {"connectionString": None}  # a secret is taken and never answered


def _check_skillset(given: Json) -> None:
    if not isinstance(given["skills"], list):
        raise make_refusal("A skillset must have a list of skills.", parameter="skills")
    for place, skill in enumerate(given["skills"], 1):
        if skill.get("@odata.type") != SHAPER and has_nested_inputs(skill):
            raise make_refusal(
                f"One or more skills are invalid. Details: Skill '#{place}' is not allowed to have recursively defined "
                "inputs"
            )
    given["skills"] = [complete_skill(one) for one in given["skills"]]
    given["cognitiveServices"] = given["cognitiveServices"] and {"description": None} | given["cognitiveServices"]


def _check_indexer(given: Json) -> None:
    for member in ("dataSourceName", "targetIndexName"):
        if not isinstance(given[member], str):
            raise make_refusal(
                f"The request is invalid. Details: indexer : '{member}' is required.", code="MissingRequiredParameter"
            )
    if isinstance(given["schedule"], dict):
        given["schedule"] = {"startTime": NO_START} | given["schedule"]
    if isinstance(given["parameters"], dict):
        given["parameters"] = INDEXER_PARAMETERS | given["parameters"]
    for member in ("fieldMappings", "outputFieldMappings"):
        given[member] = [_complete_mapping(one) for one in given[member]]


def _complete_mapping(mapping: Json) -> Json:
    """Fill in what a field mapping leaves out, as the service answers it."""
    complete: Json = {**dict.fromkeys(("sourceFieldName", "targetFieldName", "mappingFunction")), **mapping}
    if complete["mappingFunction"]:
        complete["mappingFunction"] = {"parameters": None} | complete["mappingFunction"]
    return complete


KINDS: Mapping[str, ResourceKind] = {
    "synonymmaps": ResourceKind(
        "synonym map", {"format": "solr", "synonyms": "", "encryptionKey": None}, _check_synonym_map, 20
    ),
    "aliases": ResourceKind("alias", {"indexes": []}, _check_alias, 200),
    "knowledgesources": ResourceKind(
        "knowledge source",
        {"kind": None, "description": None, "encryptionKey": None, **dict.fromkeys(SOURCE_PARAMETERS)},
        _check_knowledge_source,
        200,
    ),
    "knowledgebases": ResourceKind(
        "knowledge base",
        {
            "description": None,
            "retrievalInstructions": None,
            "answerInstructions": None,
            "outputMode": None,
            "knowledgeSources": [],
            "models": [],
            "encryptionKey": None,
            "retrievalReasoningEffort": None,
        },
        _check_knowledge_base,
        200,
    ),
    "datasources": ResourceKind(
        "data source",
        {
            "description": None,
            "type": None,
            "subtype": None,
            "indexerPermissionOptions": [],
            "credentials": None,
            "container": None,
            "dataChangeDetectionPolicy": None,
            "dataDeletionDetectionPolicy": None,
            "encryptionKey": None,
            "identity": None,
        },
        _check_data_source,
        50,
    ),
    "skillsets": ResourceKind(
        "skillset",
        {
            "description": None,
            "skills": [],
            "cognitiveServices": None,
            "knowledgeStore": None,
            "indexProjections": None,
            "encryptionKey": None,
        },
        _check_skillset,
        50,
    ),
    "indexers": ResourceKind(
        "indexer",
        {
            "description": None,
            "dataSourceName": None,
            "skillsetName": None,
            "targetIndexName": None,
            "disabled": None,
            "schedule": None,
            "parameters": None,
            "fieldMappings": [],
            "outputFieldMappings": [],
            "cache": None,
            "encryptionKey": None,
        },
        _check_indexer,
        50,
    ),
}


def complete_definition(collection: str, given: Any) -> Json:
    """Check a definition and fill in its defaults. Raises a ServiceRefusal for what is wrong with it."""
    kind = KINDS[collection]
    if not isinstance(given, dict):
        raise make_refusal(f"The request is invalid. Details: {kind.called} : The body must be an object.")
    name = given.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise make_refusal(
            f"Invalid {kind.called} name: it must only contain lowercase letters, digits or dashes, cannot start or "
            "end with dashes and is limited to 128 characters.",
            code="InvalidName",
        )
    if collection == "knowledgesources":
        _require_source_kind(given)
    if unknown := given.keys() - kind.defaults.keys() - WHOLE - {"name"}:
        raise make_refusal(
            f"The request is invalid. Details: The property '{min(unknown)}' does not exist on a {kind.called}."
        )
    if given.get("encryptionKey"):
        raise make_unimplemented_refusal(f"'encryptionKey' of a {kind.called}")
    set_members = {member: given[member] for member in kind.defaults if given.get(member) is not None}
    complete: Json = {"name": name, **kind.defaults, **set_members}
    kind.check(complete)
    return complete


class ResourceStore:
    """The store holds each resource by its collection and name, in memory and in the storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._held: dict[str, dict[str, Resource]] = {collection: {} for collection in KINDS}
        for collection, etag, definition in storage.load_resources():
            self._held[collection][definition["name"]] = Resource(etag, definition)

    def get(self, collection: str, name: str) -> Resource | None:
        return self._held[collection].get(name)

    def find(self, collection: str, name: str) -> Resource:
        held = self.get(collection, name)
        if held is None:
            raise make_missing_refusal(KINDS[collection].called, name)
        return held

    def list_all(self, collection: str) -> Sequence[Resource]:
        held = self._held[collection]
        return [held[name] for name in sorted(held)]

    def save(self, collection: str, definition: Json) -> Resource:
        made = Resource(make_etag(), definition)
        self._storage.save_resource(collection, definition["name"], made.etag, definition)
        self._held[collection][definition["name"]] = made
        return made

    def drop(self, collection: str, name: str) -> None:
        self._storage.drop_resource(collection, name)
        del self._held[collection][name]

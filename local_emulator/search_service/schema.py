"""Check an index definition, fill in every default as the service answers it, and find its fields by path."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .analysis import LexicalAnalyzer
from .compressions import Compression, find_compression
from .index_analysis import IndexAnalysis
from .part_defaults import complete_part
from .refusals import make_refusal, make_unimplemented_refusal
from .scoring_schema import check_scoring_profiles, complete_function
from .vector_schema import complete_vector_search, find_profile, make_definition_refusal, refuse_unknown_settings

Json = dict[str, Any]

PRIMITIVES = {
    "Edm.String",
    "Edm.Boolean",
    "Edm.Int32",
    "Edm.Int64",
    "Edm.Double",
    "Edm.DateTimeOffset",
    "Edm.GeographyPoint",
}
VECTOR = "Collection(Edm.Single)"
# types of vectors, with the bytes of a number; they are compared as floats
VECTORS: Mapping[str, int] = {
    VECTOR: 4,
    "Collection(Edm.Half)": 2,
    "Collection(Edm.Int16)": 2,
    "Collection(Edm.SByte)": 1,
}
BITS = "Collection(Edm.Byte)"
FLAGS = ("searchable", "filterable", "retrievable", "stored", "sortable", "facetable", "key")
UNSET = (
    "indexAnalyzer",
    "searchAnalyzer",
    "analyzer",
    "normalizer",
    "dimensions",
    "vectorSearchProfile",
    "vectorEncoding",
    "permissionFilter",
    "sensitivityLabel",
)
PERMISSION_KINDS = ("userIds", "groupIds", "rbacScope")
INDEX: Json = {
    "description": None,
    "defaultScoringProfile": None,
    "permissionFilterOption": None,
    "purviewEnabled": False,
    "scoringProfiles": [],
    "corsOptions": None,
    "suggesters": [],
    "analyzers": [],
    "normalizers": [],
    "tokenizers": [],
    "tokenFilters": [],
    "charFilters": [],
    "encryptionKey": None,
    "similarity": None,
    "semantic": None,
    "vectorSearch": None,
}
ANALYSIS_PARTS = ("analyzers", "normalizers", "tokenizers", "tokenFilters", "charFilters")
OURS = {"@odata.context", "@odata.etag", "name", "fields"}
UNIMPLEMENTED = ("encryptionKey",)
BM25 = "#Microsoft.Azure.Search.BM25Similarity"
NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){0,126}(?<!-)")
FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class Field:
    """A field holds values at its path: `address/city`. It is `nested` when a collection of objects lies on the way."""

    path: str
    type: str
    collection: bool
    nested: bool
    searchable: bool
    filterable: bool
    retrievable: bool
    sortable: bool
    facetable: bool
    analyzer: str
    index_analysis: LexicalAnalyzer
    search_analysis: LexicalAnalyzer
    dimensions: int
    metric: str
    number_type: str = ""  # of a vector, as the definition has it
    synonym_maps: tuple[str, ...] = ()
    vectorizer: str = ""
    compression: Compression | None = None
    normalizer: str = ""
    normalize: Callable[[str], str] | None = None  # what is filtered, sorted and counted stands for itself otherwise

    @property
    def has_many_values(self) -> bool:
        return self.collection or self.nested


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema defines an index: the service answers `definition`; `kinds` has the type of each path, objects too."""

    name: str
    definition: Json
    key: str
    fields: Mapping[str, Field]
    kinds: Mapping[str, str]
    permission_fields: Mapping[str, str]  # path and kind

    def get_field(self, path: str, parameter: str) -> Field:
        found = self.fields.get(path)
        if not found:
            raise make_refusal(
                f"Could not find a property named '{path}' on type 'search.document'.", parameter=parameter
            )
        return found

    @property
    def searchable_fields(self) -> list[Field]:
        return [field for field in self.fields.values() if field.searchable and field.type == "Edm.String"]

    @property
    def unstored_fields(self) -> frozenset[str]:
        """The vector fields that a merge loses unless it brings them."""
        return frozenset(each["name"] for each in self.definition["fields"] if not each.get("stored", True))

    @property
    def vector_fields(self) -> list[Field]:
        return [field for field in self.fields.values() if field.type == VECTOR]

    @property
    def whole_term_fields(self) -> list[Field]:
        """The fields whose whole value is kept as one term."""
        return [
            field
            for field in self.fields.values()
            if field.type == "Edm.String"
            and (field.filterable or field.sortable or field.facetable or field.analyzer == "keyword")
        ]

    def list_children(self, path: str = "") -> list[str]:
        """List the names right under a path, in the order of the definition."""
        inside = f"{path}/" if path else ""
        return [p[len(inside) :] for p in self.kinds if p.startswith(inside) and "/" not in p[len(inside) :]]


def parse_schema(definition: Json) -> Schema:
    """Read a definition. Raises a ServiceRefusal for what is wrong with it, or not implemented."""
    complete = _complete_definition(definition)
    kinds = dict(_list_types(complete["fields"], ""))
    IndexAnalysis(complete).check_references()
    fields = {field.path: field for field in _list_fields(complete["fields"], complete, "", False)}
    keys = [field["name"] for field in complete["fields"] if field.get("key")]
    if len(keys) != 1 or kinds[keys[0]] != "Edm.String":
        raise make_definition_refusal(
            f"Found {len(keys)} key fields in index '{complete['name']}'. An index must have one, a string."
        )
    permissions = {one["name"]: one["permissionFilter"] for one in complete["fields"] if one.get("permissionFilter")}
    made = Schema(complete["name"], complete, keys[0], fields, kinds, permissions)
    _check_references(made)
    check_scoring_profiles(complete, fields)
    return made


def _complete_definition(definition: Json) -> Json:
    refuse_unknown_settings(definition, (INDEX.keys() | OURS).difference(UNIMPLEMENTED), "an index")
    if not isinstance(definition.get("name"), str) or not NAME.fullmatch(definition["name"]):
        raise make_definition_refusal(
            "Index name must only contain lowercase letters, digits or dashes, cannot start or end with dashes and is "
            "limited to 128 characters."
        )
    given = {name: definition[name] for name in INDEX if definition.get(name) is not None}
    complete: Json = {"name": definition["name"], **INDEX, **given}
    complete["fields"] = [_complete_field(field) for field in _check_field_names(definition.get("fields") or [])]
    complete["scoringProfiles"] = [_complete_profile(profile) for profile in complete["scoringProfiles"]]
    for part in ANALYSIS_PARTS:
        complete[part] = [complete_part(one) for one in complete[part]]
    complete["corsOptions"] = complete["corsOptions"] and {"maxAgeInSeconds": None} | complete["corsOptions"]
    complete["similarity"] = {"@odata.type": BM25, "k1": None, "b": None} | (complete["similarity"] or {})
    complete["semantic"] = complete["semantic"] and _complete_semantic(complete["semantic"])
    complete["vectorSearch"] = complete["vectorSearch"] and complete_vector_search(complete["vectorSearch"])
    if complete["similarity"]["@odata.type"] != BM25:
        raise make_unimplemented_refusal("a similarity other than BM25")
    return complete


def _check_field_names(fields: Sequence[Json]) -> Sequence[Json]:
    if not fields:
        raise make_definition_refusal("The index must have at least one field.")
    for name in (names := [str(field.get("name")) for field in fields]):
        if not FIELD_NAME.fullmatch(name):
            raise make_definition_refusal(
                f"Invalid field name '{name}'. Field names start with a letter and hold letters, digits, _."
            )
        if [n.lower() for n in names].count(name.lower()) > 1:
            raise make_definition_refusal(f"Cannot define duplicate field '{name}'.")
    return fields


def _complete_field(given: Json) -> Json:
    kind = given.get("type")
    if kind in ("Edm.ComplexType", "Collection(Edm.ComplexType)"):
        inner = [_complete_field(field) for field in _check_field_names(given.get("fields") or [])]
        return {"name": given["name"], "type": kind, "fields": inner}
    if kind == BITS:
        raise make_unimplemented_refusal(f"vectors of type '{kind}'")
    if kind not in VECTORS and str(kind).removeprefix("Collection(").removesuffix(")") not in PRIMITIVES:
        raise make_definition_refusal(f"The type '{kind}' of field '{given['name']}' is not known.")
    refuse_unknown_settings(
        given, {"name", "type", "synonymMaps", *FLAGS, *UNSET}.difference(("vectorEncoding",)), "a field"
    )
    flags = {flag: given[flag] if given.get(flag) is not None else _get_default_flag(flag, given) for flag in FLAGS}
    if flags["retrievable"] and not flags["stored"]:
        raise make_definition_refusal(f"The field '{given['name']}' cannot be retrievable when it is not stored.")
    others = {name: given.get(name) for name in UNSET}
    _check_permission_filter(given, flags)
    _check_normalizer(given, flags)
    maps = given.get("synonymMaps") or []
    if len(maps) > 1 or (maps and not flags["searchable"]):
        raise make_definition_refusal(f"The field '{given['name']}' may have one synonym map, if it is searchable.")
    return {"name": given["name"], "type": kind, **flags, **others, "synonymMaps": maps}


def _check_permission_filter(given: Json, flags: Mapping[str, bool]) -> None:
    kind = given.get("permissionFilter")
    if kind is None:
        return
    if kind not in PERMISSION_KINDS or not flags["filterable"]:
        raise make_definition_refusal(
            f"'permissionFilter' of the field '{given['name']}' is one of {', '.join(PERMISSION_KINDS)}, on a "
            "filterable field."
        )


def _check_normalizer(given: Json, flags: Mapping[str, bool]) -> None:
    if not given.get("normalizer"):
        return
    used = flags["filterable"] or flags["sortable"] or flags["facetable"]
    if not used or given["type"] not in ("Edm.String", "Collection(Edm.String)"):
        raise make_definition_refusal(
            f"The field '{given['name']}' may have a normalizer if it is a filterable, sortable or facetable string."
        )


def _get_default_flag(flag: str, given: Json) -> bool:
    """Get what a flag is when it was left out."""
    kind, collection = given["type"], given["type"].startswith("Collection(")
    match flag:
        case "key":
            return False
        case "retrievable":
            return kind not in VECTORS
        case "stored":
            return True
        case "searchable":
            return kind in ("Edm.String", "Collection(Edm.String)", *VECTORS)
        case "filterable":
            return kind not in VECTORS
        case "sortable":
            return not collection
        case _:
            return kind not in VECTORS and not kind.removeprefix("Collection(").startswith("Edm.GeographyPoint")


def _complete_profile(given: Json) -> Json:
    profile: Json = {"name": given["name"], "functionAggregation": None, "text": None, "functions": []} | given
    functions = [complete_function(one) for one in profile["functions"] or []]
    aggregation = profile["functionAggregation"] or ("sum" if functions else None)
    return profile | {"functions": functions, "functionAggregation": aggregation}


def _complete_semantic(given: Json) -> Json:
    def complete_configuration(one: Json) -> Json:
        fields: Json = {"titleField": None, "prioritizedContentFields": [], "prioritizedKeywordsFields": []}
        prioritized = fields | {k: v for k, v in one["prioritizedFields"].items() if v is not None}
        ranking = one.get("rankingOrder") or "BoostedRerankerScore"
        return {
            "name": one["name"],
            "flightingOptIn": False,
            "rankingOrder": ranking,
            "prioritizedFields": prioritized,
        }

    return {
        "defaultConfiguration": given.get("defaultConfiguration"),
        "configurations": [complete_configuration(one) for one in given.get("configurations") or []],
    }


def _list_types(fields: Sequence[Json], inside: str) -> Iterator[tuple[str, str]]:
    for field in fields:
        yield inside + field["name"], field["type"]
        yield from _list_types(field.get("fields", ()), f"{inside}{field['name']}/")


def _list_fields(fields: Sequence[Json], definition: Json, inside: str, nested: bool) -> Iterator[Field]:
    for field in fields:
        path, collection = inside + field["name"], field["type"].startswith("Collection(")
        if "fields" in field:
            yield from _list_fields(field["fields"], definition, f"{path}/", nested or collection)
        else:
            yield _build_field(field, path, nested, definition)


def _build_field(field: Json, path: str, nested: bool, definition: Json) -> Field:
    vector = field["type"] in VECTORS
    vector_search, analysis = definition["vectorSearch"] or {}, IndexAnalysis(definition)
    analyzer = field["indexAnalyzer"] or field["analyzer"] or "standard.lucene"
    search_analyzer = field["searchAnalyzer"] or field["analyzer"] or "standard.lucene"
    profile, metric = find_profile(field, vector_search) if vector else ({}, "")
    return Field(
        path=path,
        type=VECTOR if vector else field["type"].removeprefix("Collection(").removesuffix(")"),
        collection=field["type"].startswith("Collection("),
        nested=nested,
        **{flag: field[flag] for flag in ("searchable", "filterable", "retrievable", "sortable", "facetable")},
        analyzer=analyzer,
        index_analysis=analysis.find_analyzer(analyzer),
        search_analysis=analysis.find_analyzer(search_analyzer),
        dimensions=field["dimensions"] or 0,
        metric=metric,
        synonym_maps=tuple(field["synonymMaps"]),
        vectorizer=profile.get("vectorizer") or "",
        number_type=field["type"] if vector else "",
        normalizer=field["normalizer"] or "",
        normalize=analysis.find_normalizer(field["normalizer"]) if field["normalizer"] else None,
        compression=find_compression(profile.get("compression"), vector_search, field["dimensions"] or 0),
    )


def _check_references(made: Schema) -> None:
    """Check that semantic configurations and suggesters name searchable strings."""
    semantic = made.definition["semantic"] or {"configurations": []}
    for configuration in semantic["configurations"]:
        for path in list_semantic_fields(configuration):
            if path not in made.fields or made.fields[path].type != "Edm.String":
                raise make_definition_refusal(
                    f"The semantic configuration names '{path}', which is not a string field of the index."
                )
    for suggester in made.definition["suggesters"]:
        for path in suggester["sourceFields"]:
            if path not in made.fields or not made.fields[path].searchable:
                raise make_definition_refusal(
                    f"The suggester '{suggester['name']}' names '{path}', which is not searchable."
                )


def list_semantic_fields(configuration: Json) -> list[str]:
    """List the title, content and keyword fields of a semantic configuration, in that order."""
    prioritized = configuration["prioritizedFields"]
    title = [prioritized["titleField"]] if prioritized["titleField"] else []
    fields = [*title, *prioritized["prioritizedContentFields"], *prioritized["prioritizedKeywordsFields"]]
    return [field["fieldName"] for field in fields]

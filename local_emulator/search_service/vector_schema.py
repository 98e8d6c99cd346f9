"""Check the vector part of an index definition: algorithms, profiles, compressions and vectorizers."""

from collections.abc import Collection, Mapping
from typing import Any

from .compressions import BITS
from .refusals import ServiceRefusal, make_part_refusal, make_unimplemented_refusal

Json = dict[str, Any]

METRICS = {"cosine", "euclidean", "dotProduct"}
VECTORIZERS: Mapping[str, str] = {"azureOpenAI": "azureOpenAIParameters", "customWebApi": "customWebApiParameters"}
ALGORITHMS = ("hnswParameters", "exhaustiveKnnParameters")  # one is null, as recorded
STORAGE_METHODS = ("preserveOriginals", "discardOriginals")
DEFAULT_OVERSAMPLING = {"scalarQuantization": 4.0}  # recorded; that of the other kind is not known
RESCORING = {
    "enableRescoring": True,
    "defaultOversampling": None,
    "rescoreStorageMethod": "preserveOriginals",
}


def complete_vector_search(given: Json) -> Json:
    """Fill in the defaults. Profiles may name what is defined beside them only."""
    refuse_unknown_settings(given, ("algorithms", "profiles", "compressions", "vectorizers"), "vector search")
    profiles = given.get("profiles") or []
    for profile in profiles:
        refuse_unknown_settings(profile, ("name", "algorithm", "compression", "vectorizer"), "a vector search profile")
    complete: Json = {
        "algorithms": [_complete_algorithm(one) for one in given.get("algorithms") or []],
        "profiles": [
            {
                "name": one["name"],
                "algorithm": one["algorithm"],
                "vectorizer": one.get("vectorizer"),
                "compression": one.get("compression"),
            }
            for one in profiles
        ],
        "vectorizers": [_complete_vectorizer(one) for one in given.get("vectorizers") or []],
        "compressions": [_complete_compression(one) for one in given.get("compressions") or []],
    }
    _check_profiles(complete)
    return complete


def refuse_unknown_settings(given: Json, known: Collection[str], of: str) -> None:
    """Refuse what is set and would have to be ignored."""
    for name, value in given.items():
        if name not in known and value not in (None, False, [], "disabled"):
            raise make_unimplemented_refusal(f"'{name}' of {of}")


def _complete_algorithm(given: Json) -> Json:
    hnsw = given.get("kind") == "hnsw"
    name = "hnswParameters" if hnsw else "exhaustiveKnnParameters"
    defaults: Json = {"metric": "cosine"} | ({"m": 4, "efConstruction": 400, "efSearch": 500} if hnsw else {})
    parameters = defaults | {k: v for k, v in (given.get(name) or {}).items() if v is not None}
    if parameters["metric"] not in METRICS:
        raise make_unimplemented_refusal(f"the vector metric '{parameters['metric']}'")
    return {"name": given["name"], "kind": given["kind"], **dict.fromkeys(ALGORITHMS), name: parameters}


def _complete_compression(given: Json) -> Json:
    kind = str(given.get("kind"))
    if kind not in BITS:
        raise make_unimplemented_refusal(f"compressions of kind '{kind}'")
    rescoring = RESCORING | {k: v for k, v in (given.get("rescoringOptions") or {}).items() if v is not None}
    if (older := given.get("rerankWithOriginalVectors")) is not None:  # before 2025-09-01
        rescoring["enableRescoring"] = older
    default = given.get("defaultOversampling") or DEFAULT_OVERSAMPLING.get(kind)
    rescoring["defaultOversampling"] = rescoring["defaultOversampling"] or default
    if rescoring["rescoreStorageMethod"] not in STORAGE_METHODS:
        raise make_definition_refusal(f"'rescoreStorageMethod' is one of {', '.join(STORAGE_METHODS)}.")
    complete: Json = {
        "name": given["name"],
        "kind": kind,
        "truncationDimension": given.get("truncationDimension"),
        "rescoringOptions": rescoring,
    }
    if kind == "scalarQuantization":
        complete["scalarQuantizationParameters"] = given.get("scalarQuantizationParameters") or {
            "quantizedDataType": "int8"
        }
    return complete


def _complete_vectorizer(given: Json) -> Json:
    kind = str(given.get("kind"))
    if kind not in VECTORIZERS:
        raise make_unimplemented_refusal(f"vectorizers of kind '{kind}'")
    parameters = given.get(VECTORIZERS[kind])
    address = "resourceUri" if kind == "azureOpenAI" else "uri"
    if not isinstance(parameters, dict) or not str(parameters.get(address, "")).startswith(("http://", "https://")):
        raise make_definition_refusal(f"The vectorizer '{given['name']}' must have an address in '{address}'.")
    if kind == "azureOpenAI":
        parameters = {"authIdentity": None} | parameters
    return {"name": given["name"], "kind": kind, **dict.fromkeys(VECTORIZERS.values()), VECTORIZERS[kind]: parameters}


def _check_profiles(complete: Json) -> None:
    """Check that a profile names only what is defined beside it."""
    for member, collection in (("vectorizer", "vectorizers"), ("compression", "compressions")):
        names = {one["name"] for one in complete[collection]}
        for profile in complete["profiles"]:
            if profile[member] is not None and profile[member] not in names:
                raise make_definition_refusal(
                    f"The vector search profile '{profile['name']}' names the {member} '{profile[member]}', which is "
                    "not defined."
                )


def find_profile(field: Json, vector_search: Json) -> tuple[Json, str]:
    """Find the profile of a vector field, and its metric."""
    if not field["dimensions"] or not 2 <= field["dimensions"] <= 4096:
        raise make_definition_refusal(
            f"The vector field '{field['name']}' must have the property 'dimensions' between 2 and 4096."
        )
    profiles = {one["name"]: one for one in vector_search.get("profiles", ())}
    algorithms = {one["name"]: one for one in vector_search.get("algorithms", ())}
    profile = profiles.get(field["vectorSearchProfile"])
    algorithm = algorithms.get(profile["algorithm"]) if profile else None
    if not profile or not algorithm:
        raise make_definition_refusal(
            f"The vector field '{field['name']}' must have a 'vectorSearchProfile' that is defined, with an algorithm."
        )
    parameters = algorithm.get("hnswParameters") or algorithm["exhaustiveKnnParameters"]
    return profile, str(parameters["metric"])


def make_definition_refusal(message: str) -> ServiceRefusal:
    return make_part_refusal("definition", message, code="InvalidRequestParameter", detail="InvalidField")

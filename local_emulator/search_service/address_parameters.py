"""Read the parameters of a search, suggestion or completion from the address of a GET into the body of a POST."""

from collections.abc import Mapping
from typing import Any

from werkzeug.wrappers import Request

from .refusals import make_refusal

Json = dict[str, Any]

TEXT, NUMBER, WHOLE, TRUTH, LIST = "text", "number", "whole number", "true or false", "list"

COMMON: Mapping[str, tuple[str, str]] = {
    "search": ("search", TEXT),
    "$filter": ("filter", TEXT),
    "$top": ("top", WHOLE),
    "searchFields": ("searchFields", TEXT),
    "minimumCoverage": ("minimumCoverage", NUMBER),
    "highlightPreTag": ("highlightPreTag", TEXT),
    "highlightPostTag": ("highlightPostTag", TEXT),
}
SEARCH: Mapping[str, tuple[str, str]] = {
    **COMMON,
    "$count": ("count", TRUTH),
    "$orderby": ("orderby", TEXT),
    "$select": ("select", TEXT),
    "$skip": ("skip", WHOLE),
    "facet": ("facets", LIST),
    "scoringParameter": ("scoringParameters", LIST),
    "answers": ("answers", TEXT),
    "captions": ("captions", TEXT),
    "semanticMaxWaitInMilliseconds": ("semanticMaxWaitInMilliseconds", WHOLE),
    **{
        name: (name, TEXT)
        for name in (
            *("searchMode", "queryType", "highlight", "sessionId", "scoringStatistics", "scoringProfile", "speller"),
            *("queryLanguage", "semanticConfiguration", "semanticErrorHandling", "semanticQuery", "debug"),
        )
    },
}
SUGGEST: Mapping[str, tuple[str, str]] = {
    **COMMON,
    "suggesterName": ("suggesterName", TEXT),
    "$orderby": ("orderby", TEXT),
    "$select": ("select", TEXT),
    "fuzzy": ("fuzzy", TRUTH),
}
AUTOCOMPLETE: Mapping[str, tuple[str, str]] = {
    **COMMON,
    "suggesterName": ("suggesterName", TEXT),
    "autocompleteMode": ("autocompleteMode", TEXT),
    "fuzzy": ("fuzzy", TRUTH),
}


def read_parameters(request: Request, known: Mapping[str, tuple[str, str]]) -> Json:
    """Read what an address asks for; a name may be written with its `$` or without. Raises a ServiceRefusal."""
    names = {**{name.removeprefix("$"): value for name, value in known.items()}, **known}
    body: Json = {}
    for given in request.args:
        if given.lower() == "api-version":
            continue
        if given not in names:
            raise make_refusal(f"The query parameter '{given}' is not known for this operation.", parameter=given)
        name, kind = names[given]
        values = request.args.getlist(given)
        body[name] = values if kind == LIST else _read_value(values[-1], kind, given)
    return body


def _read_value(text: str, kind: str, name: str) -> Any:
    try:
        if kind == WHOLE:
            return int(text)
        if kind == NUMBER:
            return float(text)
    except ValueError as failure:
        raise make_refusal(f"A {kind} was expected, not '{text}'.", parameter=name) from failure
    if kind == TRUTH:
        if text.lower() not in ("true", "false"):
            raise make_refusal(f"'true' or 'false' was expected, not '{text}'.", parameter=name)
        return text.lower() == "true"
    return text

"""Suggestions and completions over the fields of a suggester, and the analysis of a text on request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local_emulator.search_service.analysis import ANALYZERS
from local_emulator.search_service.documents import Index, selection
from local_emulator.search_service.expressions import matches
from local_emulator.search_service.odata import parse_filter
from local_emulator.search_service.refusals import invalid, unimplemented
from local_emulator.search_service.request import BOOLEAN, INTEGER, NUMBER, STRING, check
from local_emulator.search_service.schema import Field
from local_emulator.search_service.words import texts

Json = dict[str, Any]

TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("search", "suggesterName", "filter", "searchFields", "autocompleteMode"), STRING),
    "top": INTEGER,
    "minimumCoverage": NUMBER,
    "select": STRING,
    "fuzzy": BOOLEAN,
}
UNIMPLEMENTED = ("orderby", "highlightPreTag", "highlightPostTag")
VALUES = {"autocompleteMode": ("oneTerm",)}
UNIMPLEMENTED_VALUES: Mapping[str, Sequence[Any]] = {
    "autocompleteMode": ("twoTerms", "oneTermWithContext"),
    "fuzzy": (True,),
}
TOP = 5
_PLAIN = ANALYZERS["standard.lucene"]  # suggesters see words, not stems


def suggest(index: Index, body: Any) -> Json:
    """Documents in which every word asked for begins some word of one text; that text is the suggestion."""
    given = _read(body)
    words = [token.term for token in _PLAIN.tokens(given["search"])]
    schema = index.schema
    shown = selection(given.get("select") or schema.key, schema)
    found = [
        (-count, key, {"@search.text": text, **shown.of(document)})
        for key, document in _passing(index, given)
        if (hit := _suggestion(document, words, _fields(index, given)))
        for text, count in [hit]
    ]
    return {**_coverage(given), "value": [one for _, _, one in sorted(found, key=lambda f: f[:2])[: _top(given)]]}


def autocomplete(index: Index, body: Any) -> Json:
    """The words that the last one asked for begins, the commonest first."""
    given = _read(body)
    if "select" in given:
        raise invalid("'select' is not a parameter of autocomplete.", parameter="select")
    *before, last = [token.term for token in _PLAIN.tokens(given["search"])] or [""]
    counts: dict[str, int] = {}
    for _, document in _passing(index, given):
        said = {word for text in _texts(document, _fields(index, given)) for word in _words(text)}
        for word in said:
            if last and word.startswith(last) and said.issuperset(before):
                counts[word] = counts.get(word, 0) + 1
    best = sorted(counts, key=lambda word: (-counts[word], word))[: _top(given)]
    items = [{"text": word, "queryPlusText": " ".join([*before, word])} for word in best]
    return {**_coverage(given), "value": items}


def analyzed(body: Any) -> list[Json]:
    """The tokens that an analyzer makes of a text."""
    given = {name: value for name, value in body.items() if value} if isinstance(body, dict) else {}
    if others := given.keys() - {"text", "analyzer"}:
        raise unimplemented(f"'{min(others)}' of an analysis")
    name = given.get("analyzer")
    if name not in ANALYZERS:
        raise unimplemented(f"the analyzer '{name}'")
    return [
        {"token": token.term, "startOffset": token.start, "endOffset": token.end, "position": token.position}
        for token in ANALYZERS[name].tokens(str(given.get("text", "")))
    ]


def _read(body: Any) -> Json:
    given = check(body, TYPES, VALUES, UNIMPLEMENTED, UNIMPLEMENTED_VALUES)
    for name in ("search", "suggesterName"):
        if not given.get(name):
            raise invalid(f"The parameter '{name}' must be given.", parameter=name)
    return given


def _fields(index: Index, given: Json) -> list[Field]:
    for suggester in index.schema.definition["suggesters"]:
        if suggester["name"] == given["suggesterName"]:
            wanted = [path.strip() for path in (given.get("searchFields") or "").split(",") if path]
            return [index.schema.fields[path] for path in suggester["sourceFields"] if not wanted or path in wanted]
    raise invalid(f"The specified suggester name '{given['suggesterName']}' does not exist in this index definition.")


def _passing(index: Index, given: Json) -> Iterator[tuple[str, Json]]:
    condition = parse_filter(given["filter"], index.schema) if given.get("filter") else None
    with index.lock:
        held = list(index.documents.items())
    return ((key, document) for key, document in held if condition is None or matches(condition, document))


def _suggestion(document: Json, words: Sequence[str], fields: Sequence[Field]) -> tuple[str, int] | None:
    """The first text that holds all the words, and how many do."""
    holding = [text for text in _texts(document, fields) if _begun(words, _words(text))]
    return (holding[0], len(holding)) if words and holding else None


def _begun(words: Sequence[str], said: Sequence[str]) -> bool:
    return all(any(one.startswith(word) for one in said) for word in words)


def _texts(document: Json, fields: Sequence[Field]) -> Iterator[str]:
    return (text for field in fields for text in texts(document, field.path))


def _words(text: str) -> list[str]:
    return [token.term for token in _PLAIN.tokens(text)]


def _top(given: Json) -> int:
    top = int(given.get("top", TOP))
    if not 1 <= top <= 100:
        raise invalid("The value must be between 1 and 100.", parameter="top")
    return top


def _coverage(given: Json) -> Json:
    return {"@search.coverage": 100.0} if "minimumCoverage" in given else {}

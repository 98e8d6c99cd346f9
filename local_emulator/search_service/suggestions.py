"""Suggest documents and complete words over the fields of a suggester, and analyze a text on request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .analysis import ANALYZERS
from .documents import EmulatedIndex
from .expressions import matches_filter
from .field_texts import list_texts
from .filter_syntax import parse_filter
from .refusals import make_refusal, make_unimplemented_refusal
from .request import BOOLEAN, INTEGER, NUMBER, STRING, check_parameters
from .schema import Field
from .selection import parse_selection

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
_WORD_ANALYZER = ANALYZERS["standard.lucene"]  # suggesters see words, not stems


def suggest_documents(index: EmulatedIndex, body: Any) -> Json:
    """Suggest documents in which every word asked for begins some word of one text; that text is the suggestion."""
    given = _parse_parameters(body)
    words = [token.term for token in _WORD_ANALYZER.analyze(given["search"])]
    schema = index.schema
    shown = parse_selection(given.get("select") or schema.key, schema)
    found = [
        (-count, key, {"@search.text": text, **shown.select_fields(document)})
        for key, document in _list_filtered(index, given)
        if (hit := _find_suggestion(document, words, _find_suggester_fields(index, given)))
        for text, count in [hit]
    ]
    return {
        **_build_coverage(given),
        "value": [one for _, _, one in sorted(found, key=lambda f: f[:2])[: _parse_top(given)]],
    }


def complete_word(index: EmulatedIndex, body: Any) -> Json:
    """Complete the last word asked for with words that it begins, the commonest first."""
    given = _parse_parameters(body)
    if "select" in given:
        raise make_refusal("'select' is not a parameter of autocomplete.", parameter="select")
    *before, last = [token.term for token in _WORD_ANALYZER.analyze(given["search"])] or [""]
    counts: dict[str, int] = {}
    for _, document in _list_filtered(index, given):
        said = {
            word
            for text in _list_suggester_texts(document, _find_suggester_fields(index, given))
            for word in _split_into_words(text)
        }
        for word in said:
            if last and word.startswith(last) and said.issuperset(before):
                counts[word] = counts.get(word, 0) + 1
    best = sorted(counts, key=lambda word: (-counts[word], word))[: _parse_top(given)]
    items = [{"text": word, "queryPlusText": " ".join([*before, word])} for word in best]
    return {**_build_coverage(given), "value": items}


def analyze_text(body: Any) -> list[Json]:
    """Analyze a text into the tokens that an analyzer makes of it."""
    given = {name: value for name, value in body.items() if value} if isinstance(body, dict) else {}
    if others := given.keys() - {"text", "analyzer"}:
        raise make_unimplemented_refusal(f"'{min(others)}' of an analysis")
    name = given.get("analyzer")
    if name not in ANALYZERS:
        raise make_unimplemented_refusal(f"the analyzer '{name}'")
    return [
        {"token": token.term, "startOffset": token.start, "endOffset": token.end, "position": token.position}
        for token in ANALYZERS[name].analyze(str(given.get("text", "")))
    ]


def _parse_parameters(body: Any) -> Json:
    given = check_parameters(body, TYPES, VALUES, UNIMPLEMENTED, UNIMPLEMENTED_VALUES)
    for name in ("search", "suggesterName"):
        if not given.get(name):
            raise make_refusal(f"The parameter '{name}' must be given.", parameter=name)
    return given


def _find_suggester_fields(index: EmulatedIndex, given: Json) -> list[Field]:
    for suggester in index.schema.definition["suggesters"]:
        if suggester["name"] == given["suggesterName"]:
            wanted = [path.strip() for path in (given.get("searchFields") or "").split(",") if path]
            return [index.schema.fields[path] for path in suggester["sourceFields"] if not wanted or path in wanted]
    raise make_refusal(
        f"The specified suggester name '{given['suggesterName']}' does not exist in this index definition."
    )


def _list_filtered(index: EmulatedIndex, given: Json) -> Iterator[tuple[str, Json]]:
    condition = parse_filter(given["filter"], index.schema) if given.get("filter") else None
    with index.lock:
        held = list(index.documents.items())
    return ((key, document) for key, document in held if condition is None or matches_filter(condition, document))


def _find_suggestion(document: Json, words: Sequence[str], fields: Sequence[Field]) -> tuple[str, int] | None:
    """Find the first text that holds all the words, and count how many do."""
    holding = [
        text for text in _list_suggester_texts(document, fields) if _has_beginnings(words, _split_into_words(text))
    ]
    return (holding[0], len(holding)) if words and holding else None


def _has_beginnings(words: Sequence[str], said: Sequence[str]) -> bool:
    return all(any(one.startswith(word) for one in said) for word in words)


def _list_suggester_texts(document: Json, fields: Sequence[Field]) -> Iterator[str]:
    return (text for field in fields for text in list_texts(document, field.path))


def _split_into_words(text: str) -> list[str]:
    return [token.term for token in _WORD_ANALYZER.analyze(text)]


def _parse_top(given: Json) -> int:
    top = int(given.get("top", TOP))
    if not 1 <= top <= 100:
        raise make_refusal("The value must be between 1 and 100.", parameter="top")
    return top


def _build_coverage(given: Json) -> Json:
    return {"@search.coverage": 100.0} if "minimumCoverage" in given else {}

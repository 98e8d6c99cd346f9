"""Suggest documents and complete words over the fields of a suggester."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .analysis import ANALYZERS, Token
from .documents import EmulatedIndex
from .expressions import matches_filter
from .field_texts import list_texts
from .filter_syntax import parse_filter
from .highlights import Tags
from .orderby import SortClause, parse_orderby
from .postings import measure_edits
from .refusals import ServiceRefusal, make_refusal
from .request import BOOLEAN, INTEGER, NUMBER, STRING, check_parameters
from .schema import Field
from .selection import parse_selection

Json = dict[str, Any]
WordTest = Callable[[str], bool]

TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("search", "suggesterName", "filter", "searchFields", "autocompleteMode"), STRING),
    **dict.fromkeys(("select", "orderby", "highlightPreTag", "highlightPostTag"), STRING),
    "top": INTEGER,
    "minimumCoverage": NUMBER,
    "fuzzy": BOOLEAN,
}
VALUES = {"autocompleteMode": ("oneTerm", "twoTerms", "oneTermWithContext")}
TOP = 5
_WORD_ANALYZER = ANALYZERS["standard.lucene"]  # suggesters see words, not stems


def suggest_documents(index: EmulatedIndex, body: Any) -> Json:
    """Suggest documents in which every word asked for begins some word of one text; that text is the suggestion."""
    given = _parse_parameters(body)
    tests = _list_tests(given)
    schema = index.schema
    shown = parse_selection(given.get("select") or schema.key, schema)
    fields, tags = _find_suggester_fields(index, given), _parse_tags(given)
    found = [
        (-count, key, document, text)
        for key, document in _list_filtered(index, given)
        for text, count in _find_suggestion(document, tests, fields)
    ]
    found.sort(key=lambda one: one[:2])
    for clause in reversed(parse_orderby(given["orderby"], schema) if given.get("orderby") else []):
        found.sort(key=_make_sort_key(clause), reverse=clause.descending)
    value = [
        {"@search.text": _mark(text, tests, tags), **shown.select_fields(document)}
        for _, _, document, text in found[: _parse_top(given)]
    ]
    return {**_build_coverage(given), "value": value}


def _make_sort_key(clause: SortClause) -> Callable[[tuple[int, str, Json, str]], tuple[bool, Any]]:
    return lambda one: clause.get_key(one[2])


def complete_word(index: EmulatedIndex, body: Any) -> Json:
    """Complete the last word asked for, in the order of the alphabet, by one word or with its neighbour."""
    given = _parse_parameters(body)
    if "select" in given or "orderby" in given:
        raise make_refusal("'select' and 'orderby' are not parameters of autocomplete.", parameter="select")
    *before, last = _split_into_words(given["search"]) or [""]
    fields, mode = _find_suggester_fields(index, given), given.get("autocompleteMode", "oneTerm")
    texts = [
        _split_into_words(text)
        for _, document in _list_filtered(index, given)
        for text in _list_suggester_texts(document, fields)
    ]
    completions: set[str] = set()
    for is_wanted in _list_completion_tests(last, fuzzy=given.get("fuzzy", False)):
        completions = {one for words in texts for one in _complete(words, before, is_wanted, mode)}
        if completions:
            break
    return {**_build_coverage(given), "value": _build_completions(sorted(completions), before, mode, given)}


def _complete(words: Sequence[str], before: Sequence[str], is_wanted: WordTest, mode: str) -> Iterator[str]:
    """List what a text completes a beginning to: a word, two words, or the word asked for before it and a word."""
    for place, word in enumerate(words):
        if not is_wanted(word):
            continue
        if mode == "twoTerms":
            yield from (f"{word} {after}" for after in words[place + 1 : place + 2])
        elif mode == "oneTermWithContext":
            if before and place and words[place - 1] == before[-1]:
                yield f"{before[-1]} {word}"
        else:
            yield word


def _build_completions(found: Sequence[str], before: Sequence[str], mode: str, given: Json) -> list[Json]:
    tags = _parse_tags(given)
    kept = before[:-1] if mode == "oneTermWithContext" else before
    texts = found[: _parse_top(given)]
    return [
        {"text": text, "queryPlusText": " ".join([*kept, f"{tags.before}{text}{tags.after}" if tags else text])}
        for text in texts
    ]


def _list_completion_tests(last: str, *, fuzzy: bool) -> list[WordTest]:
    """List the tests in the order in which they are tried: misspelt words stand in only where no word begins so."""
    if not last:
        return []
    tests: list[WordTest] = [lambda word: word.startswith(last)]
    return [*tests, _make_fuzzy_test(last)] if fuzzy else tests


def _make_fuzzy_test(wanted: str) -> WordTest:
    """Make the test of a word that begins with the one asked for, give or take a letter other than the first."""

    def is_near(word: str) -> bool:
        if word.startswith(wanted):
            return True
        sizes = range(max(1, len(wanted) - 1), len(wanted) + 2)
        return word[:1] == wanted[:1] and any(measure_edits(wanted, word[:size], 1) <= 1 for size in sizes)

    return is_near


def _parse_parameters(body: Any) -> Json:
    given = check_parameters(body, TYPES, VALUES, (), {})
    if not given.get("search"):
        raise make_refusal("The parameter 'search' must be given.", parameter="search")
    if not given.get("suggesterName"):
        why = "Cannot find fields enabled for suggestions. Please provide a value for 'suggesterName' in the query."
        raise _make_suggester_refusal(why, "suggestions")
    return given


def _make_suggester_refusal(message: str, parameter: str) -> ServiceRefusal:
    return make_refusal(message, parameter=parameter, code="MissingRequiredParameter", detail="MissingSuggesterName")


def _list_tests(given: Json) -> list[WordTest]:
    """List what each word of the question asks of a word of a text."""
    words = _split_into_words(given["search"])
    if given.get("fuzzy"):
        return [_make_fuzzy_test(word) for word in words]
    return [_make_beginning_test(word) for word in words]


def _make_beginning_test(wanted: str) -> WordTest:
    return lambda word: word.startswith(wanted)


def _parse_tags(given: Json) -> Tags | None:
    before, after = given.get("highlightPreTag"), given.get("highlightPostTag")
    return Tags(before or "", after or "") if before or after else None


def _mark(text: str, tests: Sequence[WordTest], tags: Tags | None) -> str:
    if tags is None:
        return text
    return tags.mark_tokens(text, [one for one in _tokenize(text) if any(test(one.term) for test in tests)])


def _find_suggester_fields(index: EmulatedIndex, given: Json) -> list[Field]:
    for suggester in index.schema.definition["suggesters"]:
        if suggester["name"] == given["suggesterName"]:
            wanted = [path.strip() for path in (given.get("searchFields") or "").split(",") if path]
            return [index.schema.fields[path] for path in suggester["sourceFields"] if not wanted or path in wanted]
    why = f"The specified suggester name '{given['suggesterName']}' does not exist in this index definition."
    raise _make_suggester_refusal(why, "name")


def _list_filtered(index: EmulatedIndex, given: Json) -> Iterator[tuple[str, Json]]:
    condition = parse_filter(given["filter"], index.schema) if given.get("filter") else None
    with index.lock:
        index.publish_due_changes()
        held = list(index.documents.items())
    return ((key, document) for key, document in held if condition is None or matches_filter(condition, document))


def _find_suggestion(document: Json, tests: Sequence[WordTest], fields: Sequence[Field]) -> list[tuple[str, int]]:
    """Find the first text that holds all the words, with how many do; an empty list where none does."""
    holding = [
        text for text in _list_suggester_texts(document, fields) if _has_all_words(tests, _split_into_words(text))
    ]
    return [(holding[0], len(holding))] if tests and holding else []


def _has_all_words(tests: Sequence[WordTest], said: Sequence[str]) -> bool:
    return all(any(test(one) for one in said) for test in tests)


def _list_suggester_texts(document: Json, fields: Sequence[Field]) -> Iterator[str]:
    return (text for field in fields for text in list_texts(document, field.path))


def _tokenize(text: str) -> Iterator[Token]:
    return _WORD_ANALYZER.analyze(text)


def _split_into_words(text: str) -> list[str]:
    return [token.term for token in _tokenize(text)]


def _parse_top(given: Json) -> int:
    top = int(given.get("top", TOP))
    if not 1 <= top <= 100:
        raise make_refusal("The value must be between 1 and 100.", parameter="top")
    return top


def _build_coverage(given: Json) -> Json:
    return {"@search.coverage": 100.0} if "minimumCoverage" in given else {}

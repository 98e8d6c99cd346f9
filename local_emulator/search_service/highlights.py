"""Highlights are the sentences of a field in which the question's words stand, with tags around these words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .analysis import Token
from .field_texts import analyze_field_text, list_term_tests, list_texts
from .query_tree import Query
from .refusals import make_refusal
from .schema import Field, Schema

Json = dict[str, Any]

DEFAULT_FRAGMENTS = 5
_SENTENCE = re.compile(r".+?(?:[.!?]+(?=\s)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tags:
    before: str = "<em>"
    after: str = "</em>"

    def mark_tokens(self, text: str, tokens: Sequence[Token]) -> str:
        """Put tags around these tokens of the text."""
        for token in reversed(tokens):
            text = f"{text[: token.start]}{self.before}{text[token.start : token.end]}{self.after}{text[token.end :]}"
        return text


def parse_highlight(text: str, schema: Schema) -> dict[str, int]:
    """Parse fields with the number of fragments each may give: `description-2`."""
    asked = {}
    for part in (part.strip() for part in text.split(",")):
        path, _, most = part.partition("-")
        field = schema.get_field(path, "highlight")
        if not field.searchable or field.type != "Edm.String":
            raise make_refusal(
                f"The field '{path}' is not searchable, so it cannot be highlighted.", parameter="highlight"
            )
        if most and not most.isdecimal():
            raise make_refusal(f"The number of highlights of '{path}' is not a number.", parameter="highlight")
        asked[path] = int(most or DEFAULT_FRAGMENTS)
    return asked


def highlight_document(
    document: Json, asked: Mapping[str, int], query: Query | None, schema: Schema, tags: Tags
) -> Json:
    """List the fragments by field; a field without a hit is left out."""
    if query is None:
        return {}
    found = {path: list_fragments(document, schema.fields[path], query, tags)[:most] for path, most in asked.items()}
    return {path: parts for path, parts in found.items() if parts}


def list_fragments(document: Json, field: Field, query: Query, tags: Tags) -> list[str]:
    marked = []
    for text in list_texts(document, field.path):
        for sentence in list_sentences(text):
            if tokens := find_tokens(sentence, field, query):
                marked.append(tags.mark_tokens(sentence, tokens))
    return marked


def find_tokens(text: str, field: Field, query: Query) -> list[Token]:
    """Find the tokens of a text that the query asks for; of those that overlap, as n-grams do, the first."""
    tests = list_term_tests(query, field)
    found = [token for token in analyze_field_text(text, field) if any(test(token.term) for test in tests)]
    apart: list[Token] = []
    for token in sorted(found, key=lambda token: (token.start, -token.end)):
        if not apart or token.start >= apart[-1].end:
            apart.append(token)
    return apart


def list_sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        if sentence := match[0].strip():
            yield sentence

"""What the heads of columns say of the cells below them: a value under "operator" is a person."""

import re

from rag_core.text.identifiers import split_identifier
from rag_core.text.stop_words import parse_word_list

_TYPES_OF_HEADS = {
    "person": parse_word_list(
        "operator picker person author owner employee technician engineer driver contact assignee manager reporter"
    ),
    "organization": parse_word_list(
        "customer supplier manufacturer company vendor client employer organization organisation carrier agency make"
    ),
    "place": parse_word_list("site city country location station town place plant region warehouse port"),
    "product": parse_word_list("product model device machine"),
    "code": parse_word_list("sku code ticket invoice event unit serial order tag"),
}
_NO_VALUE = parse_word_list(
    "none n/a na unknown ok yes no true false open closed null nil tbd all any other various generic default"
)
_FORMS = {
    "person": re.compile(r"[^\W\d_]{1,30}\.?(?:[ '’-][^\W\d_]{1,30}\.?){1,4}"),
    "organization": re.compile(r"[^\W_][^\n,;|]{1,60}"),
    "place": re.compile(r"[^\W\d_][^\n,;|\d]{1,40}"),
    "product": re.compile(r"[^\W_][^\n,;|]{1,60}"),
    "code": re.compile(r"(?=\S{0,24}\d)[A-Z0-9](?:[./-]?[A-Z0-9]){1,23}"),
}
MAX_CELL_WORDS = 6


def name_type_of_cell(head: str, value: str) -> str:
    """Return the type of entity that a cell is altogether; "" where its column says nothing, or it is no name."""
    words = split_identifier(head).split()
    value = " ".join(value.split())
    if not words or value.casefold() in _NO_VALUE or len(value.split()) > MAX_CELL_WORDS:
        return ""
    for word in (words[0], words[-1]):
        for type, heads in _TYPES_OF_HEADS.items():
            if word in heads and (words[-1] in heads or words[-1] in ("name", "id", "no", "number", "code")):
                return type if _FORMS[type].fullmatch(value) and value[0].isupper() | value[0].isdigit() else ""
    return ""

"""E-mail addresses written so that programs do not find them: "x (at) example dot com", "x arroba ejemplo punto es"."""

import re
from collections.abc import Iterator

from rag_core.core.model import PiiSpan

AT_WORDS = "at|ät|arobase|arroba|chiocciola|apenstaartje|małpa|snabel-?a|アット|アットマーク"
DOT_WORDS = "dot|punkt|point|punto|ponto|punt|kropka|ドット"
# top-level domains after which bare words, without brackets, are an address
TOP_LEVEL = (
    "com|org|net|edu|gov|info|biz|io|eu|de|at|ch|fr|be|es|it|nl|pl|pt|br|se|no|dk|fi|jp|in|uk|ie|us|ca|au|nz|mx|ar|cz"
)
NOT_LABELS = (
    "the|a|an|this|that|our|my|your|his|her|its|each|every|any|some|one|no|which|what|der|die|das|el|la|le|il"
    "|lo|het|de|o|um|en|ett"
)
OPEN, CLOSE = r"[ ]{0,2}[(\[{<（][ ]?", r"[ ]?[)\]}>）][ ]{0,2}"
BRACKETED_AT = rf"{OPEN}(?:@|{AT_WORDS}){CLOSE}"
BRACKETED_DOT = rf"(?:{OPEN}(?:\.|{DOT_WORDS}){CLOSE}|\.| (?:{DOT_WORDS}) )"
LABEL = r"[A-Za-z0-9](?:[\w-]{0,40}[A-Za-z0-9])?"
LOCAL = r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,40}"
BRACKETED = re.compile(
    rf"(?i){LOCAL}(?:{BRACKETED_DOT}[\w-]{{1,30}}){{0,2}}{BRACKETED_AT}{LABEL}(?:{BRACKETED_DOT}{LABEL}){{1,4}}"
)
SPELT_OUT = re.compile(  # "at any point in" and "at no point is" are English
    rf"(?i){LOCAL}(?: (?:{DOT_WORDS}) [\w-]{{1,30}}){{0,2}} (?:{AT_WORDS}) (?!(?:{NOT_LABELS}) ){LABEL}"
    rf"(?:(?: (?:{DOT_WORDS}) |\.){LABEL}){{0,2}} (?:{DOT_WORDS}) (?<!point )(?:{TOP_LEVEL})(?![\w-])"
    rf"|(?i:{LOCAL} (?:{AT_WORDS}) {LABEL} point (?:fr|com|org|net|be|ch|ca|eu)(?![\w-]))"
)
WITH_PLAIN_DOT = re.compile(  # "mail: elena.conti at example.it"; without the word it could be a file at a host
    rf"(?i)(?:mail|correo|courriel|e-?post|contact\w?|kontakt)[:,]? {{0,2}}"
    rf"({LOCAL} (?:{AT_WORDS}) (?:{LABEL}\.){{1,3}}(?:{TOP_LEVEL}))(?![\w-])"
)
OTHER_SIGN = re.compile(  # "anna★example.jp", "anna(a)example.org", "anna_at_example.com", "anna AT example.org"
    rf"{LOCAL}(?:[★☆◎●■ⓐ]|\(a\)| @ | AT )(?:{LABEL}\.){{1,3}}(?:{TOP_LEVEL})(?![\w-])"
    rf"|(?<![\w.+-])[A-Za-z][A-Za-z0-9.-]{{0,30}}_at_(?:{LABEL}\.){{1,3}}(?:{TOP_LEVEL})(?![\w-])"
)
BROKEN_DOMAIN = re.compile(  # "anna@example(dot)org", "anna @ example . com"
    rf"(?i){LOCAL} ?@ ?{LABEL}(?:{OPEN}(?:\.|{DOT_WORDS}){CLOSE}{LABEL}| \. (?:{TOP_LEVEL})(?![\w-])){{1,3}}"
)
WITH_SHORT_SIGNS = re.compile(  # "contact (a) example (.) fr", "anna-AT-example-DOT-org"
    rf"(?i){LOCAL}{OPEN}a{CLOSE}{LABEL}(?:{OPEN}(?:\.|{DOT_WORDS}){CLOSE}{LABEL}){{1,3}}"
    rf"|(?<![\w.+-])[a-z0-9][a-z0-9.]{{0,30}}(?:-at-|_at_)[a-z0-9]{{1,40}}(?:[_-](?:{DOT_WORDS})[_-][a-z0-9]{{2,30}}){{1,3}}"
)
# each with what a text has to hold for it, in a pattern that is quicker
FORMS = (
    (re.compile(rf"(?i){OPEN}(?:@|{AT_WORDS}){CLOSE}"), BRACKETED, 0.9),
    (re.compile(rf"(?i) (?:(?:{DOT_WORDS}) (?:{TOP_LEVEL})|point (?:fr|com|org|net|be|ch|ca|eu))"), SPELT_OUT, 0.9),
    (re.compile(r"(?i)mail|correo|courriel|e-?post|contact|kontakt"), WITH_PLAIN_DOT, 0.8),
    (re.compile(r"[★☆◎●■ⓐ]|\(a\)| @ | AT |_at_"), OTHER_SIGN, 0.9),
    (re.compile(r"(?i)[([{<（] ?a ?[)\]}>）]|[_-]at[_-]"), WITH_SHORT_SIGNS, 0.9),
    (re.compile(r"@ ?[\w-]{1,42}[ (\[{<（]"), BROKEN_DOMAIN, 0.9),
)
HINTS = re.compile(
    rf"(?i)[ (\[{{<（](?:@|{AT_WORDS})[ )\]}}>）]|[★☆◎●■ⓐ]|[([{{<（] ?a ?[)\]}}>）]|[_-]at[_-]"
    r"|@[\w-]{1,40} ?[ (\[{<]"
)


def find_obfuscated_emails(text: str) -> Iterator[PiiSpan]:
    if HINTS.search(text):
        for required, pattern, score in FORMS:
            if required.search(text):
                found = pattern.finditer(text)
                yield from (PiiSpan(*match.span(match.lastindex or 0), "EMAIL", score) for match in found)

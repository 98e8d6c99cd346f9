"""Texts that a reader of foreign text must take in linear time: 200 shapes, each a function of a number of characters.

A shape is a piece repeated up to a length, then an end that lets what has matched so far fail.
"""

import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

Shape = Callable[[int], str]

END = "\x07!\n"  # neither a letter, a closing mark nor white space comes first

# joined by nothing: these stand in one long word, line or paragraph
PIECES = {
    "letters": "a",
    "capitals": "A",
    "digits": "7",
    "zeros": "0",
    "spaces": " ",
    "tabs": "\t",
    "blank lines": "\n",
    "carriage returns": "\r",
    "CRLF": "\r\n",
    "vertical tabs": "\x0b",
    "dots": ".",
    "ellipses": "… ",
    "commas": ",",
    "semicolons": ";",
    "colons": ":",
    "exclamations": "!",
    "questions": "?",
    "quotes": '"',
    "apostrophes": "'",
    "opening quotes": "“",
    "closing quotes": "”",
    "guillemets": "«",
    "backticks": "`",
    "stars": "*",
    "double stars": "**a",
    "underscores": "_",
    "hyphens": "-",
    "dashes": "—",
    "equal signs": "=",
    "number signs": "#",
    "tildes": "~",
    "slashes": "/",
    "backslashes": "\\",
    "ampersands": "&",
    "percent signs": "%",
    "at signs": "@",
    "dollars": "$",
    "pluses": "+",
    "carets": "^",
    "opening brackets": "(",
    "closing brackets": ")",
    "bracket pairs": "()",
    "opening squares": "[",
    "closing squares": "]",
    "opening braces": "{",
    "template braces": "{{a",
    "angles": "<",
    "closing angles": ">",
    "bars": "|",
    "bars with a letter": "a|",
    "escaped bars": "\\|",
    "links": "[a](b)",
    "open links": "[a](b",
    "open images": "![a](",
    "open labels": "[a",
    "references": "[a][b]",
    "link definitions": "]:",
    "nested addresses": "](a(b)",
    "addresses": "http://a.b/",
    "schemes": "a://",
    "hosts": "www.a.",
    "domains": "a.com.",
    "emails": "a@a",
    "email dots": "a.@a.",
    "logins": "ab://a@",
    "comments": "<!--",
    "comment ends": "-->",
    "open tags": "<a ",
    "open attributes": '<a b="',
    "closing tags": "</a",
    "hidden elements": "<p hidden>",
    "nested divisions": "<div><div>",
    "style attributes": "<p style=display:",
    "entities": "&#0000000038;",
    "long references": "&#9",
    "escapes": "%25",
    "unicode escapes": "\\u0041",
    "letter and hyphen": "a-",
    "letter and dot": "a.",
    "letter and apostrophe": "a'",
    "letter and underscore": "a_",
    "letter and slash": "a/",
    "digit and dot": "1.",
    "digit and comma": "1,",
    "digit and hyphen": "1-",
    "digit and colon": "1:",
    "letter and digit": "a1",
    "digit triples": "123,",
    "camel case": "Aa",
    "accents": "é",
    "combining marks": "\u0301",
    "marked letters": "a\u0301\u0302\u0303",
    "marks out of order": "\u0301\u0327",
    "zero-width spaces": "a\u200b",
    "joiners": "\u200d",
    "direction marks": "\u202e\u05d0",
    "Hebrew": "\u05e9\u05dc\u05d5\u05dd",
    "Arabic": "\u0639\u0631\u0628\u064a",
    "Chinese": "\u6545\u969c",
    "Chinese stops": "\u6545\u3002",
    "kana": "\u30ab\u30bf",
    "Thai": "\u0e44\u0e17\u0e22",
    "Devanagari": "\u0939\u093f",
    "emoji": "\U0001f600",
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "flags": "\U0001f3f4\U000e0067\U000e0062",
    "ligatures": "\ufdfa",
    "sharp s": "ß",
    "dotted capital i": "\u0130",
    "bell": "\x1b[",
    "nulls": "\x00",
}
# repeated as they are: each brings its own space or line end
PHRASES = {
    "words": "word ",
    "short words": "a ",
    "capitalized words": "Word ",
    "capitals runs": "A B ",
    "initials": "J. ",
    "titles": "Dr. ",
    "names": "Jane Q. Doe ",
    "surnames": "Smith-O'Brien McDonald ",
    "abbreviations": "e.g. ",
    "countries": "the U.S. ",
    "sentences": "It is so. ",
    "questions in a row": "Is it? ",
    "sentences in quotes": 'He said "no." ',
    "open quoted sentences": "“It is so. ",
    "open bracketed sentences": "(It is so. ",
    "closed bracketed sentences": "(It is so.) ",
    "sentences without ends": "Then it is so\n",
    "numbers": "12 ",
    "number groups": "12 345 ",
    "numbers with commas": "1,234,567.89 ",
    "decimals": "1.5 ",
    "signed numbers": " -1 ",
    "money": "$1,000 m ",
    "percentages": "5 % ",
    "units": "10 mm ",
    "number words": "twenty-one hundred and ",
    "magnitudes": "1 million thousand ",
    "dates": "5 May 2026, ",
    "ISO dates": "2026-11-22 ",
    "month names": "May June ",
    "times": "12:30:00 ",
    "paragraph signs": "§ 1.1.1.1 ",
    "phones": "+49 30 1234567 ",
    "phone digits": "(030) 12-",
    "phone cues": "call me at 555 ",
    "cards": "4111 1111 ",
    "bank accounts": "DE89 3704 0044 ",
    "security numbers": "123-45-",
    "addresses of hosts": "10.0.0.",
    "sixth versions": "fe80::1:",
    "trouble codes": "P0700 ",
    "part numbers": "04E 906 016 ",
    "codes in a row": "A-1_2.3/",
    "acronyms": "TCM ",
    "acronyms in brackets": "transmission control module (TCM) ",
    "streets": "12 Long Road, ",
    "intents": "what is the reason that is ",
    "definitions": "is an a is the ",
    "negations": "it isn't not more than ",
    "clauses": ", and the ",
    "statements": "; the system is a thing, but no ",
    "serious cells": "not serious ",
    "domains of evidence": "risk of bias inconsistency ",
    "cells": "| a ",
    "table rows": "| a | b |\n",
    "table rules": "|---|---|\n",
    "tables": "a | b\n---|---\n1 | 2\n",
    "bare table rows": "a | b\n",
    "list items": "- x\n",
    "stars of lists": "* x\n",
    "numbered items": "1. x\n",
    "lettered items": "a) x\n",
    "bullets in a line": "• x ",
    "open list marks": "- ",
    "numbers of lists": "1) ",
    "quotations": "> ",
    "quoted lines": "> x\n",
    "headings": "# a\n",
    "deep headings": "###### a ######\n",
    "headings and text": "# a\n\nb\n\n",
    "underlined": "a\n=\n",
    "rules": "---\n",
    "dashed lines": "- - - \n",
    "fences": "```\n",
    "tilde fences": "~~~\na\n",
    "front matter": "---\na: b\n",
    "paragraphs": "a b c.\n\n",
    "one-letter paragraphs": "a\n\n",
    "indented lines": "    a\n",
    "lines of spaces": "   \n",
    "numbered titles": "3.1 Why\n",
    "hyphenated ends": "hyphen-\n",
    "farewells": "regards,\n\nJane\n",
    "email headers": "From: a@b.example\nName: Jane\n",
    "SQL inserts": "INSERT INTO t VALUES (1,'it''s a \\\"value\\\"',NULL);\n",
    "SQL rows": "(1,'a','b'),",
    "SQL unions": "' union select ",
    "shell commands": "; rm -x | cat ",
    "log lines": "2026-11-22T10:00:00Z ERROR [a.b.c] x=1 y='2'\n",
    "CSV rows": '1,"a, b",2.5\n',
    "quoted cells": '"a""b",',
    "JSON lines": '{"a": [1, 2, {"b": null}]}\n',
    "XML lines": '<a b="c"><d>e</d></a>\n',
    "code": "if (a[i] == b) { return c->d; }\n",
    "paths": "C:\\a\\b ../",
    "instructions": "Question: {query} [INST] <data>\n",
    "function calls": "or a(1)=a(",
    "handlers": "<p onclick=",
}


def repeat(piece: str, chars: int, *, end: str = END) -> str:
    """Return exactly `chars` characters of a repeated piece with the end in them."""
    return (piece * (chars // len(piece) + 1))[: chars - len(end)] + end


def _nest(opening: str, closing: str, chars: int) -> str:
    """Return brackets as deep as the length allows, all closed."""
    depth = chars // (len(opening) + len(closing))
    return opening * depth + closing * depth


def _indent_list(chars: int) -> str:
    """Return a list in which every item is inside the one before it, as deep as 64."""
    return _join_up_to((f"{'  ' * (n % 64)}- x" for n in count()), "\n", chars)


def _write_wide_rows(columns: int, separator: str, chars: int) -> str:
    header = separator.join(f"c{n}" for n in range(columns))
    return _join_up_to((header, *(separator.join(["1"] * columns) for _ in range(chars // columns))), "\n", chars)


def _write_distinct_words(separator: str, chars: int) -> str:
    return _join_up_to((f"w{n:x}q" for n in count()), separator, chars)


def _write_growing_words(chars: int) -> str:
    return _join_up_to(("a" * n for n in count(1)), " ", chars)


def _write_base64(chars: int) -> str:
    return b64encode(random.Random(1).randbytes(chars)).decode()[:chars]


def _write_base64_lines(chars: int) -> str:
    code = _write_base64(chars)
    return _join_up_to((code[n : n + 76] for n in range(0, chars, 76)), "\n", chars)


def _write_mixture(chars: int) -> str:
    """Return pieces and phrases in a random order, the same each time."""
    pieces, chooser = [*PIECES.values(), *PHRASES.values()], random.Random(2)
    return _join_up_to((chooser.choice(pieces) for _ in count()), "", chars)


def _write_letters_at_random(alphabet: str, chars: int) -> str:
    return "".join(random.Random(3).choices(alphabet, k=chars))


def _write_long_heading(chars: int) -> str:
    return f"# {repeat('word ', chars // 2, end='')}\n\n{repeat(PHRASES['paragraphs'], chars - chars // 2 - 4, end='')}"


def _join_up_to(parts: Iterator[str] | tuple[str, ...], separator: str, chars: int) -> str:
    taken: list[str] = []
    size = 0
    for part in parts:
        taken.append(part)
        size += len(part) + len(separator)
        if size >= chars:
            break
    return separator.join(taken)[:chars]


WHOLES: dict[str, Shape] = {
    "900 columns": partial(_write_wide_rows, 900, ","),
    "900 cells": partial(_write_wide_rows, 900, " | "),
    "two columns": partial(_write_wide_rows, 2, ";"),
    "indented list": _indent_list,
    "nested JSON": partial(_nest, '{"a":[', "]}"),
    "nested XML": partial(_nest, "<a>", "</a>"),
    "nested brackets": partial(_nest, "(", ")"),
    "nested quotes": partial(_nest, "“a ", " b”"),
    "one quotation": lambda chars: f"“{repeat('It is so. ', chars - 2, end='')}”",
    "one bracket": lambda chars: f"({repeat('It is so. ', chars - 2, end='')})",
    "one long heading": _write_long_heading,
    "distinct words": partial(_write_distinct_words, " "),
    "distinct lines": partial(_write_distinct_words, "\n"),
    "distinct sentences": partial(_write_distinct_words, ". X"),
    "growing words": _write_growing_words,
    "base64": _write_base64,
    "lines of base64": _write_base64_lines,
    "mixture": _write_mixture,
    "signs at random": partial(_write_letters_at_random, " \n.,;:!?\"'()[]{}<>|*_-#`~/\\@&%+=0aA"),
    "brackets at random": partial(_write_letters_at_random, "()[]{}<>\"'`“” a."),
}
SHAPES: dict[str, Shape] = {
    **{name: partial(repeat, piece) for name, piece in {**PIECES, **PHRASES}.items()},
    **WHOLES,
}

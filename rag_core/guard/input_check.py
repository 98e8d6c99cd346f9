"""The input check, which refuses questions that have the form of an attack, whatever their subject (S4-02).

It is not the defence against attacks: SQL is parameterized, filters are built from values, and model replies are
screened. It tells a caller early that a text is not a question, and keeps it out of prompts, caches and logs. A
question *about* SQL, HTML or templates passes unless it contains a piece that would run.
"""

import re
import unicodedata
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from urllib.parse import unquote

from rag_core.core.errors import InvalidRequest
from rag_core.text.sentences import shorten_character_references
from rag_core.text.unicode_forms import normalize_unicode

QUOTE_MARK = r"['\"`]"
COMPARISON = r"(?:[=<>]|!=|\blike\b|\bin\s*+\()"

# Every repetition is bounded or possessive: time grows with the length of the text and with nothing else.
ATTACK_PATTERN_SOURCES = {
    "a second SQL statement": rf"""
        ;\s*+(?:
            drop\s++(?:table|database|schema|view|index|user|role|function|procedure|trigger)\b
          | (?:delete|insert|merge|replace)\s++(?:from|into)\s++\S
          | update\s++\S{{1,100}}\s++set\s++\S{{1,100}}?\s*+=
          | (?:alter|create|truncate)\s++
            (?:table|database|schema|view|index|user|role|login|function|procedure|trigger)\b
          | select\b[^;]{{0,200}}?(?:\bfrom\s++[^\s;]++\s*+(?:;|--|\#|where\b)|@@|\()
          | (?:exec(?:ute)?|call)\s++(?:immediate\b|\w++\s*+[('"@]|(?:\w++\.)*+[^\W_]*+_\w*+)
          | waitfor\s++delay | shutdown\b | grant\s++\w++\s++(?:on|to)\b | declare\s++@
          | copy\s++\S++\s++from\b | attach\s++database\b
        )
      | waitfor\s++delay\s*+{QUOTE_MARK}
    """,
    "a condition behind a closed quote": rf"""
        {QUOTE_MARK}\s*+\)*+\s*+(?:\|\||&&|\b(?:or|and|xor|having|where)\b)\s*+(?:not\s++)?\(*+\s*+
            (?:{QUOTE_MARK}[^'"`]{{0,64}}+{QUOTE_MARK}?|\d++|@@\w++)\s*+(?:{COMPARISON}|--|\#|/\*)
      | [=<>]\s*+\(?{QUOTE_MARK}\s*+$
      | {QUOTE_MARK}\s*+\)*+\s*+(?:\|\||\+|;|\b(?:or|and)\b)\s*+\(?\s*+(?:select\s++)?
            (?:[a-z_]\w{{1,64}}\((?:\d|\)|@@|{QUOTE_MARK}?0x|\(?select\b|[a-z]{{1,20}}\(\(?select\b)|\(?select\b)
      | \b(?:or|and)\s++\(?\s*+({QUOTE_MARK}?)(?P<same>\w{{1,64}})\1\s*+=\s*+{QUOTE_MARK}?(?P=same)(?![\w.(])
    """,
    "a joined SQL query": rf"""
        \bunion(?:\s|/\*.{{0,40}}?\*/|\+|\()++(?:(?:all|distinct)\b(?:\s|/\*.{{0,40}}?\*/|\+|\()*+)?
            select(?:\s|/\*.{{0,40}}?\*/|\+|\()++
            (?:null\b|\*|\d|@@|{QUOTE_MARK}|\w++\(|\w++(?:\s*+,\s*+\w++)++\s++from\b|\w++\s++from\s++[\w.]++\s*+(?:--|\#|;|where\s++\w++\s*+{COMPARISON}))
      | (?:{QUOTE_MARK}|\d|\))\s*+\bunion\s++(?:all\s++)?select\s++\w++\s++from\b
    """,
    "a comment that cuts off SQL": rf"""
        {QUOTE_MARK}\s*+\)*+\s*+(?:;\s*+)?(?:--[\s+-]*+$|\#\s*+$|/\*)
      | ;\s*+--
      | \w/\*[^*]{{0,40}}\*/\s?\w
      | /\*!\d{{0,6}}\s?\w
    """,
    "HTML that runs": r"""
        <\s*+/?\s*+(?:script|iframe|frame|frameset|object|embed|applet|svg|style)(?=[\s/>]|$)
      | <\s*+(?:meta|base|link|form|body|img|video|audio|input|a)\s++
            [^<>]{0,500}?=[^<>]{0,500}?(?:script\s*+:|url\s*+=|//|data:)
      | <\s*+[a-z][^<>]{0,500}?[\s/"'](?:on[a-z]{3,30}|formaction|srcdoc|xlink:href)\s*+=
      | [\s"'`;/]on[a-z]{3,30}\s*+=\s*+["'`]?\w{1,40}(?:\(|`)
      | (?<!\w)(?:java|vb)script\s*+:\s*+\S{0,200}?[(`=]
      | (?<!\w)data:\s*+(?:text/html|image/svg\+xml|application/xhtml)\S{0,100},
      | <!(?:doctype\s[^<>]{0,200}\[|entity\s|\[cdata\[)
      | <\?(?:php|=|xml-stylesheet)
    """,
    "a template expression that runs": r"""
        \{\{[^{}]{0,200}?(?:__|\(|\[|\d\s*+[*+/-]\s*+\d|['"]\s*+[*+])
      | \{%-?\s*+(?:if|for|set|include|import|extends|macro|block|with)\b[^{}]{0,200}%\}
      | [$#*@]\{[^{}]{0,200}?
            (?:\(|\d\s*+[*+/-]\s*+\d|__|::-|\$\{|\b(?:jndi|env|sys|lower|upper|java|script|url|dns)\s*+:)
      | <%[=@!-]?[^%]{0,200}%>
      | \$\{\{[^{}]{0,200}?\d\s*+\*
      | __(?:class|globals|mro|subclasses|import|builtins|proto)__\s*+[.(\[]
    """,
    "a command for a shell": r"""
        (?:[;|&]|(?<!`)`|\$\()\s*+(?:
            (?:cat|less|head|tail|ls|more)\s++(?:-\w++\s++)*+[/~.]
          | (?:wget|curl)\s++(?:-\S++\s++){0,8}+\S{0,20}(?:://|\.\w)
          | rm\s++-\w | nc\s++-\w | (?:ba|z|da)?sh\s++-[ci]\b | chmod\s++[+\d] | powershell\s++-\w
          | (?:whoami|id|uname\s++-a|ping\s++-\w\s++\d\S*+\s++\S++)\s*+(?:[;|&`)]|$)
        )
    """,
    "a path out of its folder": r"(?:\.\.[\\/]++){3,}|\.\.[\\/]++(?:etc|windows|proc|boot)\b",
    "an operator of a document database": r"""
        [{,\[]\s*+['"]?\$(?:ne|gte?|lte?|regex|where|n?in|exists|or|and|not|expr)['"]?\s*+:
    """,
    "a header of HTTP": r"""
        [\r\n](?:(?:set-cookie|content-(?:length|type))\s*+: | location\s*+:\s*+(?:/|https?:) | http/[12])
    """,
    "a control character": r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]",
}
ATTACK_PATTERNS = {
    name: re.compile(shape, re.VERBOSE | re.IGNORECASE) for name, shape in ATTACK_PATTERN_SOURCES.items()
}
ESCAPE_SEQUENCE = re.compile(r"(?:\\|%)u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})", re.IGNORECASE)
BASE64_RUN = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{12,}+")
TO_URLSAFE_BASE64 = str.maketrans("+/", "-_")
MAX_DECODED_LAYERS = 3  # of encoding that are decoded: nothing behind this service decodes a text more often


def check_input(query_text: str) -> None:
    """Refuse a query text that contains an attack pattern, plain or encoded.

    Raises:
        InvalidRequest: it does (suspicious_input); the error names the pattern and, in plain text, its position.
    """
    for layer, decoded in enumerate(_generate_decodings(query_text)):
        for name, pattern in ATTACK_PATTERNS.items():
            if match := pattern.search(decoded):
                raise _build_suspicious_input_error(name, match, encoded=layer > 0)


def _build_suspicious_input_error(name: str, match: re.Match[str], *, encoded: bool) -> InvalidRequest:
    where = "in an encoded part" if encoded else f"at characters {match.start()} to {match.end()}"
    return InvalidRequest(
        "query",
        f"has {name} {where}: ask in plain words, and name code instead of writing it out",
        code="suspicious_input",
        shape=name,
        **({} if encoded else {"start": match.start(), "end": match.end()}),
    )


def _generate_decodings(text: str) -> Iterator[str]:
    """Yield the text, then each different text that decoding it up to MAX_DECODED_LAYERS times gives."""
    seen = {text}
    yield text
    for _ in range(MAX_DECODED_LAYERS):
        text = _decode_layer(text)
        for decoded in (text, *_decode_base64_runs(text)):
            if decoded not in seen:
                seen.add(decoded)
                yield decoded


def _decode_layer(text: str) -> str:
    """Decode one layer of URL, HTML and script escapes; normalize to NFKC and drop invisible format characters."""
    plain = ESCAPE_SEQUENCE.sub(_decode_escape, unescape(shorten_character_references(unquote(text))))
    if plain.isascii():
        return plain
    return normalize_unicode("NFKC", "".join(c for c in plain if unicodedata.category(c) != "Cf"))


def _decode_escape(escape: re.Match[str]) -> str:
    code = int(next(group for group in escape.groups() if group), 16)
    return chr(code) if code < 0x110000 else escape[0]


def _decode_base64_runs(text: str) -> Iterator[str]:
    """Yield the texts that are encoded in runs of base64."""
    for run in BASE64_RUN.findall(text):
        with suppress(ValueError):
            raw = urlsafe_b64decode(run.translate(TO_URLSAFE_BASE64) + "=" * (-len(run) % 4)).decode("ascii")
            if raw.isprintable():
                yield raw

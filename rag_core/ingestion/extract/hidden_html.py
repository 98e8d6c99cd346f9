"""Removal of HTML that Markdown does not show its reader: comments, scripts, and elements hidden by style."""

import re
from collections.abc import Iterator

_HTML_MARK = re.compile(
    r"^ {0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*+$"
    r"|(?P<code>`[^`\n]+`)"
    r"|(?P<comment>(?P<block>^ {0,3})?<!--)"
    r"|<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9-]{0,30})(?P<attributes>(?:\s[^<>]{0,2000})?)>",
    re.MULTILINE,
)
_QUOTED_ATTRIBUTE_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")
_HIDDEN_ATTRIBUTE = re.compile(r"(?:^|\s)hidden(?=[\s=/]|$)", re.IGNORECASE)
_STYLE_ATTRIBUTE = re.compile(r"\sstyle\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"']+)", re.IGNORECASE)
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_NEVER_SHOWN_ELEMENTS = ("script", "style", "template")
_VOID_ELEMENTS = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")

TextRange = tuple[int, int]


def remove_hidden_html(text: str) -> tuple[str, int]:
    """Remove hidden HTML, keeping line numbers; return the text and how many comments and elements were removed.

    Text in code stays, because it is shown. An element that is never closed hides all that follows, as in a browser; an
    unclosed comment does so where it begins a line, and is plain text elsewhere (CommonMark 0.31, 4.6 and 6.6).
    """
    ranges = list(_find_hidden_ranges(text))
    visible: list[str] = []
    offset = 0
    for start, end in ranges:
        visible += [text[offset:start], "\n" * text.count("\n", start, end)]
        offset = end
    return "".join([*visible, text[offset:]]), len(ranges)


def _find_hidden_ranges(text: str) -> Iterator[TextRange]:
    """Yield the hidden ranges of a text in one pass over its marks, in time linear in its length."""
    fence, name, depth, start, offset = "", "", 0, 0, 0
    last_end = text.rfind("-->")
    while mark := _HTML_MARK.search(text, offset):
        offset = mark.end()
        if mark["fence"] and not name:
            fence = mark["fence"] if not fence else "" if mark["fence"].startswith(fence) else fence
        elif fence or mark["fence"] or mark["code"]:
            continue
        elif mark["comment"]:
            if offset > last_end and mark["block"] is None:
                continue
            offset = text.find("-->", offset) + 3 if offset <= last_end else len(text)
            if not name:
                yield mark.start(), offset
        elif name and mark["name"].lower() == name:
            depth += -1 if mark["close"] else 1
            if not depth:
                yield start, offset
                name = ""
        elif not name and not mark["close"] and _hides_content(mark["name"].lower(), mark["attributes"]):
            name, depth, start = mark["name"].lower(), 1, mark.start()
    if name:
        yield start, len(text)


def _hides_content(name: str, attributes: str) -> bool:
    """Return True for an element whose content is not shown, by its name, `hidden` attribute or style."""
    if name in _VOID_ELEMENTS or attributes.endswith("/"):
        return False
    bare = _QUOTED_ATTRIBUTE_VALUE.sub('""', attributes)
    styles = " ".join(_STYLE_ATTRIBUTE.findall(attributes))
    return name in _NEVER_SHOWN_ELEMENTS or bool(_HIDDEN_ATTRIBUTE.search(bare) or _HIDING_STYLE.search(styles))


def is_hidden_style(style: str) -> bool:
    """Return True for the style of an element by which a browser does not show it."""
    return bool(style) and _HIDING_STYLE.search(style) is not None

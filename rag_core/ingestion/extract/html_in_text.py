"""HTML that markdown hides from its reader: comments, scripts, and elements that are styled away."""

import re
from collections.abc import Iterator

_MARK = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*$"
    r"|(?P<code>`[^`\n]+`)"
    r"|(?P<comment>(?P<block>^ {0,3})?<!--)"
    r"|<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9-]{0,30})(?P<attributes>(?:\s[^<>]{0,2000})?)>",
    re.MULTILINE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_ATTRIBUTE = re.compile(r"(?:^|\s)hidden(?=[\s=/]|$)", re.IGNORECASE)
_STYLE = re.compile(r"\sstyle\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"']+)", re.IGNORECASE)
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_NEVER_SHOWN = ("script", "style", "template")
_VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")

Region = tuple[int, int]


def without_hidden(text: str) -> tuple[str, int]:
    """The text as its reader sees it, its lines where they were, and how many comments and elements were left out.

    What stands in code is shown and stays. An element that is never closed hides all that follows, as in a browser; a
    comment does where it begins a line, and is plain text elsewhere (CommonMark 0.31, 4.6 and 6.6).
    """
    regions = list(_hidden(text))
    kept: list[str] = []
    at = 0
    for start, end in regions:
        kept += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    return "".join([*kept, text[at:]]), len(regions)


def _hidden(text: str) -> Iterator[Region]:
    """In one pass over the marks, so that no text takes more than its length in time."""
    fence, name, depth, start, at = "", "", 0, 0, 0
    last_end = text.rfind("-->")
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark["fence"] and not name:
            fence = mark["fence"] if not fence else "" if mark["fence"].startswith(fence) else fence
        elif fence or mark["code"]:
            continue
        elif mark["comment"]:
            if at > last_end and mark["block"] is None:
                continue
            at = text.find("-->", at) + 3 if at <= last_end else len(text)
            if not name:
                yield mark.start(), at
        elif name and mark["name"].lower() == name:
            depth += -1 if mark["close"] else 1
            if not depth:
                yield start, at
                name = ""
        elif not name and not mark["close"] and _hides(mark["name"].lower(), mark["attributes"]):
            name, depth, start = mark["name"].lower(), 1, mark.start()
    if name:
        yield start, len(text)


def _hides(name: str, attributes: str) -> bool:
    if name in _VOID or attributes.endswith("/"):
        return False
    bare = _QUOTED.sub('""', attributes)
    styles = " ".join(_STYLE.findall(attributes))
    return name in _NEVER_SHOWN or bool(_ATTRIBUTE.search(bare) or _UNSEEN.search(styles))

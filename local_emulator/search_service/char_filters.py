"""Character filters change a text before it is split into tokens, and remember where each place of it stood."""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .refusals import make_refusal, make_unimplemented_refusal

Json = dict[str, Any]

ALL_FLAGS = ("CANON_EQ", "CASE_INSENSITIVE", "COMMENTS", "DOTALL", "LITERAL", "MULTILINE", "UNICODE_CASE", "UNIX_LINES")
FLAGS: Mapping[str, re.RegexFlag] = {
    "CASE_INSENSITIVE": re.IGNORECASE,
    "UNICODE_CASE": re.NOFLAG,  # as Python does
    "MULTILINE": re.MULTILINE,
    "DOTALL": re.DOTALL,
    "COMMENTS": re.VERBOSE,
}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MARKUP = re.compile(
    r"<!--|</?([A-Za-z][A-Za-z0-9]{0,15})|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
)
_INLINE = frozenset(
    re.findall(r"\w+", "a abbr b big cite code dfn em font i img kbd q s samp small span strike strong sub sup u var")
)


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands between two places of a filtered text stood between two others before."""

    start: int
    end: int
    start_before: int
    end_before: int


@dataclass(frozen=True, slots=True)
class FilteredText:
    """A text after a filter, with the edits in the order of their places."""

    text: str
    edits: Sequence[Edit]

    def find_place_before(self, place: int) -> int:
        """Find where a place of this text was before the filter; of what was made longer, the last is one place."""
        last = bisect_right(self.edits, place, key=lambda edit: edit.start)
        if not last:
            return place
        edit = self.edits[last - 1]
        if place >= edit.end:
            return place - edit.end + edit.end_before
        return min(edit.start_before + place - edit.start, max(edit.end_before - 1, edit.start_before))


CharFilter = Callable[[str], FilteredText]


def build_char_filter(kind: str, settings: Json) -> CharFilter:
    """Build a character filter. Raises a ServiceRefusal for a kind that is not implemented."""
    match kind:
        case "MappingCharFilter":
            mapped = dict(_read_mapping(str(line)) for line in settings.get("mappings") or ())
            longest_first = "|".join(re.escape(key) for key in sorted(mapped, key=len, reverse=True))
            pattern = re.compile(longest_first or r"(?!)")
            return lambda text: _replace(text, ((*one.span(), mapped[one[0]]) for one in pattern.finditer(text)))
        case "PatternReplaceCharFilter":
            pattern, by = compile_java_pattern(settings), translate_replacement(settings)
            return lambda text: _replace(text, ((*one.span(), one.expand(by)) for one in pattern.finditer(text)))
        case "HtmlStripCharFilter":
            return lambda text: _replace(text, _list_markup(text))
    raise make_unimplemented_refusal(f"the character filter '{kind}'")


def _read_mapping(line: str) -> tuple[str, str]:
    left, arrow, right = line.partition("=>")
    if not arrow or not left:
        raise make_refusal(f"The mapping '{line}' is not of the form 'a=>b'.", parameter="mappings")
    return _unescape(left), _unescape(right)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPED.get(one[2], one[2]), text)


def _replace(text: str, edits: Iterable[tuple[int, int, str]]) -> FilteredText:
    """Replace what stands between start and end of each edit by its text."""
    parts, made = list[str](), list[Edit]()
    done = length = 0
    for start, end, by in edits:
        parts += [text[done:start], by]
        length += start - done
        made.append(Edit(length, length + len(by), start, end))
        length += len(by)
        done = end
    return FilteredText("".join([*parts, text[done:]]), made)


def _list_markup(text: str) -> Iterable[tuple[int, int, str]]:
    """List tags, comments and scripts with what stands for them: a line break for a block, nothing for the rest."""
    done = 0
    while found := _MARKUP.search(text, done):
        done = found.end()
        if text[found.start()] == "&":
            yield *found.span(), html.unescape(found[0])
            continue
        ending = "-->" if found[1] is None else ">"
        end = text.find(ending, done)
        if end < 0:
            return  # what is never closed is text
        name = (found[1] or "").lower()
        if name in ("script", "style") and text[found.start() + 1] != "/":
            closing = re.compile(rf"</{name}>", re.IGNORECASE).search(text, end)
            done = closing.end() if closing else len(text)
        else:
            done = end + len(ending)
        yield found.start(), done, "" if name in _INLINE or not name else "\n"


def compile_java_pattern(settings: Json) -> re.Pattern[str]:
    """Compile a regular expression of Java, as far as Python reads it."""
    flags = re.NOFLAG
    for name in filter(None, str(settings.get("flags") or "").split("|")):
        if name not in FLAGS:
            raise make_unimplemented_refusal(f"the flag '{name}' of a regular expression")
        flags |= FLAGS[name]
    pattern = str(settings.get("pattern") or r"\W+")
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise make_unimplemented_refusal(f"the regular expression '{pattern}': {error}") from error


def translate_replacement(settings: Json) -> str:
    """Write a replacement of Java as Python's: $1 is a group, and a backslash makes the next character plain."""
    given = str(settings.get("replacement") or "")
    return re.sub(
        r"\$(\d)|\\(.)|(\\)$",
        lambda one: rf"\g<{one[1]}>" if one[1] else (one[2] or one[3]).replace("\\", r"\\"),
        given,
    )

"""Removal of links, images and HTML from a model's text, except for links that occur in its sources.

The elements and schemes are those that a browser or a Markdown viewer acts on. This limits what displaying the text
can do; it does not filter the content: plain words stay.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

REMOVED = "⟨link removed⟩"  # with a space and without Markdown, so that no link can form around it
TAG = "‹"  # replaces the "<" of a tag, which is then text

ACTIVE = (  # elements that fetch, run or swallow text, whatever their attributes
    "script|style|iframe|frame|frameset|svg|math|template|noscript|textarea|plaintext|xmp|html|head|body|base|meta|"
    "embed|applet|img|image|video|audio|form|marquee|portal"
)
PASSIVE = (
    "a|abbr|b|big|blockquote|br|button|center|code|del|details|div|em|font|h[1-6]|hr|i|input|ins|label|li|link|mark|ol|"
    "p|picture|pre|q|s|select|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul"
)
ATTRIBUTES = r"on\w+|style|href|xlink:href|src\w*|data|action|formaction|poster|background|ping|cite"
ENDINGS = (  # of hosts that viewers turn into links also without a scheme
    "com|net|org|io|co|dev|app|ai|me|info|biz|xyz|top|site|online|tech|cloud|link|click|live|shop|ru|cn|uk|de|fr|eu|us|"
    "tk|ml|ga|cf|gq|cc|ly|gl|to|sh|example|test"
)
ADDRESS = rf"""(?:
    (?:https?|ftps?|wss?):[\\/]{{2}}
  | (?<!\w)(?:https?|ftps?|wss?|mailto|javascript|vbscript|blob):
  | (?<!\w)data:(?=[\w.+-]*[/,;])
  | (?<![a-z0-9+.-])[a-z][a-z0-9+.-]+:[\\/]{{2}}    # two letters at least: "C:\\" is a disk
  | (?<![\w:.\\/])[\\/]{{2}}(?=[\w-]+\.[\w-])        # an address without a scheme
  | (?<![\w.-])www\.(?=\w)
  | (?<![\w.-])(?:[\w-]++\.)+?(?:{ENDINGS})(?::\d+)?[/?\#]
)[^\s<>"`⟨]+"""
LINK = re.compile(
    rf"""
    (?P<image>!?)\[(?P<label>[^\[\]]*+)\]\((?P<at>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)
  | \]\((?P<tail>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)     # the address of a label that contains brackets
  | (?P<image_of>(?<!!)!++)(?=\[(?!\d+\])[^\[\]]*+\]\[)   # of an image by reference; "Stop![1][2]" is none
  | (?P<definition>\]:)(?=\s*+<?{ADDRESS})
  | (?P<address>{ADDRESS})
  | (?P<tag><)(?:(?=/?(?:{ACTIVE})(?:[\s/>]|$))
               | (?=/?(?:{PASSIVE})\s*+/?>)
               | (?=!--|!\[|!doctype|\?xml)
               | (?=[a-z][\w:.-]*+[\s/]++[\w:@.-]++=)
               | (?=[a-z][\w:.-]*+[\s/][^<>]*?(?<![\w:-])(?:{ATTRIBUTES})\s*+=))
    """,
    re.VERBOSE | re.IGNORECASE,
)
ADDRESSES = re.compile(ADDRESS, re.VERBOSE | re.IGNORECASE)
WORDS = re.compile(r"[\w\s,⟨⟩]*")  # no address, such as the argument in `handlers[name](request)`
NAME = re.compile(r"[/!?]?[\w-]*")
TRAILING = frozenset(".,;:!?'*_~|")  # viewers do not count these at the end as part of an address
CLOSING = {")": "(", "]": "["}
REPEATED = 6  # consecutive words: fewer may be the same by chance


def screen(text: str, sources: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the text without images, HTML and links to addresses not in `sources`, and the parts removed.

    An address must occur there in full and letter for letter, so that neither a similar host nor one more word in a
    query string passes. A link loses its address and keeps its label; a tag becomes text. Nothing else is changed.
    Text that hides an address, for example by zero-width characters, is returned without them.
    """
    source_addresses = frozenset(
        address for source in sources for shape in {source, _folded(source)} for address in addresses(shape)
    )
    screened, removed = _screened(text, source_addresses)
    unhidden, hidden = _screened(_folded(screened), source_addresses)
    return (unhidden, removed + hidden) if hidden else (screened, removed)


def repeats(text: str, told: str, sources: Sequence[str]) -> bool:
    """Return whether the text repeats consecutive words of the instructions to a model that no source contains."""
    instruction_runs = _runs(told).difference(*map(_runs, sources))
    return not instruction_runs.isdisjoint(_runs(text))


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of `MIN_REPEATED_WORDS` consecutive words, case-folded."""
    words = re.findall(r"\w+", text.casefold())
    return set(zip(*(words[start:] for start in range(REPEATED)), strict=False))


def _screened(text: str, known: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Replace links, addresses and tags of a text; return also the parts removed."""
    removed: list[str] = []

    def replace(link_match: re.Match[str]) -> str:
        replacement, removed_parts = _safe(link_match, known)
        removed.extend(removed_parts)
        return replacement

    return LINK.sub(replace, text), tuple(removed)


def _safe(found: re.Match[str], known: frozenset[str]) -> tuple[str, Sequence[str]]:
    """Return the replacement of one link, address or tag, and the parts that it removes."""
    match found.lastgroup:
        case "at":
            return _link(found, known)
        case "tail":
            return (found[0], ()) if WORDS.fullmatch(found["tail"]) else (f"]{REMOVED}", (found["tail"],))
        case "image_of":
            return "", ("!",)
        case "definition":
            return "]", ()  # without its definition, a reference is neither a link nor an image
        case "tag":
            return TAG, (f"<{NAME.match(found.string, found.end())[0]}",)  # type: ignore[index]
        case _:
            address = _ended(found[0])
            return (found[0], ()) if address in known else (REMOVED + found[0][len(address) :], (address,))


def _link(found: re.Match[str], known: frozenset[str]) -> tuple[str, Sequence[str]]:
    """Return the replacement of a Markdown link or image, and the parts that it removes."""
    label, removed = _screened(found["label"], known)
    is_allowed = found["at"].strip(" \n<>") in known or WORDS.fullmatch(found["at"])
    if is_allowed and not found["image"]:
        return f"[{label}]({found['at']})", removed
    return f"[{label}]{REMOVED}", (*removed, found["at"])


def addresses(source: str) -> Iterator[str]:
    """Yield the addresses in a source, each also cut at its first closing bracket, quote or bar."""
    for address in ADDRESSES.findall(source):
        yield _ended(address)
        yield _ended(re.split(r"[)\]|']", address, maxsplit=1)[0])


def _ended(address: str) -> str:
    """Return an address without trailing punctuation and without closing brackets that it does not open."""
    end = len(address)
    unopened = {sign: address.count(sign) - address.count(opening) for sign, opening in CLOSING.items()}
    while end and (address[end - 1] in TRAILING or unopened.get(address[end - 1], 0) > 0):
        if address[end - 1] in unopened:
            unopened[address[end - 1]] -= 1
        end -= 1
    return address[:end]


def _folded(text: str) -> str:
    """Return the text without zero-width characters, and with plain letters for their wide or styled forms."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", "".join(sign for sign in text if unicodedata.category(sign) != "Cf"))

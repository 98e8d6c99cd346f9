"""What a model wrote, made safe to show: nothing in it is fetched, and a link leads only where a cited source does.

Names of HTML and of schemes are those that a browser or a Markdown viewer acts on; text is never interpreted here, only
kept from being. It is a bound on harm, not a filter of bad intent: words stay, whatever they say.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

REMOVED = "⟨link removed⟩"  # has a space and no sign of Markdown, so that no link can form around it
TAG = "‹"  # stands for the "<" of a tag, which is then text

ACTIVE = (  # elements that fetch, run or swallow text, whatever their attributes
    "script|style|iframe|frame|frameset|svg|math|template|noscript|textarea|plaintext|xmp|html|head|body|base|meta|"
    "embed|applet|img|image|video|audio|form|marquee|portal"
)
PASSIVE = (
    "a|abbr|b|big|blockquote|br|button|center|code|del|details|div|em|font|h[1-6]|hr|i|input|ins|label|li|link|mark|ol|"
    "p|picture|pre|q|s|select|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul"
)
ATTRIBUTES = r"on\w+|style|href|xlink:href|src\w*|data|action|formaction|poster|background|ping|cite"
ENDINGS = (  # of hosts that viewers make links of without a scheme
    "com|net|org|io|co|dev|app|ai|me|info|biz|xyz|top|site|online|tech|cloud|link|click|live|shop|ru|cn|uk|de|fr|eu|us|"
    "tk|ml|ga|cf|gq|cc|ly|gl|to|sh|example|test"
)
ADDRESS = rf"""(?:
    (?:https?|ftps?|wss?):[\\/]{{2}}
  | (?<!\w)(?:https?|ftps?|wss?|mailto|javascript|vbscript|blob):
  | (?<!\w)data:(?=[\w.+-]*[/,;])
  | (?<![a-z0-9+.-])[a-z][a-z0-9+.-]+:[\\/]{{2}}    # two letters at least: "C:\\" is a disk
  | (?<![\w:.\\/])[\\/]{{2}}(?=[\w-]+\.[\w-])        # of this page's scheme
  | (?<![\w.-])www\.(?=\w)
  | (?<![\w.-])(?:[\w-]++\.)+?(?:{ENDINGS})(?::\d+)?[/?\#]
)[^\s<>"`⟨]+"""
LINK = re.compile(
    rf"""
    (?P<image>!?)\[(?P<label>[^\[\]]*+)\]\((?P<at>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)
  | \]\((?P<tail>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)     # of a label with brackets in it
  | (?P<image_of>(?<!!)!++)(?=\[(?!\d+\])[^\[\]]*+\]\[)   # of an address given elsewhere; "Stop![1][2]" is none
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
WORDS = re.compile(r"[\w\s,⟨⟩]*")  # of an argument, as in `handlers[name](request)`: it leads nowhere
NAME = re.compile(r"[/!?]?[\w-]*")
TRAILING = frozenset(".,;:!?'*_~|")  # what viewers take off the end of an address that stands in a text
CLOSING = {")": "(", "]": "["}
REPEATED = 6  # words in a row: fewer are anyone's


def screen(text: str, sources: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text without links to what does not stand in `sources`, without images and HTML; and what was taken out.

    An address must stand there whole and letter for letter, so that neither a host that looks alike nor one word more
    in a query passes. A link loses its address and keeps its words; a tag is shown as text. Nothing else is changed.
    Text that hides an address, as by characters of no width, is shown as it reads without those.
    """
    known = frozenset(
        address for source in sources for shape in {source, _folded(source)} for address in addresses(shape)
    )
    shown, removed = _screened(text, known)
    unhidden, more = _screened(_folded(shown), known)
    return (unhidden, removed + more) if more else (shown, removed)


def repeats(text: str, told: str, sources: Sequence[str]) -> bool:
    """Whether some words in a row are those that a model was told, which is not for readers, and no source has them."""
    known = _runs(told).difference(*map(_runs, sources))
    return not known.isdisjoint(_runs(text))


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return set(zip(*(words[start:] for start in range(REPEATED)), strict=False))


def _screened(text: str, known: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    removed: list[str] = []

    def shown(found: re.Match[str]) -> str:
        kept, lost = _safe(found, known)
        removed.extend(lost)
        return kept

    return LINK.sub(shown, text), tuple(removed)


def _safe(found: re.Match[str], known: frozenset[str]) -> tuple[str, Sequence[str]]:
    """What is shown in place of one link, address or tag, and what is lost by it."""
    match found.lastgroup:
        case "at":
            return _link(found, known)
        case "tail":
            return (found[0], ()) if WORDS.fullmatch(found["tail"]) else (f"]{REMOVED}", (found["tail"],))
        case "image_of":
            return "", ("!",)
        case "definition":
            return "]", ()  # what is defined nowhere cannot be an image
        case "tag":
            return TAG, (f"<{NAME.match(found.string, found.end())[0]}",)  # type: ignore[index]
        case _:
            address = _ended(found[0])
            return (found[0], ()) if address in known else (REMOVED + found[0][len(address) :], (address,))


def _link(found: re.Match[str], known: frozenset[str]) -> tuple[str, Sequence[str]]:
    label, lost = _screened(found["label"], known)
    leads_well = found["at"].strip(" \n<>") in known or WORDS.fullmatch(found["at"])
    if leads_well and not found["image"]:
        return f"[{label}]({found['at']})", lost
    return f"[{label}]{REMOVED}", (*lost, found["at"])


def addresses(source: str) -> Iterator[str]:
    """The addresses in a source, each also as it is when what closes it there belongs to the text around it."""
    for found in ADDRESSES.findall(source):
        yield _ended(found)
        yield _ended(re.split(r"[)\]|']", found, maxsplit=1)[0])


def _ended(address: str) -> str:
    """An address without the signs after it: those of the sentence, and brackets that it does not open."""
    end = len(address)
    left = {sign: address.count(sign) - address.count(opening) for sign, opening in CLOSING.items()}
    while end and (address[end - 1] in TRAILING or left.get(address[end - 1], 0) > 0):
        if address[end - 1] in left:
            left[address[end - 1]] -= 1
        end -= 1
    return address[:end]


def _folded(text: str) -> str:
    """The text as it reads: without characters of no width, and with plain letters for their wide or styled forms."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", "".join(sign for sign in text if unicodedata.category(sign) != "Cf"))

"""Removal of links, images and HTML from a model's text, except for links that occur in its sources.

The elements and schemes are those that a browser or a Markdown viewer acts on. This limits what displaying the text
can do; it does not filter the content: plain words stay.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

LINK_REMOVED = "⟨link removed⟩"  # with a space and without Markdown, so that no link can form around it
TAG_SUBSTITUTE = "‹"  # replaces the "<" of a tag, which is then text

ACTIVE_ELEMENTS = (  # elements that fetch, run or swallow text, whatever their attributes
    "script|style|iframe|frame|frameset|svg|math|template|noscript|textarea|plaintext|xmp|html|head|body|base|meta|"
    "embed|applet|img|image|video|audio|form|marquee|portal"
)
PASSIVE_ELEMENTS = (
    "a|abbr|b|big|blockquote|br|button|center|code|del|details|div|em|font|h[1-6]|hr|i|input|ins|label|li|link|mark|ol|"
    "p|picture|pre|q|s|select|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul"
)
ACTIVE_ATTRIBUTES = r"on\w+|style|href|xlink:href|src\w*|data|action|formaction|poster|background|ping|cite"
LINKED_DOMAIN_ENDINGS = (  # of hosts that viewers turn into links also without a scheme
    "com|net|org|io|co|dev|app|ai|me|info|biz|xyz|top|site|online|tech|cloud|link|click|live|shop|ru|cn|uk|de|fr|eu|us|"
    "tk|ml|ga|cf|gq|cc|ly|gl|to|sh|example|test"
)
ADDRESS_EXPRESSION = rf"""(?:
    (?:https?|ftps?|wss?):[\\/]{{2}}
  | (?<!\w)(?:https?|ftps?|wss?|mailto|javascript|vbscript|blob):
  | (?<!\w)data:(?=[\w.+-]*[/,;])
  | (?<![a-z0-9+.-])[a-z][a-z0-9+.-]+:[\\/]{{2}}    # two letters at least: "C:\\" is a disk
  | (?<![\w:.\\/])[\\/]{{2}}(?=[\w-]+\.[\w-])        # an address without a scheme
  | (?<![\w.-])www\.(?=\w)
  | (?<![\w.-])(?:[\w-]++\.)+?(?:{LINKED_DOMAIN_ENDINGS})(?::\d+)?[/?\#]
)[^\s<>"`⟨]+"""
LINK_PATTERN = re.compile(
    rf"""
    (?P<image>!?)\[(?P<label>[^\[\]]*+)\]\((?P<at>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)
  | \]\((?P<tail>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)     # the address of a label that contains brackets
  | (?P<image_of>(?<!!)!++)(?=\[(?!\d+\])[^\[\]]*+\]\[)   # of an image by reference; "Stop![1][2]" is none
  | (?P<definition>\]:)(?=\s*+<?{ADDRESS_EXPRESSION})
  | (?P<address>{ADDRESS_EXPRESSION})
  | (?P<tag><)(?:(?=/?(?:{ACTIVE_ELEMENTS})(?:[\s/>]|$))
               | (?=/?(?:{PASSIVE_ELEMENTS})\s*+/?>)
               | (?=!--|!\[|!doctype|\?xml)
               | (?=[a-z][\w:.-]*+[\s/]++[\w:@.-]++=)
               | (?=[a-z][\w:.-]*+[\s/][^<>]*?(?<![\w:-])(?:{ACTIVE_ATTRIBUTES})\s*+=))
    """,
    re.VERBOSE | re.IGNORECASE,
)
ADDRESS_PATTERN = re.compile(ADDRESS_EXPRESSION, re.VERBOSE | re.IGNORECASE)
PLAIN_WORDS_PATTERN = re.compile(r"[\w\s,⟨⟩]*")  # no address, such as the argument in `handlers[name](request)`
TAG_NAME_PATTERN = re.compile(r"[/!?]?[\w-]*")
TRAILING_SIGNS = frozenset(".,;:!?'*_~|")  # viewers do not count these at the end as part of an address
CLOSING_BRACKETS = {")": "(", "]": "["}
MIN_REPEATED_WORDS = 6  # consecutive words: fewer may be the same by chance


def screen_text(text: str, sources: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the text without images, HTML and links to addresses not in `sources`, and the parts removed.

    An address must occur there in full and letter for letter, so that neither a similar host nor one more word in a
    query string passes. A link loses its address and keeps its label; a tag becomes text. Nothing else is changed.
    Text that hides an address, for example by zero-width characters, is returned without them.
    """
    source_addresses = frozenset(
        address
        for source in sources
        for shape in {source, _fold_hidden_characters(source)}
        for address in find_addresses(shape)
    )
    screened, removed = _screen_addresses(text, source_addresses)
    unhidden, hidden = _screen_addresses(_fold_hidden_characters(screened), source_addresses)
    return (unhidden, removed + hidden) if hidden else (screened, removed)


def repeats_instructions(text: str, instructions: str, sources: Sequence[str]) -> bool:
    """Return whether the text repeats consecutive words of the instructions to a model that no source contains."""
    instruction_runs = _find_word_runs(instructions).difference(*map(_find_word_runs, sources))
    return not instruction_runs.isdisjoint(_find_word_runs(text))


def _find_word_runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of `MIN_REPEATED_WORDS` consecutive words, case-folded."""
    words = re.findall(r"\w+", text.casefold())
    return set(zip(*(words[start:] for start in range(MIN_REPEATED_WORDS)), strict=False))


def _screen_addresses(text: str, known_addresses: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Replace links, addresses and tags of a text; return also the parts removed."""
    removed: list[str] = []

    def replace(link_match: re.Match[str]) -> str:
        replacement, removed_parts = _screen_match(link_match, known_addresses)
        removed.extend(removed_parts)
        return replacement

    return LINK_PATTERN.sub(replace, text), tuple(removed)


def _screen_match(link_match: re.Match[str], known_addresses: frozenset[str]) -> tuple[str, Sequence[str]]:
    """Return the replacement of one link, address or tag, and the parts that it removes."""
    match link_match.lastgroup:
        case "at":
            return _screen_link(link_match, known_addresses)
        case "tail":
            return (
                (link_match[0], ())
                if PLAIN_WORDS_PATTERN.fullmatch(link_match["tail"])
                else (f"]{LINK_REMOVED}", (link_match["tail"],))
            )
        case "image_of":
            return "", ("!",)
        case "definition":
            return "]", ()  # without its definition, a reference is neither a link nor an image
        case "tag":
            return TAG_SUBSTITUTE, (f"<{TAG_NAME_PATTERN.match(link_match.string, link_match.end())[0]}",)  # type: ignore[index]
        case _:
            address = _strip_trailing_signs(link_match[0])
            return (
                (link_match[0], ())
                if address in known_addresses
                else (LINK_REMOVED + link_match[0][len(address) :], (address,))
            )


def _screen_link(link_match: re.Match[str], known_addresses: frozenset[str]) -> tuple[str, Sequence[str]]:
    """Return the replacement of a Markdown link or image, and the parts that it removes."""
    label, removed = _screen_addresses(link_match["label"], known_addresses)
    is_allowed = link_match["at"].strip(" \n<>") in known_addresses or PLAIN_WORDS_PATTERN.fullmatch(link_match["at"])
    if is_allowed and not link_match["image"]:
        return f"[{label}]({link_match['at']})", removed
    return f"[{label}]{LINK_REMOVED}", (*removed, link_match["at"])


def find_addresses(source: str) -> Iterator[str]:
    """Yield the addresses in a source, each also cut at its first closing bracket, quote or bar."""
    for address in ADDRESS_PATTERN.findall(source):
        yield _strip_trailing_signs(address)
        yield _strip_trailing_signs(re.split(r"[)\]|']", address, maxsplit=1)[0])


def _strip_trailing_signs(address: str) -> str:
    """Return an address without trailing punctuation and without closing brackets that it does not open."""
    end = len(address)
    unopened = {sign: address.count(sign) - address.count(opening) for sign, opening in CLOSING_BRACKETS.items()}
    while end and (address[end - 1] in TRAILING_SIGNS or unopened.get(address[end - 1], 0) > 0):
        if address[end - 1] in unopened:
            unopened[address[end - 1]] -= 1
        end -= 1
    return address[:end]


def _fold_hidden_characters(text: str) -> str:
    """Return the text without zero-width characters, and with plain letters for their wide or styled forms."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", "".join(sign for sign in text if unicodedata.category(sign) != "Cf"))

"""One policy for text that a model wrote: images never, links only to where its sources lead, HTML as text.

It limits what displaying the text can do, in any viewer of Markdown or HTML; it does not filter the content: plain
words stay. Why it parses *and* breaks up what only looks like a link: docs/decisions/0070-text-of-models.md.
"""

import re
from collections.abc import Sequence

from rag_core.prompts.addresses import (
    ADDRESS_PATTERN,
    find_source_addresses,
    fold_hidden_characters,
    strip_trailing_signs,
)
from rag_core.prompts.markdown import MarkdownScreen

LINK_REMOVED = "⟨link removed⟩"  # with a space and without Markdown, so that no link can form around it
TAG_SUBSTITUTE = "‹"  # replaces the "<" of a tag, which is then text
MAX_ROUNDS = 5  # of screening, each of what the last one left; a text that still changes is written without markup

ACTIVE_ELEMENTS = (  # elements that fetch, run or swallow text, whatever their attributes
    "script|style|iframe|frame|frameset|svg|math|template|noscript|textarea|plaintext|xmp|html|head|body|base|meta|"
    "embed|applet|img|image|video|audio|form|marquee|portal|object"
)
PASSIVE_ELEMENTS = (
    "a|abbr|b|big|blockquote|br|button|center|code|del|details|div|em|font|h[1-6]|hr|i|input|ins|label|li|link|mark|ol|"
    "p|picture|pre|q|s|select|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul"
)
ACTIVE_ATTRIBUTES = r"on\w+|style|href|xlink:href|src\w*|data|action|formaction|poster|background|ping|cite"
NO_TAG = "(?:[^<>]|<(?![a-z]))"
TAG_NAME = r"[a-z](?:[^\s/<>]|<(?![a-z]))*+"  # as browsers read one, and viewers that are no CommonMark pass it on
TAG_PATTERN = re.compile(
    rf"""<(?:(?=/?(?:{ACTIVE_ELEMENTS})(?:[\s/>]|$))
           | (?=/?(?:{PASSIVE_ELEMENTS})\s*+/?>)
           | (?=!--|!\[|![a-z]|\?)
           | (?=[a-z][\w:.-]*+[\s/]++[\w:@.-]++=)
           | (?={TAG_NAME}[\s/]++[^\s/<>="']++\s*+=\s*+["'])
           | (?={TAG_NAME}[\s/]{NO_TAG}*?(?<![\w:-])(?:{ACTIVE_ATTRIBUTES})\s*+=))""",
    re.VERBOSE | re.IGNORECASE,
)
TAG_NAME_PATTERN = re.compile(r"<[/!?]?[\w-]*")
MARKUP_PATTERN = re.compile(r"<(?=[a-z/!?])|&(?=#?\w)|\](?=[(:\[])|\\", re.IGNORECASE)  # nothing is parsed without any
DEFINITION_PATTERN = re.compile(  # of what a reference leads to: "[label]:" at the beginning of a line or a list item
    r"^([^\w\n\[\]]*+(?:\d+[.)][^\w\n\[\]]*+)*+\[(?:[^\[\]\\]|\\.)*+\]):", re.MULTILINE | re.DOTALL
)
REFERENCE_IMAGE_PATTERN = re.compile(r"!(?=\[(?!\d+\])[^\[\]]*+\](?:\[|[ \t]++\())")  # "Stop![1][2]" is none
TARGET_PATTERN = re.compile(  # of what is or resembles a link: its label, where that has no brackets, and its address
    r"(?P<label>!?\[[^\[\]]*+)?\]\((?:(?=(?P<at>[^()]*+(?:\([^()]*+\)[^()]*+)*+)\)))?"
)
ARGUMENTS_PATTERN = re.compile(r"\b\w++,?\s[\w\s,]*+")  # no address, such as those in `handlers[name](request, 3)`
# what no viewer counts as part of an address
ADDRESS_END_PATTERN = re.compile(r"[.,;:!?'\")\]*_~]{0,3}(?:[ \t\r\n<]|$)")
DELIMITERS = ("]()", "<>")  # around the address of a link
PLAIN_SIGNS = str.maketrans({"[": "⟦", "]": "⟧", "<": "‹", "&": " ", "\\": " "})
MIN_REPEATED_WORDS = 6  # consecutive words: fewer may be the same by chance


def screen_text(text: str, sources: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the text without images, HTML and links to addresses not in `sources`, and each part removed, once.

    An address must occur there in full and letter for letter, so that neither a similar host nor one more word in a
    query string passes. A link becomes its label, an image its alternative text, a bare address LINK_REMOVED; a tag
    becomes text. What only looks like a link gets a backslash. Nothing else is changed, and to screen twice is to
    screen once. Text that hides an address, for example by zero-width characters, is returned without them. The time
    is linear in the length.
    """
    if not MARKUP_PATTERN.search(text) and text.isascii() and not ADDRESS_PATTERN.search(text):
        return text, ()
    allowed = find_source_addresses(sources)
    screened, removed = _screen_until_settled(text, allowed)
    unhidden, hidden = _screen_until_settled(fold_hidden_characters(screened), allowed)
    return unhidden if hidden else screened, tuple(dict.fromkeys(removed + hidden))


def screen_stored_text(text: str) -> str:
    """Return a text that was screened when it was stored, perhaps by an earlier and weaker policy.

    Its sources are not at hand, so the addresses that it shows stay; images and HTML never do.
    """
    return screen_text(text, [text])[0]


def _screen_until_settled(text: str, allowed: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Screen a text until nothing is left to do: what is taken out may leave a link behind by closing a gap."""
    removed: list[str] = []
    markdown_screen = MarkdownScreen(allowed, lambda words: _screen_words(words, allowed), removed)
    for _ in range(MAX_ROUNDS):
        screened = _screen_once(text, allowed, markdown_screen)
        if screened == text:
            return text, tuple(removed)
        text = screened
    return _screen_words(text.translate(PLAIN_SIGNS), allowed)[0], (*removed, "markup")


def _screen_once(text: str, allowed: frozenset[str], markdown_screen: MarkdownScreen) -> str:
    """Screen a text for tags, definitions, links and addresses, in this order."""
    removed = markdown_screen.removed
    removed.extend(TAG_NAME_PATTERN.match(text, tag.start())[0] for tag in TAG_PATTERN.finditer(text))  # type: ignore[index]
    text = DEFINITION_PATTERN.sub(r"\1\\:", TAG_PATTERN.sub(TAG_SUBSTITUTE, text))
    text = REFERENCE_IMAGE_PATTERN.sub(r"!\\", text)
    if MARKUP_PATTERN.search(text):
        text = markdown_screen.screen(text)
    text, addresses = _screen_words(TARGET_PATTERN.sub(lambda target: _break_target(target, allowed), text), allowed)
    removed.extend(addresses)
    return text


def _break_target(target: re.Match[str], allowed: frozenset[str]) -> str:
    """Return a target with a backslash that makes it text, unless it is an allowed link or the arguments of a call."""
    label, at = target["label"] or "!", target["at"] or ""
    is_escaped = label.endswith("\\") or target.string.endswith("\\", 0, target.start())
    after_label = target.string.rfind("]", 0, target.start()) + 1
    is_in_image = "![" in target.string[after_label : target.start()]  # where labels are not nested
    is_allowed_link = label[0] == "[" and not is_escaped and not is_in_image and at.strip(" \n<>") in allowed
    is_kept = is_allowed_link or ARGUMENTS_PATTERN.fullmatch(at)
    return target[0] if is_kept else f"{target[0][:-1]}\\("


def _screen_words(text: str, allowed: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Replace the addresses of a text that are not allowed; return also these."""
    removed: list[str] = []

    def replace(match: re.Match[str]) -> str:
        address = strip_trailing_signs(match[0])
        if address in allowed:
            return f"{address}{_choose_gap(match, len(address))}{match[0][len(address) :]}"
        removed.append(address)
        return LINK_REMOVED + match[0][len(address) :]

    return ADDRESS_PATTERN.sub(replace, text), tuple(removed)


def _choose_gap(match: re.Match[str], length: int) -> str:
    """Return a space where a viewer may take what follows an allowed address for a part of it, else nothing."""
    text, start = match.string, match.start()
    is_delimited = (text[max(0, start - 2) : start] + text[start + length : start + length + 1]).endswith(DELIMITERS)
    return "" if is_delimited or ADDRESS_END_PATTERN.match(text, start + length) else " "


def repeats_instructions(text: str, instructions: str, sources: Sequence[str]) -> bool:
    """Return whether the text repeats consecutive words of the instructions to a model that no source contains."""
    instruction_runs = _find_word_runs(instructions).difference(*map(_find_word_runs, sources))
    return not instruction_runs.isdisjoint(_find_word_runs(text))


def _find_word_runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of `MIN_REPEATED_WORDS` consecutive words, case-folded."""
    words = re.findall(r"\w+", text.casefold())
    return set(zip(*(words[start:] for start in range(MIN_REPEATED_WORDS)), strict=False))

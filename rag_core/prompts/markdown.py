"""Links, images and HTML taken out of Markdown: parsed as CommonMark, and written again from the tree.

Only the inline texts that hold such a thing are written again, in their places; all other characters stay as they are.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ScreenWords = Callable[[str], tuple[str, Sequence[str]]]
ESCAPED_SIGNS = re.compile(r"[\\`*_\[\]<>&!~|]")
WORD = re.compile(r"\w+")
TEXT_TYPES = ("text", "text_special")


class MarkdownScreen:
    """Takes images and links out of a text. `removed` has what was taken out so far."""

    def __init__(self, allowed: frozenset[str], screen_words: ScreenWords, removed: list[str]) -> None:
        """Allow links to these addresses; `screen_words` takes others out of plain words and names them."""
        self._allowed, self._screen_words, self.removed = allowed, screen_words, removed

    @cached_property
    def _allowed_by_form(self) -> Mapping[str, str]:
        """The allowed addresses by the form that the parser gives them."""
        return {get_parser().normalizeLink(address): address for address in self._allowed}

    def screen(self, text: str) -> str:
        """Return the text with its images as their alternative text, and its links, unless allowed, as their label."""
        environment: dict[str, Any] = {}
        text = text.replace("\x00", "\ufffd")  # as the parser does: what it has read is then found in the text
        tokens = get_parser().parse(text, environment)
        if environment.get("references"):
            return text.replace("]:", "]\\:")  # without its definition, a reference is neither a link nor an image
        lines = re.split(r"\r\n?|\n", text)
        inlines = [token for token in tokens if token.type == "inline" and token.map]
        found = [t for t in inlines if any(map(self._must_go, t.children or ())) or self._hides_address(t)]
        if not found:
            return text
        for token in sorted(found, key=lambda token: token.map or (), reverse=True):
            self._write_again(token, lines)
        return "\n".join(lines)

    def _must_go(self, token: "Token") -> bool:
        return token.type == "image" or (token.type == "link_open" and token.attrs["href"] not in self._allowed_by_form)

    def _hides_address(self, inline: "Token") -> bool:
        """Return whether words have an address only once their escapes and entities are read."""
        return any(self._screen_run(run) is not None for run in _split_runs(inline.children or ()))

    def _screen_run(self, run: Sequence["Token"]) -> str | None:
        """Return adjacent words, read and screened and escaped, where that finds an address; else None."""
        if all(token.type == "text" for token in run):
            return None
        screened, removed = self._screen_words("".join(token.content for token in run))
        if not removed:
            return None
        self.removed.extend(removed)
        return ESCAPED_SIGNS.sub(r"\\\g<0>", screened)

    def _write_again(self, inline: "Token", lines: list[str]) -> None:
        """Replace an inline text in the lines of its block; a line that is gone leaves the block's markers alone."""
        first, end = inline.map or (0, 0)
        shown = "".join(self._write_tokens(inline.children or ())).split("\n")
        for number, content in enumerate(inline.content.split("\n"), start=first):
            written = shown[number - first] if number - first < len(shown) else ""
            for before, after in ((content, written), (content.replace("|", "\\|"), written.replace("|", "\\|"))):
                start = lines[number].rfind(before) if number < end else -1
                if start >= 0:
                    lines[number] = f"{lines[number][:start]}{after}{lines[number][start + len(before) :]}"
                    break

    def _write_tokens(self, tokens: Sequence["Token"]) -> Iterator[str]:
        """Yield the Markdown of inline tokens, without what must go."""
        open_links: list[str] = []
        for run in _split_runs(tokens):
            token = run[0]
            if token.type in TEXT_TYPES:
                yield self._screen_run(run) or "".join(token.markup or token.content for token in run)
            elif token.type == "link_open":
                opening, closing = self._write_link(token)
                open_links.append(closing)
                yield opening
            elif token.type == "link_close":
                yield open_links.pop()
            elif token.type == "image":
                self.removed.append(str(token.attrs["src"]))
                yield from self._write_tokens(token.children or ())
            else:
                yield _write_token(token)

    def _write_link(self, link: "Token") -> tuple[str, str]:
        """Return what stands before and after the label of a link."""
        href = str(link.attrs["href"])
        address = self._allowed_by_form.get(href)
        if address is None and WORD.fullmatch(href):  # of code, such as f(x)[0](y)
            return "[", f"]\\({href})"
        if address is None:
            self.removed.append(href)
            return "", ""
        return ("<", ">") if link.markup == "autolink" else ("[", f"]({address})")


def _split_runs(tokens: Sequence["Token"]) -> Iterator[list["Token"]]:
    """Yield adjacent words together, and every other token by itself."""
    for is_text, group in groupby(tokens, key=lambda token: token.type in TEXT_TYPES):
        run = list(group)
        yield from [run] if is_text else [[token] for token in run]


def _write_token(token: "Token") -> str:
    """Return the Markdown of an inline token that is neither words, link nor image."""
    match token.type:
        case "softbreak":
            return "\n"
        case "hardbreak":
            return "  \n"
        case "code_inline":
            pad = " " if token.content[:1] in "` " or token.content[-1:] in "` " else ""
            return f"{token.markup}{pad}{token.content}{pad}{token.markup}"
        case _:
            return token.markup or token.content  # of emphasis its signs, of HTML itself


@cache
def get_parser() -> "MarkdownIt":
    """Return the parser: CommonMark with tables and deletions, and every address of a link read as one.

    It is imported late, since most replies hold no link. `text_join` is off, so that the tree keeps what was escaped.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # another reader may take any scheme
    return parser

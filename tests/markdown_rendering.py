"""Two independent renderers of Markdown, and what a browser would fetch, run or make clickable of their pages."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import mistune
from markdown_it import MarkdownIt

PAYLOADS = Path(__file__).parent / "data" / "markdown" / "payloads.txt"
CITED = "https://ok.example/a?b=1"
CLICKED_ELEMENTS = ("a", "area", "form")
MISTUNE_PLUGINS = [
    "table",
    "url",
    "strikethrough",
    "footnotes",
    "task_lists",
    "def_list",
    "abbr",
    "math",
    "superscript",
]

# as open as these renderers can be set: with raw HTML, every extension, and links made of bare addresses
COMMONMARK = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "strikethrough", "linkify"])
MISTUNE = mistune.create_markdown(escape=False, plugins=MISTUNE_PLUGINS)
ADDRESS_ATTRIBUTE = re.compile(
    r"src(?:set)?|imagesrcset|poster|data|background|(?:xlink:)?href|(?:form)?action|ping|cite|longdesc|code(?:base)?|"
    r"archive|manifest|profile|classid|dynsrc|lowsrc|content"
)
ACTIVE_ELEMENT = re.compile(r"script|style|i?frame|object|embed|svg|math|template|base|meta|link|plaintext|textarea")
END_SIGNS = re.compile(r"[.,;:!?'\")\]*_~]{0,3}$")  # viewers differ in which of these they count as part of an address
STYLE_ADDRESS = re.compile(r"url\(|@import|image-set", re.IGNORECASE)


def load_payloads() -> list[str]:
    """Return the hostile texts, in their order."""
    lines = PAYLOADS.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line and not line.startswith("#")]


def render_each_way(text: str) -> dict[str, str]:
    """Return the HTML that each renderer makes of a text."""
    return {"markdown-it": COMMONMARK.render(text), "mistune": str(MISTUNE(text))}


@dataclass
class _Exposure(HTMLParser):
    """Collects what a page would fetch or run, and where its links lead."""

    found: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.extend(_judge_element(tag, attrs))

    handle_startendtag = handle_starttag

    def handle_data(self, data: str) -> None:
        if self.lasttag == "style" and STYLE_ADDRESS.search(data):
            self.found.append(f"style fetches {data}")


def _judge_element(tag: str, attrs: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    if ACTIVE_ELEMENT.fullmatch(tag):
        yield f"element {tag}"
    for name, given in attrs:
        value = (given or "").strip()
        if name.startswith("on") or (name == "style" and STYLE_ADDRESS.search(value)):
            yield f"{tag} {name}={value}"
        elif ADDRESS_ATTRIBUTE.fullmatch(name):
            inside = tag == "a" and re.fullmatch(r"#fn(ref)?-\d+", value)  # of a footnote to its text, and back
            if not inside and not (tag in CLICKED_ELEMENTS and END_SIGNS.sub("", value) == CITED):
                yield f"{tag} {name}={value}"


def find_exposure(page: str) -> list[str]:
    """Return what a page fetches or runs, and its links that lead elsewhere than to the cited source; in words."""
    reading = _Exposure()
    reading.feed(page)
    reading.close()
    return reading.found


def find_live_parts(text: str) -> list[str]:
    """Return what any of the renderers makes of a text that would be fetched, run, or lead elsewhere."""
    return [f"{name}: {what}" for name, page in render_each_way(text).items() for what in find_exposure(page)]

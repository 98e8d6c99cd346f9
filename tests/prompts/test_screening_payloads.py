"""Hostile Markdown against the screen, as two renderers of Markdown that are not ours show what is left of it."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.prompts.screening import screen_text
from tests.markdown_rendering import CITED, find_live_parts, load_payloads

TEXTS = load_payloads()
HARMLESS_IN_BOTH = 30  # at most: of dialects that neither renderer has; what they hide is for other viewers
PARTS = st.sampled_from(
    [
        *"[]()!<>:/\\ \n'\"a.,?=_*`|-#&;~+1",
        *("](", "![", "]:", "\n[a]: ", "http://", "https://", "//", "www.", "evil.invalid", "x.com/", "data:", "```"),
        *("<img ", "<a href=", "<b>", "<!--", "src=", "<https:", "\u200b", "&#104;", "&colon;", "\\[", "\\]", "\\:"),
        *(CITED, f"[x]({CITED})", "![a](b)", "    ", "\n\n", "> ", "- ", "| a |\n|-|\n", "mailto:a@b.com"),
    ]
)


def test_the_payloads_are_alive_before_they_are_screened() -> None:
    """The harness sees what it is to see: without a screen, nearly every payload is fetched, runs or leads away."""
    assert len(set(TEXTS)) == len(TEXTS) >= 150
    assert sum(1 for text in TEXTS if not find_live_parts(text)) <= HARMLESS_IN_BOTH


@pytest.mark.parametrize("sources", [(CITED,), ()], ids=["cited", "none"])
def test_no_payload_is_alive_once_screened(sources: tuple[str, ...]) -> None:
    """C41: nothing is fetched, and nothing can be clicked but the address that a source has."""
    screened = {text: screen_text(text, sources)[0] for text in TEXTS}
    assert {text: live for text in TEXTS if (live := find_live_parts(screened[text]))} == {}
    assert [text for text in TEXTS if screen_text(screened[text], sources) != (screened[text], ())] == []


def test_screened_texts_are_dead_together_too() -> None:
    """Sentences of an answer are screened one by one and then joined: no two of them make a link."""
    shuffled = random.Random(41).sample([screen_text(text, [CITED])[0] for text in TEXTS * 3], k=len(TEXTS) * 3)
    for glue in (" ", "\n", "\n\n"):
        assert [pair for pair in pairwise(shuffled) if find_live_parts(glue.join(pair))] == []


@given(st.lists(PARTS, max_size=16).map("".join))
def test_no_mixture_of_markdown_is_alive_once_screened(text: str) -> None:
    """C41."""
    screened, _ = screen_text(text, [CITED])
    assert find_live_parts(screened) == []
    assert screen_text(screened, [CITED]) == (screened, ())

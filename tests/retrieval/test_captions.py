import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.model import Caption
from rag_core.retrieval.captions import add_lexical_captions, extract_captions_and_answers, highlight_terms
from rag_core.text.terms import extract_terms
from tests.fakes import OverlapReranker, hit

MANUAL = "The gearbox is sealed. Codes such as P0700 are set by the TCM. Ask a dealer about the oil."


def test_a_caption_is_the_sentence_that_shares_most_with_the_question() -> None:
    """S1-06, S1-38: captions with the shared words marked."""
    [captioned] = add_lexical_captions("Which TCM code is P0700?", [hit("a", content=MANUAL)])
    assert captioned.captions == (
        Caption(
            "Codes such as P0700 are set by the TCM.",
            "<em>Codes</em> such as <em>P0700</em> are set by the <em>TCM</em>.",
        ),
    )


def test_without_shared_words_the_first_sentence_is_the_caption() -> None:
    [captioned] = add_lexical_captions("😀 ?!", [hit("a", content=MANUAL)])
    assert captioned.captions == (Caption("The gearbox is sealed.", "The gearbox is sealed."),)


def test_a_hit_without_a_sentence_stays_in_the_ranking() -> None:
    assert [one.chunk.id for one in add_lexical_captions("oil", [hit("a", content=" "), hit("b")])] == ["a", "b"]


def test_highlights_are_safe_to_show_as_html() -> None:
    assert highlight_terms('<b onclick="x">oil & gas</b>', extract_terms("oil")) == (
        '&lt;b onclick="x"&gt;<em>oil</em> &amp; gas&lt;/b&gt;'
    )


@given(st.text(), st.text())
def test_highlights_are_the_text_with_nothing_but_marks_added(text: str, question: str) -> None:
    marked = highlight_terms(text, extract_terms(question))
    assert unescape(re.sub("</?em>", "", marked)) == unescape(text.replace("&", "&amp;"))
    assert not re.search(r"<(?!/?em>)", marked)


async def test_the_ranker_chooses_the_caption_and_the_answers() -> None:
    """S1-43, S1-07: semantic captions and answers."""
    hits = [hit("a", content=MANUAL), hit("b", content="The oil of the gearbox lasts."), hit("c", content="Tyres.")]
    quoted, answers = await extract_captions_and_answers(
        "oil gearbox dealer", hits, OverlapReranker(), caption_count=2, answer_count=3
    )
    assert [h.captions[0].text if h.captions else None for h in quoted] == [
        "Ask a dealer about the oil.",
        "The oil of the gearbox lasts.",
        None,
    ]
    assert [(a.text, a.chunk_id) for a in answers] == [
        ("Ask a dealer about the oil.", "a"),
        ("The oil of the gearbox lasts.", "b"),
    ]
    assert all(0.5 <= a.score <= 1 for a in answers)


async def test_an_unlikely_sentence_is_no_answer() -> None:
    _, answers = await extract_captions_and_answers(
        "oil price dealer city", [hit("a", content=MANUAL)], OverlapReranker(), caption_count=1, answer_count=3
    )
    assert [a.text for a in answers] == ["Ask a dealer about the oil."]
    _, answers = await extract_captions_and_answers(
        "oil in a far city", [hit("a", content=MANUAL)], OverlapReranker(), caption_count=1, answer_count=3
    )
    assert answers == ()


async def test_only_the_best_hits_are_read_and_three_sentences_of_each() -> None:
    reranker = OverlapReranker()
    hits = [hit(str(number), content=f"Oil {number}. " * 9) for number in range(50)]
    await extract_captions_and_answers("oil", hits, reranker, caption_count=5, answer_count=3)
    assert [len(passages) for passages in reranker.calls] == [15]


async def test_no_captions_asked_for_asks_nobody() -> None:
    reranker = OverlapReranker()
    assert await extract_captions_and_answers("oil", [hit("a")], reranker, caption_count=0, answer_count=3) == (
        [hit("a")],
        (),
    )
    assert reranker.calls == []


def test_a_caption_has_a_bounded_length() -> None:
    [captioned] = add_lexical_captions("oil", [hit("a", content="word " * 1000)])
    assert len(captioned.captions[0].text) == 400

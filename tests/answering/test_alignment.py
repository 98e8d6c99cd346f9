"""Which word of a passage stands for each of a claim's, and which parts have moved; worked out by hand."""

from rag_core.answering.alignment import Alignment, align_words, locate_words
from rag_core.answering.facts.comparison import read_words


def align(claim: str, passage: str, **similar: str) -> Alignment:
    """Align two texts, in which each word of `similar` is as near as 0.9 to the other one."""
    words, others = read_words(claim), read_words(passage)
    near = [[0.9 if similar.get(word.raw) == other.raw else 0.0 for other in others] for word in words]
    return align_words(words, others, near)


def blocks(alignment: Alignment) -> list[str]:
    return [" ".join(alignment.claim[n].raw for n, _ in block) for block in alignment.blocks]


def test_a_word_near_in_meaning_stands_for_another_and_a_number_for_itself_alone() -> None:
    alignment = align("It starts after 30 minutes.", "It begins after 20 minutes.", starts="begins", **{"30": "20"})
    strengths = {alignment.claim[n].raw: strength for n, strength in alignment.strengths.items()}
    assert strengths == {"starts": 0.9, "30": 0.0, "minutes": 1.0}


def test_parts_that_stand_together_in_the_passage_are_blocks() -> None:
    alignment = align("At night the pump runs.", "The pump runs at night.")
    assert (blocks(alignment), alignment.order) == (["night", "pump runs"], [1, 0])


def test_a_word_that_occurs_twice_is_aligned_where_its_neighbours_stand() -> None:
    passage = "Plan Alpha costs 20 euros and plan Beta costs 30 euros."
    assert blocks(align("Plan Beta costs 30 euros.", passage)) == ["Plan Beta costs 30 euros"]


def test_words_are_located_as_they_are_written_and_made_ones_nowhere() -> None:
    text = "The U.S. tariff cannot rise."
    located = locate_words(text, read_words(text))
    assert [text[start:end] for start, end in located.ranges] == ["", "tariff", "can", "not", "rise"]


def test_texts_without_words_are_aligned_with_nothing() -> None:
    assert (align("", "Pump.").weakest, align("Pump.", "").mean, align("Pump.", "").blocks) == (0.0, 0.0, ())


def test_a_unit_is_not_stood_for_by_one_that_is_near() -> None:
    assert align("It takes 7 days.", "It takes 7 weeks.", days="weeks").weakest == 0.0
    assert align("It takes days.", "It takes weeks.", days="weeks").weakest == 0.9

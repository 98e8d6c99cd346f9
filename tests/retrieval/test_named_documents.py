import pytest

from rag_core.core.model import Hit
from rag_core.core.rankings import NAMED_SIGNAL
from rag_core.retrieval.cross_encoding import blend_with_search_scores, compute_standings
from rag_core.retrieval.named_documents import MAX_BONUS, lift_named_documents
from tests.fakes import chunk

QUESTION = "What treats the disease in which the pump of the brain fails?"
BRIDGE = ("bridge", "Pumps", "The pump of the brain fails in Quell's disease.")


def find(*passages: tuple[str, str, str], step: float = 0.05) -> list[Hit]:
    """Return hits of one document each, given as id, title and text, whose search scores fall by `step`."""
    return [
        Hit(chunk(id, text, document=id, title=title), 1.0, {"words": 1 - step * number})
        for number, (id, title, text) in enumerate(passages)
    ]


def fill(count: int) -> list[tuple[str, str, str]]:
    return [(f"filler{number}", f"Filler {number}", "The brain fails.") for number in range(count)]


def order(hits: list[Hit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


@pytest.mark.parametrize("title", ["Quell's Disease", "Diseases - Quell's Disease", "The Quell's disease (illness)"])
def test_a_document_that_the_best_passage_names_moves_up(title: str) -> None:
    hits = find(BRIDGE, *fill(12), ("named", title, "Levodone treats it."), *fill(3))
    lifted = lift_named_documents(QUESTION, hits)
    assert 0 < order(lifted).index("named") < order(hits).index("named")
    assert sorted(order(lifted)) == sorted(order(hits))
    assert [id for id in order(lifted) if id != "named"] == [id for id in order(hits) if id != "named"]


def test_no_document_is_lifted_by_the_question_by_itself_or_by_part_of_a_word() -> None:
    own = ("own", "Pumps", "A pump.")
    asked = ("asked", "Brain", "Grey and white.")
    part = ("part", "Ease", "Rest.")
    hits = find(BRIDGE, *fill(12), own, asked, part)
    assert lift_named_documents(QUESTION, hits) == hits


def test_a_name_that_all_passages_have_lifts_nothing() -> None:
    named = ("named", "Quell's disease", "Of Quell's disease.")
    others = [(id, title, f"{text} Quell's disease.") for id, title, text in fill(8)]
    hits = find(BRIDGE, *others, named)
    assert lift_named_documents(QUESTION, hits) == hits


def test_a_document_that_is_named_far_down_is_not_lifted() -> None:
    hits = find(*fill(2), BRIDGE, *fill(9), ("named", "Quell's disease", "Levodone treats it."))
    assert lift_named_documents(QUESTION, hits) == hits
    assert lift_named_documents(QUESTION, []) == []


def test_the_judge_hears_of_the_bonus() -> None:
    """Where the cross-encoder cannot tell two passages apart, the one that is named stays before the other."""
    first, *others = fill(9)
    hits = find(BRIDGE, first, ("named", "Quell's disease", "Levodone treats it."), *others)
    hits = lift_named_documents(QUESTION, hits)
    assert hits[1].signals[NAMED_SIGNAL] == pytest.approx(MAX_BONUS)
    judged = blend_with_search_scores(QUESTION, hits[1:3], [0.5, 0.5], compute_standings(hits), prior=2)
    assert order(judged) == ["named", "filler0"]


def test_a_name_that_several_documents_have_lifts_each_the_less() -> None:
    def bonus(*ids: str) -> float:
        named = [(id, "Quell's disease", f"Levodone {id}.") for id in ids]
        hits = lift_named_documents(QUESTION, find(BRIDGE, *fill(9), *named))
        return max(hit.signals.get(NAMED_SIGNAL, 0.0) for hit in hits)

    assert bonus("a") == pytest.approx(MAX_BONUS)
    assert bonus("a") > bonus("a", "b") > bonus("a", "b", "c") > 0


def test_no_document_passes_the_passage_that_names_it() -> None:
    """The first of the two documents is the one that the question is about."""
    named = ("named", "Quell's disease", "Levodone treats it.")
    hits = find(BRIDGE, named, *fill(9), step=0.001)
    assert order(lift_named_documents(QUESTION, hits))[:2] == ["bridge", "named"]
    hits = find(named, BRIDGE, *fill(9))
    assert lift_named_documents(QUESTION, hits) == hits

"""The evaluation of conversations: its set, and its table."""

from collections import Counter

from evals.conversations import SEARCHES, WAYS, ConversationOutcome, format_report, load_conversations
from evals.written_questions import SETS, QuestionOutcome, load_written_questions
from rag_core.core.model import Answer, Confidence


def answer(text: str) -> Answer:
    status = "answered" if text else "unknown"
    return Answer(text, status, "extractive", (), Confidence(0.5, {}, ""), ())  # type: ignore[arg-type]


def test_the_set_is_whole_and_a_question_is_asked_in_three_ways() -> None:
    conversations = load_conversations()
    assert Counter(one.kind for one in conversations) == {"dependent": 55, "stands_alone": 12, "partly": 8}
    assert all(bool(one.relevant) == bool(one.question.answers) for one in conversations)
    asked = [conversations[0].ask(way) for way in WAYS]
    assert [text for text, _ in asked] == [conversations[0].question.text] * 2 + [conversations[0].standalone]
    assert [len(history) for _, history in asked] == [0, len(conversations[0].turns), 0]


def test_the_halves_of_the_second_set_are_the_whole_of_it() -> None:
    halves = [load_conversations("reader", half) for half in ("tuning", "kept")]
    assert [len(half) for half in halves] == [20, 20]
    assert sorted(one.question.id for half in halves for one in half) == [
        one.question.id for one in load_conversations("reader")
    ]
    assert sum(bool(one.relevant) for half in halves for one in half) == 30
    questions = [load_written_questions(SETS["reader"], half) for half in ("tuning", "kept")]
    assert [len(half) for half in questions] == [30, 30]
    assert sum(bool(one.answers) for half in questions for one in half) == 45


def test_the_table_has_a_row_for_each_way_of_asking() -> None:
    """An answerable question that is answered right and found first, and one that is refused and not found."""
    first, second = [one for one in load_conversations() if one.kind == "dependent" and one.relevant][:2]
    found = dict.fromkeys(SEARCHES, first.relevant), {search: ["another"] for search in SEARCHES}
    answers = answer(first.question.answers[0]), answer("")
    outcomes = [
        ConversationOutcome(one, way, found[n], QuestionOutcome(one.question, answers[n]))
        for n, one in enumerate((first, second))
        for way in WAYS
    ]
    clear = next(one for one in load_conversations() if one.kind != "dependent" and one.relevant)
    outcomes += [ConversationOutcome(clear, way, found[1], QuestionOutcome(clear.question, answers[1])) for way in WAYS]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in format_report(outcomes).splitlines()[2:]]
    assert [row[:2] for row in rows[:3]] == [["in need of the turns", way] for way in WAYS]
    assert rows[0][2:] == ["2", "0.500, 0.500", "0.500, 0.500", "1", "0", "1", "0", "0"]

from rag_core.core.model import Chunk, Hit
from rag_core.ingestion.tables import block_from_cells
from rag_core.retrieval.similar_passages import group_similar_hits
from tests.fakes import chunk

LOG = ("time", "machine", "code", "message", "operator")
EVENTS = [
    ("2026-01-05 09:13", "Press 4", "E023", "Hydraulic pressure below limit", "Dietz"),
    ("2026-01-06T07:39:12Z", "Mill 5", "E023", "Hydraulic pressure below limit", "Celik"),
    ("2026-01-07 01:24", "Press 4", "E023", "Hydraulic pressure below limit", "Celik"),
    ("2026-01-07 05:45", "Mill 5", "E023", "Hydraulic pressure below limit", "Dietz"),
    ("2026-01-08 11:02", "Mill 5", "E041", "Hydraulic pressure below limit", "Dietz"),
]


def row(id: str, names: tuple[str, ...], cells: tuple[str, ...], document: str = "log") -> Chunk:
    block = block_from_cells(names, cells, 2, 2)
    return chunk(id, block.text, document=document, metadata=block.fields)


def group(question: str, *chunks: Chunk) -> dict[str, int]:
    """The hits that are left, in order, each with how many others are like it."""
    hits = [Hit(one, 1.0) for one in chunks]
    return {hit.chunk.id: hit.similar_count for hit in group_similar_hits(question, hits)}


def rows(names: tuple[str, ...], *cells: tuple[str, ...]) -> list[Chunk]:
    return [row(f"r{number}", names, of) for number, of in enumerate(cells)]


def test_the_rows_of_a_log_that_repeat_an_event_are_shown_once_and_counted() -> None:
    assert group("What does E023 mean?", *rows(LOG, *EVENTS[:4])) == {"r0": 3}


def test_rows_with_other_codes_are_not_alike_however_equal_their_words_are() -> None:
    assert group("hydraulic pressure", *rows(LOG, *EVENTS)) == {"r0": 3, "r4": 0}


def test_codes_that_the_question_does_not_ask_for_make_no_difference() -> None:
    """A log may number its events."""
    numbered = [(f"EV10{number}", *event) for number, event in enumerate(EVENTS[:4])]
    assert group("What does E023 mean?", *rows(("event", *LOG), *numbered)) == {"r0": 3}


def test_a_row_that_has_what_the_question_asks_for_is_not_hidden_behind_one_that_has_not() -> None:
    assert group("E023 on Mill 5", *rows(LOG, *EVENTS[:4])) == {"r0": 1, "r1": 1}


def test_rows_with_words_of_their_own_are_no_group() -> None:
    """Everybody on a list is an answer to who is on it."""
    people = [("Anna Ott", "Sales", "Berlin"), ("Bo Lind", "Sales", "Berlin"), ("Cem Acar", "Sales", "Berlin")]
    found = group("Who works in sales in Berlin?", *rows(("name", "department", "city"), *people))
    assert found == {"r0": 0, "r1": 0, "r2": 0}


def test_rows_of_another_document_are_another_source() -> None:
    others = [row(f"o{number}", LOG, event, "other log") for number, event in enumerate(EVENTS[:4])]
    assert group("E023", *rows(LOG, *EVENTS[:4]), *others) == {"r0": 3, "o0": 3}


def test_texts_are_alike_when_only_dates_and_times_differ() -> None:
    text = "Checked on 2026-01-05 at 9:13: oil fine."
    same, other = chunk("b", "Checked on 2026-01-09 at 14:02: oil fine."), chunk("c", f"{text} Filter changed.")
    assert group("oil", chunk("a", text), same, other) == {"a": 1, "c": 0}
    assert group("oil", chunk("a", text), chunk("b", text, document="other")) == {"a": 0, "b": 0}

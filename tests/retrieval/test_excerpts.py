"""The part of a passage that speaks to the question."""

from rag_core.retrieval.excerpts import cut_passage, excerpt_hits, find_excerpts, rank_evidence_by_relevance
from tests.fakes import OverlapReranker, hit

TEXT = "Brakes squeal. " * 20 + "The gearbox overheats at 140 degrees. A lamp is lit. " + "Tyres wear. " * 40
QUESTION = "When does the gearbox overheat?"


def cut(question: str, content: str, chars: int) -> str:
    return "".join(part.text for part in find_excerpts(question, content, max_chars=chars))


def test_whole_sentences_around_the_answer_within_the_limit() -> None:
    """S4-17, S4-21: at most 400 characters, the sentence that matters among them."""
    found = cut(QUESTION, TEXT, 400)
    assert "The gearbox overheats at 140 degrees." in found
    assert len(found) <= 400
    assert found.startswith("The gearbox")
    assert found.endswith(".")


def test_what_follows_the_answer_comes_before_what_led_up_to_it() -> None:
    """S4-21: of two sentences with as much of the question the one after, which goes on."""
    assert (
        cut(QUESTION, "Tyres wear. The gearbox overheats. Then it stops.", 40)
        == "The gearbox overheats. Then it stops."
    )


def test_what_is_announced_is_not_cut_off() -> None:
    """S4-21: a sentence with a colon at its end says nothing by itself."""
    content = "The gearbox was new. The gearbox overheats at:\n\n 140 degrees.\n\n The lamp is lit."
    assert cut(QUESTION, content, 50) == "The gearbox overheats at:\n\n 140 degrees."


def test_an_excerpt_has_what_a_sentence_refers_to() -> None:
    """S4-17, S4-21: "It is …" is read with the sentence before, and neither with the paragraph before these."""
    content = (
        "Brakes of the gearbox cool at 90 degrees, and lamps of the gearbox at 80.\n\n"
        "The gearbox overheats at 140 degrees. It is stopped by hand when a lamp is lit. Tyres wear in the meantime."
    )
    question = "At how many degrees does the gearbox overheat, and who stops it?"
    both = "The gearbox overheats at 140 degrees. It is stopped by hand when a lamp is lit."
    assert cut(question, content, len(both) + 1) == both
    assert cut(question, content, 160) == content.split("\n\n")[1]


def test_a_sentence_that_refers_back_stays_in_its_paragraph_and_within_the_limit() -> None:
    """S4-21."""
    content = "The gearbox overheats.\n\nIt is stopped by hand."
    assert cut("gearbox", content, 30) == "The gearbox overheats."
    content = f"A lamp is lit{' and lit' * 10}. It is stopped when the gearbox overheats."
    assert cut("gearbox overheats", content, 60) == "It is stopped when the gearbox overheats."


def test_of_sentences_with_as_many_terms_the_one_with_the_rarer_is_taken() -> None:
    """S4-17: what stands everywhere in a passage does not say where in it to look."""
    content = "A gearbox is new. A gearbox is old. A gearbox turns. It overheats at 140 degrees."
    assert cut("gearbox overheats", content, 30) == "It overheats at 140 degrees."


def test_a_sentence_longer_than_the_limit_is_cut_after_a_word() -> None:
    """S4-21."""
    found = cut(QUESTION, "The gearbox " + "and the gearbox " * 60, 100)
    assert len(found) <= 100
    assert found.endswith(("and", "the", "gearbox"))


def test_one_word_longer_than_the_limit_is_cut_all_the_same() -> None:
    """S4-21."""
    assert len(cut("gearbox", "gearbox" * 100, 100)) == 100


def test_an_excerpt_never_runs_through_a_table() -> None:
    """S4-45."""
    found = cut(QUESTION, "The gearbox is new.\n| gearbox | overheats |\nThe gearbox overheats at 140 degrees.", 400)
    assert found == "The gearbox overheats at 140 degrees."


TABLE = """The gearbox is new.

| Part | Limit | Action |
| --- | --- | --- |
| Axle | 90 degrees | wait |
| Gearbox | 140 degrees | stop at once |
| Brake | 300 degrees | go on |"""


def test_an_excerpt_of_a_table_is_rows_said_with_their_heads() -> None:
    """S4-17, S4-45: the rows that fit; their characters begin with the heads, which a reader needs."""
    content, question = TABLE, "What is the limit of the gearbox in degrees?"
    row = "Part: Gearbox; Limit: 140 degrees; Action: stop at once"
    [part] = find_excerpts(question, content, max_chars=len(row))
    assert part.text == row
    assert content[part.start : part.end].startswith("| Part | Limit |")
    assert content[part.start : part.end].endswith("| Gearbox | 140 degrees | stop at once |")
    assert cut(question, content, 110).splitlines() == [row, "Part: Brake; Limit: 300 degrees; Action: go on"]
    assert len(cut(question, content, 0).splitlines()) == 3
    assert cut(question, content, 20) == "Part: Gearbox;"


def test_words_of_the_title_do_not_say_where_to_look() -> None:
    """S4-17: each passage of the document is about them."""
    content = "Old gearboxes overheat often. They are heavy.\n\nOil is changed at 90 degrees."
    title, question = "When old gearboxes overheat", "Is oil changed in old gearboxes that overheat?"
    assert find_excerpts(question, content, max_chars=30)[0].text.startswith("Old gearboxes")
    assert find_excerpts(question, content, title=title, max_chars=30)[0].text.startswith("Oil is changed")
    assert find_excerpts("old gearboxes overheat", content, title=title, max_chars=30)[0].text.startswith("Old")


def test_an_abbreviation_counts_as_much_as_its_meaning() -> None:
    """S4-03, S4-17: the longer spelling is no more of an answer."""
    content = "The high blood pressure team meets here. The BP target is 150."
    glossary = {"bp": "high blood pressure"}
    assert [part.text for part in find_excerpts("target of high blood pressure", content, max_chars=42)] == [
        "The high blood pressure team meets here. "[:-1]
    ]
    [part] = find_excerpts("target of high blood pressure", content, max_chars=42, glossary=glossary)
    assert part.text == "The BP target is 150."


async def test_of_several_excerpts_of_a_passage_the_cross_encoder_chooses() -> None:
    """S4-17: one for each chunk, whatever shares most words; a row of a table is also read alone."""
    question = "What is the limit of the gearbox in degrees?"
    parts = excerpt_hits(question, [hit("a", content=TABLE), hit("b", content=TEXT)], max_chars=400, alternatives=3)
    texts = [part.said for part in parts if part.said and part.hit.chunk.id == "a"]
    assert texts[1:] == ["Part: Gearbox; Limit: 140 degrees; Action: stop at once", "The gearbox is new."]
    ranked = await rank_evidence_by_relevance(question, parts, OverlapReranker())
    assert sorted(part.hit.chunk.id for part in ranked) == ["a", "b"]
    assert [part.id for part in ranked] == ["e1", "e2"]


async def test_what_two_overlapping_passages_have_is_given_once() -> None:
    """S4-15, S4-17: the second gives what else it has; one that has nothing else comes last."""
    shared, rest = "The gearbox overheats at 140 degrees.", "A gearbox that overheats is replaced."
    hits = [hit("a", content=shared), hit("b", content=shared), hit("c", content=f"{shared}\n\n# Care\n\n{rest}")]
    parts = excerpt_hits(QUESTION, hits, max_chars=45, alternatives=3)
    ranked = await rank_evidence_by_relevance(QUESTION, parts, OverlapReranker())
    assert [(part.hit.chunk.id, part.text.split("\n")[-1]) for part in ranked] == [
        ("a", shared),
        ("c", rest),
        ("b", shared),
    ]


def test_no_limit_is_all_of_the_run() -> None:
    assert cut(QUESTION, TEXT.strip(), 0) == TEXT.strip()


def test_a_passage_that_is_a_table_gives_none() -> None:
    """S4-45."""
    assert excerpt_hits(
        QUESTION, [hit("table", content="| gearbox | 140 |"), hit("text", content=TEXT)], max_chars=400
    )[0].hit.chunk.id == ("text")


async def test_the_ranker_reads_the_excerpt_and_not_the_passage() -> None:
    """S4-17: sentence-level extraction, one batch."""
    ranker = OverlapReranker()
    parts = excerpt_hits(QUESTION, [hit("far", content="Brakes squeal."), hit("near", content=TEXT)], max_chars=60)
    ranked = await rank_evidence_by_relevance(QUESTION, parts, ranker)
    assert [(p.id, p.hit.chunk.id) for p in ranked] == [("e1", "near"), ("e2", "far")]
    assert ranked[0].hit.signals["relevance"] > ranked[1].hit.signals["relevance"]
    (read,) = ranker.calls
    assert all(len(text) < 80 for text in read)


def test_a_passage_is_cut_to_what_the_question_is_about() -> None:
    part = cut_passage(QUESTION, TEXT, max_chars=120)
    assert "The gearbox overheats at 140 degrees." in part
    assert len(part) <= 120
    assert cut_passage(QUESTION, "Short.", max_chars=120) == "Short."


def test_a_table_is_cut_to_the_row_that_is_asked_for() -> None:
    """Grades are given to tables as well, unlike excerpts for an answer."""
    table = "\n".join(f"| fault E{n:03} | valve {n} |" for n in range(200))
    part = cut_passage("What is fault E123?", table, max_chars=100)
    assert "E123" in part
    assert len(part) <= 100


def test_a_passage_of_signs_is_cut_at_its_beginning() -> None:
    assert cut_passage(QUESTION, "=" * 5000, max_chars=100) == "=" * 100

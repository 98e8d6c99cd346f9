"""Linking a question to a schema, end to end over an index in memory, and its parts by hand."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.core.errors import InvalidRequest, NotFound, Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.core.ports import PassageScores
from rag_core.core.run import Run
from rag_core.schema.answerable import Background, estimate_answerable
from rag_core.schema.ddl import write_ddl
from rag_core.schema.ingest import DatabaseSource, index_database
from rag_core.schema.joins import JoinGraph, infer_keys, list_key_ends, propose_keys
from rag_core.schema.link_question import link_question
from rag_core.schema.linking import LinkBudget
from rag_core.schema.model import Column, Database, ForeignKey, LinkedColumn, SchemaLinks, Table, ValueMatch
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.value_matching import match_values
from rag_core.schema_reply import SchemaReply
from rag_core.text.identifiers import list_roots
from rag_core.text.tokens import count_tokens
from tests.schema.heroes import build_schema_kit, write_heroes

SCOPE = Scope("heroes")
QUESTION = "What is the average height of villains with blue eyes?"


@pytest.fixture
async def heroes(tmp_path: Path) -> Kit:
    """A kit whose index holds the schema of the heroes."""
    write_heroes(tmp_path / "heroes.sqlite")
    parts = build_schema_kit()
    await index_database(DatabaseSource(f"sqlite:///{tmp_path}/heroes.sqlite"), SCOPE, parts, Run())
    return parts


async def link(text: str, kit: Kit, **budget: int) -> SchemaLinks:
    return (await link_question(text, None, SCOPE, kit, Run(), budget=LinkBudget(**budget))).links


async def test_a_question_is_linked_to_its_columns_joins_and_values(heroes: Kit) -> None:
    links = await link(QUESTION, heroes, columns=10)
    columns = {f"{one.table}.{one.column.name}" for one in links.columns}
    assert columns >= {"superhero.height_cm", "superhero.eye_colour_id", "colour.id", "colour.colour"}
    assert [match.condition for match in links.values] == ["colour.colour = 'Blue'"]
    assert ForeignKey("superhero", "eye_colour_id", "colour", "id") in links.joins
    assert "the question has its value colour.colour = 'Blue'" in next(
        one.reasons for one in links.tables if one.name == "colour"
    )
    assert "CREATE TABLE superhero (" in links.ddl
    assert "FOREIGN KEY (eye_colour_id) REFERENCES colour (id)" in links.ddl
    assert "invoice" not in links.ddl


async def test_what_past_sql_read_for_a_word_of_the_question_is_linked_and_said(tmp_path: Path) -> None:
    """ "Rookies" stands in no name, value or description: only the log knows what was read for it."""
    write_heroes(tmp_path / "heroes.sqlite")
    questions = tmp_path / "questions.jsonl"
    sql = "SELECT COUNT(*) FROM superhero WHERE weight_kg < 70"
    asked = [("How many rookies are there?", sql), ("Which city has most bills?", "SELECT customer_city FROM invoice")]
    questions.write_text("\n".join(json.dumps({"question": text, "sql": sql}) for text, sql in asked))
    kit, scores = build_schema_kit(), []
    for file in (None, questions):
        await index_database(DatabaseSource(f"sqlite:///{tmp_path}/heroes.sqlite", questions=file), SCOPE, kit, Run())
        links = await link("Name the rookies", kit)
        scores.append(next(one.score for one in links.columns if one.column.name == "weight_kg"))
    assert scores[1] > 1.5 * scores[0]
    hero = next(one for one in links.tables if one.name == "superhero")
    assert "questions asked before with its words read it" in hero.reasons
    elsewhere = await link("Which invoices are open?", kit)
    assert not any("asked before" in reason for one in elsewhere.tables for reason in one.reasons)


async def test_the_ddl_stays_within_its_tokens_and_says_what_was_dropped(heroes: Kit) -> None:
    links = await link(QUESTION, heroes, tokens=120)
    assert 0 < links.ddl_tokens == count_tokens(links.ddl) <= 120
    assert links.dropped
    assert all(name.partition(".")[2] for name in links.dropped)


async def test_small_tables_leave_room_for_further_ones(heroes: Kit) -> None:
    """Four tables, and more while those have not as many columns as were asked."""
    assert len((await link(QUESTION, heroes, columns=6)).tables) < len((await link(QUESTION, heroes)).tables)


def test_an_unlikely_column_shows_neither_its_values_nor_a_long_description() -> None:
    text = "It says where the bearer was born, for those who want to know it before all else"
    columns = (Column("city", "TEXT", text, ("Lima",)), Column("street", "TEXT", "street", ("Elm",)))
    database = Database("d", (Table("person", columns),))
    linked = tuple(LinkedColumn("person", one, score) for one, score in zip(columns, (0.1, 0.9), strict=True))
    ddl = write_ddl(SchemaLinks("d", (), linked, (), ()), database, 1000).ddl
    assert "Lima" not in ddl
    assert "It says where the bearer was born" in ddl
    assert "before all else" not in ddl
    assert "street TEXT -- e.g. 'Elm'" in ddl  # whose description says no more than its name


def test_few_values_are_all_named_and_a_name_is_explained_as_documents_explain_it() -> None:
    """A writer of SQL needs the codes of a column that it compares, however likely that column is."""
    columns = (
        Column("stat", "TEXT", "", ("O", "P", "it's"), distinct=3),
        Column("kind", "TEXT", "", ("a", "b"), distinct=9),
        Column("note", "TEXT", "", ("x" * 60, "y"), distinct=2),
        Column("lck", "INTEGER", meaning="1 when a customer may not order"),
    )
    linked = tuple(LinkedColumn("bill", one, 0.1) for one in columns)
    ddl = write_ddl(SchemaLinks("d", (), linked, (), ()), Database("d", (Table("bill", columns),)), 1000).ddl
    assert ddl.splitlines()[1:-1] == [
        "  stat TEXT, -- one of 'O', 'P', 'it''s'",
        "  kind TEXT,",
        "  note TEXT,",
        "  lck INTEGER -- 1 when a customer may not order",
    ]


async def test_without_an_embedder_columns_are_told_by_words_and_the_run_says_so(
    heroes: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_core.core.errors import Unavailable

    async def refuse(self: object, text: str) -> list[float]:
        raise Unavailable("no model")

    monkeypatch.setattr(type(heroes.index.embedder), "embed_query", refuse)
    run = Run()
    links = (await link_question(QUESTION, "heroes", SCOPE, heroes, run, budget=LinkBudget())).links
    assert {"height_cm", "colour"} <= {one.column.name for one in links.columns}
    assert "columns were found by their words alone" in {one.fallback for one in run.degraded}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("What is the average height of villains with blue eyes?", ["villains"]),
        ("Who painted the ceiling of the Sistine Chapel?", ["painted", "ceiling", "Sistine", "Chapel"]),
        ("How tall are the heroes on average?", []),
    ],
)
async def test_words_that_nothing_accounts_for_are_named(heroes: Kit, text: str, unknown: list[str]) -> None:
    """Not those of values, or that ask for a computation, or for a column by another word."""
    assert list((await link(text, heroes)).unknown_words) == unknown


async def test_a_question_about_something_else_is_said_not_to_be_in_the_schema(heroes: Kit) -> None:
    async def ask(text: str) -> SchemaReply:
        run = Run()
        return SchemaReply(await link_question(text, None, SCOPE, heroes, run, budget=LinkBudget()), run, "heroes")

    elsewhere, here = await ask("Who painted the ceiling?"), await ask("Which eye colour has each superhero?")
    assert (elsewhere.links.not_in_schema, here.links.not_in_schema) == (True, False)
    assert (elsewhere.links.answerable or 0) < 0.07 < (here.links.answerable or 0)


def test_the_chance_is_counted_from_everyday_questions() -> None:
    background = Background.from_cosines([0.4, 0.6])
    assert (background.mean, background.spread) == pytest.approx((0.5, 0.1))
    assert background.measure_nearness(0.7) == pytest.approx(2)
    assert estimate_answerable(0) == pytest.approx(0.0911, abs=1e-3)
    assert estimate_answerable(2.3 / 1.08) == pytest.approx(0.5)


class _Reader:
    """A small model that gives every passage one chance, and fails where there is none."""

    def __init__(self, chance: float | None) -> None:
        self.chance = chance
        self.passages: list[str] = []

    async def score_claim(self, claim: str, passages: Sequence[str]) -> Sequence[PassageScores]:
        raise AssertionError("a schema is no claim")

    async def score_answers(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        if self.chance is None:
            raise Unavailable("the model failed")
        self.passages += passages
        return [self.chance] * len(passages)


async def test_a_model_that_reads_the_columns_tells_what_nearness_does_not(heroes: Kit) -> None:
    reader = _Reader(0.9)
    there = await link(QUESTION, replace(heroes, entailment_scorer=reader))
    absent = await link(QUESTION, replace(heroes, entailment_scorer=_Reader(0.0)))
    assert "The table superhero has" in reader.passages[0]
    assert "Blue is a colour." in reader.passages[0]
    assert (absent.answerable or 1) < (there.answerable or 0)


async def test_without_what_the_model_reads_nearness_decides_and_the_run_says_so(heroes: Kit) -> None:
    run, kit = Run(), replace(heroes, entailment_scorer=_Reader(None))
    links = (await link_question(QUESTION, None, SCOPE, kit, run, budget=LinkBudget())).links
    assert links.answerable == estimate_answerable(links.nearness or 0)
    assert "whether the schema answers the question was told by similarity alone" in str(run.degraded)


async def test_another_workflow_or_user_sees_no_schema(heroes: Kit) -> None:
    with pytest.raises(NotFound, match="no such database"):
        await link_question(QUESTION, None, Scope("other"), heroes, Run(), budget=LinkBudget())


async def test_of_several_databases_one_must_be_named(heroes: Kit, tmp_path: Path) -> None:
    source = DatabaseSource(f"sqlite:///{tmp_path}/heroes.sqlite", name="heroes2")
    await index_database(source, SCOPE, heroes, Run())
    with pytest.raises(InvalidRequest, match="heroes, heroes2"):
        await link(QUESTION, heroes)


def test_a_value_is_matched_whole_in_any_case_and_number() -> None:
    key = ("city", "name")
    values = [(key, one) for one in ("New York", "York", "Turin", "a", "12", "2024")]
    found = match_values(QuestionReading("Were there turins in NEW YORK or a 12 in 2024?"), values)
    assert [(one.match.value, one.strength) for one in found] == [("New York", 1.5), ("Turin", 1), ("2024", 0.4)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("How many members are there?", []),  # a word of the schema, and a stop word that is like "Ares"
        ("Is a Member there?", ["Member"]),
        ("Who edited posts in Germany?", []),  # other words than "Editor" and "German"
        ("Which boxes hold parties?", ["Box", "Party"]),
        ("Is it New York City?", ["New York City"]),
        ("Is York in New York City?", ["New York City", "York"]),
    ],
)
def test_a_word_of_the_schema_another_form_and_a_part_of_a_longer_value_are_no_values(
    text: str, found: list[str]
) -> None:
    known = ("Member", "Ares", "Editor", "German", "Box", "Party", "New York City", "New York", "York")
    values = [(("t", str(place)), value) for place, value in enumerate(known)]
    matched = match_values(QuestionReading(text), values, names=list_roots("members"))
    assert [one.match.value for one in matched] == found


def test_the_words_beside_a_name_say_of_what_it_is_the_name() -> None:
    def find(text: str) -> set[str]:
        return set(QuestionReading(text).find_words_beside_names(frozenset(("event",))))

    assert find("Who came to the event called 'Open Day'?") == {"event"}
    assert find("Who came to the Open Day event?") == {"to", "event"}
    assert find("What is Anna's event?") == {"is"}  # what a name owns is not of its kind
    assert find("Which Event was it?") == set()


async def test_the_columns_that_name_the_rows_of_the_first_tables_are_given(heroes: Kit) -> None:
    """Nothing in the question speaks for `full_name`, `superhero_name` or `publisher_name`."""
    links = (
        await link_question("How heavy is each?", None, SCOPE, heroes, Run(), budget=LinkBudget(columns=9, tables=4))
    ).links
    given = {(one.table, one.column.name) for one in links.columns}
    named = {table.name for table in links.tables[:4]} & {"publisher", "superhero", "superpower"}
    assert named == {table for table, name in given if name in ("full_name", "superhero_name") or "_name" in name}


async def test_a_join_that_is_given_has_both_its_columns(heroes: Kit) -> None:
    links = (await link_question(QUESTION, None, SCOPE, heroes, Run(), budget=LinkBudget(columns=8, tables=4))).links
    given = {(one.table, one.column.name) for one in links.columns}
    assert links.joins
    assert {end for key in links.joins for end in list_key_ends(key)} <= given
    assert len(given) == 8


def test_a_value_is_quoted_in_its_condition() -> None:
    match = ValueMatch('ta"ble', "order", "O'Brien", "o brien")
    assert match.condition == '"ta""ble"."order" = \'O\'\'Brien\''


def test_names_quotations_and_phrases_are_read_off_a_question() -> None:
    question = QuestionReading('Which heroes did Harbour Comics call "the Fox"? List eye colours.')
    assert question.find_names(frozenset({"hero"}), frozenset()) == ["Harbour", "Comics", "Fox"]
    assert question.find_quotations(frozenset()) == ["the Fox"]
    assert "Harbour Comics call" in question.phrases


def test_a_path_leads_over_the_table_that_the_question_is_about() -> None:
    def table(name: str) -> Table:
        return Table(name, (Column("id"),), ("id",))

    keys = (
        ForeignKey("result", "driver", "driver", "id"),
        ForeignKey("result", "race", "race", "id"),
        ForeignKey("lap", "driver", "driver", "id"),
        ForeignKey("lap", "race", "race", "id"),
    )
    database = Database("f", (table("driver"), table("race"), table("result"), table("lap")), keys)
    graph = JoinGraph.from_database(database)
    path = graph.connect(["driver", "race"], table_scores={"lap": 0.9}, column_scores={})
    assert {key.table for key in path} == {"lap"}
    assert graph.connect(["driver", "race"], table_scores={"result": 0.9}, column_scores={}) == list(keys[:2])


def test_every_two_tables_have_their_likeliest_key_though_the_path_needs_it_not() -> None:
    """The path reaches results by the race; SQL of "in which race did X come first" joins them to drivers as well."""
    to_race, to_driver, to_second = (
        ForeignKey("result", column, referenced, "id")
        for column, referenced in (("race", "race"), ("driver", "driver"), ("second_driver", "driver"))
    )
    lap = (ForeignKey("lap", "driver", "driver", "id"), ForeignKey("lap", "race", "race", "id"))
    tables = tuple(Table(name, (Column("id"),), ("id",)) for name in ("race", "lap", "driver", "result"))
    graph = JoinGraph.from_database(Database("f", tables, (to_race, to_second, to_driver, *lap)))
    given = ["race", "lap", "driver", "result"]
    scores = {("result", "race"): 0.9, ("result", "driver"): 0.5}
    path = graph.connect(given, table_scores={}, column_scores=scores)
    assert to_race in path
    assert to_driver not in path
    closed = graph.close(given, path, column_scores=scores)
    assert closed[: len(path)] == path
    assert set(closed) == {to_race, to_driver, *lap}
    assert graph.close(given[:3], path[:2], column_scores={}) == path[:2]  # of other tables than these there is none


def test_a_key_is_proposed_by_names_and_types_that_agree() -> None:
    publisher = Table("publisher", (Column("id", "INTEGER"),), ("id",))
    hero = Table(
        "hero", (Column("id", "INTEGER"), Column("publisher_id", "INTEGER"), Column("publisher", "TEXT")), ("id",)
    )
    assert list(propose_keys(Database("h", (publisher, hero)))) == [
        ForeignKey("hero", "publisher_id", "publisher", "id", 0.0)
    ]


@pytest.mark.parametrize(
    ("column", "description", "key", "refers"),
    [
        ("evt_ref", "", "event_id", False),
        ("link_to_event", "", "event_id", True),
        ("eventId", "", "event_id", True),
        ("ev", "foreign key to the events table", "event_id", True),
        ("ev", "number of the events", "event_id", False),
        ("uid", "", "uid", True),
        ("no", "", "no", False),
        ("event", "", "event_id", False),
        ("EventRef", "", "event_id", True),
        ("event_serial", "", "SerialNo", True),
        ("main_evt_id", "", "evt_id", True),
        ("main_evt", "", "evt_id", False),
    ],
)
def test_a_key_is_proposed_by_what_its_column_is_called_or_said_to_be_without_any_declared_key(
    column: str, description: str, key: str, refers: bool
) -> None:
    events = Table("events", (Column(key, "int"), Column("title", "text")))
    visit = Table("visit", (Column("visit_id", "int"), Column(column, "int", description)))
    inferred = infer_keys(Database("d", (events, visit)))
    assert inferred.foreign_keys == ((ForeignKey("visit", column, "events", key, 0.0),) if refers else ())
    assert infer_keys(inferred) is inferred or not refers


def test_no_column_refers_to_a_view_and_a_mark_of_a_table_is_no_part_of_its_name() -> None:
    view = Table("v_open_event", (Column("event_id", "int"),), is_view=True)
    event = Table("tbl_event", (Column("id", "int"), Column("title", "text")), ("id",))
    visit = Table("tbl_visit", (Column("id", "int"), Column("event_id", "int")), ("id",))
    keys = infer_keys(Database("d", (view, event, visit))).foreign_keys
    assert [(key.table, key.column, key.referenced_table) for key in keys] == [
        ("v_open_event", "event_id", "tbl_event"),
        ("tbl_visit", "event_id", "tbl_event"),
    ]


def test_a_column_refers_to_the_table_that_it_is_named_for_rather_than_to_another_with_its_name() -> None:
    laps = Table("laps", (Column("driver_id", "int"), Column("lap", "int")))
    drivers = Table("drivers", (Column("driver_id", "int"), Column("name", "text")))
    results = Table("results", (Column("result_id", "int"), Column("driver_id", "int")))
    keys = infer_keys(Database("d", (laps, results, drivers))).foreign_keys
    assert {(key.table, key.referenced_table) for key in keys} == {("laps", "drivers"), ("results", "drivers")}

"""Candidate programs over a table: what they give, and that the written rows can be computed."""

import gzip
import json
from pathlib import Path

from evals.table_programs import (
    NONE,
    Condition,
    Program,
    Table,
    combine_parts,
    execute,
    list_conditions,
    list_skeletons,
    parse_value,
    read_program,
)

ROWS = Path("evals/data/table_programs")
STAYS = Table(
    "Arrivals",
    ("Guest", "Nights", "Board", "From"),
    (("Okafor", "3", "HB", "08:30"), ("Lindqvist", "1", "B&B", "14:00"), ("Dubois", "4", "HB", "09:15")),
)


def test_the_parts_that_a_question_means_are_among_the_candidates() -> None:
    conditions = list_conditions("Who comes after 9 and has HB?", STAYS)
    assert {Condition(2, "=", "HB"), Condition(3, ">", "9:00")} <= set(conditions)
    assert {Program("count"), Program("argmax", of=1, give=0), Program("sum", of=1)} <= set(list_skeletons(STAYS))


def test_programs_are_computed_and_written_in_words() -> None:
    half_board = Program("sum", of=1, where=frozenset([Condition(2, "=", "HB")]))
    assert execute(half_board, STAYS) == "7.0000"
    assert half_board.write(STAYS) == "Total of Nights where Board is HB"
    assert execute(Program("argmin", of=3, give=0), STAYS) == "Okafor"
    assert execute(Program("lookup", give=0, where=frozenset([Condition(1, ">", "9")])), STAYS) is None
    assert combine_parts([Program("lookup", give=0)], [])[0] == NONE


def test_figures_dates_and_times_are_told_apart() -> None:
    assert parse_value("08:30") == ("t", 510)
    assert parse_value("8 January 2025") == parse_value("2025-01-08") == parse_value("08.01.2025")
    assert parse_value("(1,204)") == ("n", -1204)
    assert parse_value("Mon-Sat") is None


def test_every_program_of_the_rows_can_be_computed() -> None:
    questions = 0
    for file in sorted(ROWS.glob("*.jsonl.gz")):
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            row = json.loads(line)
            table = Table(row["title"], tuple(row["heads"]), tuple(map(tuple, row["rows"])))
            for question in row["questions"]:
                questions += 1
                assert execute(read_program(question["program"], table), table) is not None, question
    assert questions == 2400

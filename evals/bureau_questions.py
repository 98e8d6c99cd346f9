"""`python -m evals.bureau_questions`: write the questions on `evals.bureau_tables`, with values computed from its rows.

The values of a question are alternatives divided by "|", its cells name the rows that answer it, where these are at
most eight. Two halves are drawn at random, "tuning" and "kept".
"""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from random import Random
from typing import Any

from evals import bureau_tables as tables

Row = dict[str, Any]
SEED = 17
MOST_CELLS = 8
QUESTIONS: list[dict[str, Any]] = []


def _read(table: Sequence[Sequence[Any]]) -> list[Row]:
    head, *rows = table
    return [dict(zip(head, row, strict=True)) for row in rows]


def _pick(rows: Iterable[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[name.replace("_", " ")] == value for name, value in wanted.items())]


def _parse(text: object) -> float:
    return float(str(text).replace(",", ""))


def _day(text: str) -> date:
    return datetime.strptime(text, "%d %B %Y").date()


def _write(value: object) -> str:
    """Return the ways to write a value, a number with and without commas and as money, a date by name or digits."""
    if isinstance(value, date):
        return f"{value:%Y-%m-%d}|{value.day} {value:%B %Y}"
    if not isinstance(value, int | float):
        return str(value)
    ways = [f"{value:.2f}", f"{value:,.2f}", f"{value:.1f}", f"{value:,.1f}"]
    exact = [way for way in ways if abs(_parse(way) - value) < 1e-9] or ways[:2]
    whole = [f"{round(value)}", f"{round(value):,}"] if abs(value - round(value)) < 1e-9 else []
    return "|".join(dict.fromkeys([*whole, *exact]))


def _percent(share: float) -> str:
    return f"{share:.1%}|{share:.0%}|{share * 100:.0f} %|{share * 100:.0f} percent"


def _ask(kind: str, source: str, text: str, values: Iterable[object] = (), cells: Iterable[object] = ()) -> None:
    named = [_write(cell) for cell in cells]
    QUESTIONS.append(
        {
            "id": f"b{len(QUESTIONS) + 1:02}",
            "operation": kind,
            "text": text,
            "source": source,
            "values": [_write(value) for value in values],
            "cells": named if len(named) <= MOST_CELLS else [],
        }
    )


def _name(rows: Iterable[Row], column: str) -> list[Any]:
    return [row[column] for row in rows]


def _top(rows: Iterable[Row], column: str, choose: Callable[..., Row] = max) -> Row:
    return choose((row for row in rows if row[column] not in ("", None, "-", "free")), key=lambda r: _parse(r[column]))


def ask_absences() -> None:
    source, rows, leave = "absences.xlsx", _read(tables.ABSENCES), _read(tables.LEAVE)
    people = leave[:-1]
    days = "Working days"
    jury = _pick(rows, Reason="Jury service")[0]
    _ask("look-up", source, "Who stood in for Farid while he was on jury duty?", [jury["Covered by"]], ["Jury service"])
    parental = _pick(rows, Reason="Parental leave")[0]
    _ask("look-up", source, "When does Callum's parental leave end?", [parental["Last day"]], ["Parental leave"])
    longest = _top(_pick(rows, Reason="Sick leave"), days)
    _ask("extreme", source, "Whose sick leave lasted longest?", [longest["Employee"]], [longest["Employee"]])
    archive = _pick(rows, Team="Archive")
    text = "How many times was somebody from the archive away?"
    _ask("count", source, text, [len(archive)], _name(archive, "First day"))
    no_note = _pick(rows, Reason="Sick leave", **{"Doctor's note": "no"})
    names = _name(no_note, "Employee")
    _ask("two conditions", source, "Who called in sick without bringing a doctor's note?", names, names)
    after = [r for r in rows if r["First day"] > date(2025, 3, 31) and r["Reason"] == "Annual leave"]
    names = _name(after, "Employee")
    _ask("two conditions", source, "Which colleagues went on annual leave after March?", names, names)
    rosa = _pick(rows, Employee="Rosa Ferreira")
    total = sum(_name(rosa, days))
    _ask(
        "sum", source, "All in all, how many working days was Rosa Ferreira absent?", [total], _name(rosa, "First day")
    )
    most = _top(people, "Holiday entitlement (days)")
    _ask("extreme", source, "Who has the most days of holiday a year?", [most["Employee"]], [most["Employee"]])
    mei = _pick(people, Employee="Mei Lin")[0]
    left = mei["Holiday entitlement (days)"] - mei["Taken (days)"]
    _ask("difference", source, "How many days of holiday has Mei Lin got left?", [left], ["Mei Lin"])
    sick, rested = ({r["Employee"] for r in _pick(rows, Reason=kind)} for kind in ("Sick leave", "Annual leave"))
    both = sorted(sick & rested)
    _ask("two conditions", source, "Who was away both for illness and on annual leave?", both, both)
    ill = [r["Employee"] for r in people if r["Sickness rate"] and r["Sickness rate"] > 0.04]
    _ask("filter", source, "Which emploees have a sickness rate over 4 percent?", ill, ill)
    _ask("refused", source, "How much is Nils Berger paid a month?")
    _ask("refused", source, "How many sick days did Rosa Ferreira have in 2024?")


def ask_orders() -> None:
    source, rows, suppliers = "orders.docx", _read(tables.ORDERS), _read(tables.SUPPLIERS)
    price = "Unit price (€)"
    _ask("look-up", source, "What does one steel shelf cost us?", [_parse(rows[3][price])], ["Steel shelf"])
    _ask("look-up", source, "Who do I ring at Papierhof?", [suppliers[2]["Contact"]], ["Papierhof"])
    dearest = _top(rows, price)["Article"]
    _ask("extreme", source, "What is the dearest article anybody has ordered, per piece?", [dearest], [dearest])
    quick = _top(suppliers, "Delivery time (working days)", min)["Supplier"]
    _ask("extreme", source, "Which supplier gets things to us quickest?", [quick], [quick])
    transit = _name(_pick(rows, Status="in transit"), "Order")
    _ask("filter", source, "Which orders are still on their way?", transit, transit)
    sittwell = _pick(rows, Supplier="Sittwell")
    _ask("count", source, "How often did we order from Sittwell?", [len(sittwell)], _name(sittwell, "Order"))
    chair, lamp = (_parse(_pick(rows, Article=name)[0][price]) for name in ("Visitor chair", "Desk lamp"))
    gap = chair - lamp
    _ask("difference", source, "By how much is a visitor chair dearer than a desk lamp?", [gap], ["129.00", "34.50"])
    early = [r["Order"] for r in rows if r["Requested by"] == "Archive" and _day(r["Placed"]) < date(2025, 4, 1)]
    _ask("two conditions", source, "Which orders did the archive place before April?", early, early)
    ended = [r["Supplier"] for r in suppliers if r["Contract until"] and _day(r["Contract until"]).year == 2025]
    _ask("filter", source, "Whose contract with us runs out this year, 2025?", ended, ended)
    _ask("refused", source, "What will the two dehumidifiers cost apiece?")
    _ask("refused", source, "What is Anke Stolz's phone number?")


def ask_tickets() -> None:
    source, rows = "tickets.csv", _read(tables.read_tickets())
    minutes = "Minutes spent"
    one = _pick(rows, Ticket="IT-4236")[0]
    _ask("look-up", source, "Who is looking after IT-4236?", [one["Assignee"]], [one["Ticket"]])
    printers = _pick(rows, Category="Printer")
    _ask("count", source, "How many tickets were about printers?", [len(printers)], _name(printers, "Ticket"))
    urgent = [r["Ticket"] for r in rows if r["Priority"] == "P1" and r["Status"] != "Closed"]
    _ask("two conditions", source, "Which P1 tickets aren't closed yet?", urgent, urgent)
    nobody = [r["Ticket"] for r in rows if not r["Assignee"]]
    _ask("filter", source, "Which ticket has nobody assigned to it?", nobody, nobody)
    slowest = _top(rows, minutes)
    _ask("extreme", source, "Which ticket ate up the most minutes?", [slowest["Ticket"]], [slowest["Ticket"]])
    phones = [_parse(r[minutes]) for r in _pick(rows, Category="Phone", Department="Legal") if r[minutes]]
    legal = [r for r in rows if r["Category"] == "Phone" and r["Department"] == "Legal"]
    average = sum(phones) / len(phones)
    text = "How many minutes went on a phone ticket from Legal on average?"
    _ask("average", source, text, [average], _name(legal, "Ticket"))
    spring = [r for r in rows if "2025-02-01" <= r["Opened"] <= "2025-03-09" and r["Category"] == "Laptop"]
    text = "How many laptop problems were reported between 1 February and 9 March 2025?"
    _ask("two conditions", source, text, [len(spring)], _name(spring, "Ticket"))
    share = len(_pick(rows, Status="Closed")) / len(rows)
    _ask("share", source, "What share of the tickets is closed?", [_percent(share)])
    _ask("refused", source, "How many tickets did Colette close in December 2024?")


def ask_copies() -> None:
    source, rows = "copy_shop.md", _read(tables.COPIES)
    staff, guest = "Staff price (€)", "Guest price (€)"
    by_code = {row["Code"]: row for row in rows}
    text = "What do I pay as an employee for a hardcover binding?"
    _ask("look-up", source, text, [by_code["B-02"][staff]], ["Hardcover binding"])
    _ask("look-up", source, "What's the code for lamination?", ["L-03"], ["Lamination"])
    gap = _parse(by_code["C-20"][guest]) - _parse(by_code["C-20"][staff])
    text = "How much more do visitors pay than staff for an A4 colour copy?"
    _ask("difference", source, text, [round(gap, 2)], ["0.45", "0.18"])
    free = _name(_pick(rows, **{staff: "free"}), "Service")
    _ask("filter", source, "Is there anyting in the copy shop that costs staff nothing?", free, free)
    cheaper = _top((by_code["P-05"], by_code["P-06"]), guest, min)
    text = "Which poster is cheaper for a guest, the matt or the glossy one?"
    _ask("extreme", source, text, [cheaper["Service"].split()[1]], [cheaper["Service"]])
    _ask("refused", source, "What does a poster in A0 cost?")


def ask_shuttle() -> None:
    source, rows = "shuttle.html", _read(tables.SHUTTLE)
    _ask("look-up", source, "When does the S4 get in?", [rows[3]["Arrives"]], ["S4"])
    saturday = _name([r for r in rows if "Sat" in r["Runs on"]], "Bus")
    _ask("filter", source, "Which shuttles run on Saturdays too?", saturday, saturday)
    home = [r for r in _pick(rows, From="Head Office", To="Central Station") if r["Departs"] > "17:00"]
    text = "Which bus takes me from head office to the central station after 5 pm?"
    _ask("two conditions", source, text, _name(home, "Bus"), _name(home, "Bus"))
    large = [r for r in rows if _parse(r["Seats"]) > 30]
    _ask("count", source, "How many shuttle buses have more than 30 seats?", [len(large)], _name(large, "Bus"))
    _ask("refused", source, "Who drives the S2?")


def ask_energy() -> None:
    source, rows = "energy.pdf", _read(tables.INVOICE.rows)
    before, after = ({row[0]: row[n] for row in tables.ENERGY.rows} for n in (1, 2))
    more = _parse(after["North Depot"]) - _parse(before["North Depot"])
    text = "By how many kilowatt hours did the North Depot's consumption go up from 2023 to 2024?"
    _ask("difference", source, text, [more], ["281,720", "268,450"])
    work = _top(rows[:-1], "Net (€)")["Work"]
    _ask("extreme", source, "Which work on the Voltara bill was the biggest item?", [work], [work])
    names = _name([r for r in rows[:-1] if r["Rate (€/h)"] == "95.00"], "Work")
    _ask("filter", source, "Which jobs did Voltara charge at 95 euros an hour?", names, names)
    _ask("refused", source, "How much gas did the Head Office burn in 2024?")


def build_questions() -> list[Row]:
    """Return the questions with the values that are expected, each in its half."""
    QUESTIONS.clear()
    for ask in (ask_absences, ask_orders, ask_tickets, ask_copies, ask_shuttle, ask_energy):
        ask()
    order = Random(SEED).sample(range(len(QUESTIONS)), len(QUESTIONS))
    for place, number in enumerate(order):
        QUESTIONS[number]["half"] = "tuning" if place < len(QUESTIONS) // 2 else "kept"
    return QUESTIONS


def main() -> None:
    lines = (json.dumps(question, ensure_ascii=False) + "\n" for question in build_questions())
    (tables.FOLDER / "questions.jsonl").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()

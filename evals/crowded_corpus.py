"""A made corpus in which a log crowds out a manual: 60 pages that define fault codes, 400 rows that repeat them, notes.

The faults are written by hand in evals/data/crowded/faults.csv; the rest is drawn with a fixed seed.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from rag_core.core.model import Block
from rag_core.ingestion.upload import Upload

FAULTS_FILE = Path(__file__).parent / "data" / "crowded" / "faults.csv"
MANUAL, LOG, NOTES = "manual.md", "fault-log.csv", "shift-notes.md"
PAGES = 60
FIRST_FAULT_PAGE = 25  # the chapters before it name codes without defining them
ROWS = 400
MOST_FREQUENT, MOST_FREQUENT_ROWS = "E023", 82  # a fifth of the log is one fault
ONE_CODE_QUESTIONS = 23

ONE_CODE = (
    "What does fault code {code} mean?",
    "{code}",
    "How do I clear {code} on the press?",
    "What causes {code} and what should I check first?",
    "The panel shows {code}, can I go on working?",
    "Explain {code} and its remedy.",
)
TWO_CODES = ("What is the difference between {0} and {1}?", "The panel shows {0} and then {1}, what do I do?")
CHAPTERS = ("Unpacking", "Foundation", "Commissioning", "Operation", "Setting up", "Cleaning", "Lubrication", "Storage")
PROSE = (
    "The {component} is accessible from the rear of the machine after the cover has been taken off.",
    "Work on the {component} is reserved for trained staff and is written into the service record.",
    "The manufacturer inspects the {component} before delivery and files the test record in the cabinet.",
    "A new {component} is run in for eight hours, after which its fastening is checked once more.",
    "Keep the surroundings of the {component} free of rags, tools and loose material.",
    "Before the machine is moved, the {component} is secured with the red transport brackets.",
    "Spare parts for the {component} are listed in the drawing set that came with the machine.",
    "Where {code} appears during this work, stop and read the chapter on faults before you go on.",
    "The operator looks at the {component} at the beginning of each shift and reports what is unusual.",
    "In rooms with much dust the {component} needs attention twice as often as the schedule says.",
    "Two people lift the {component}; its weight is stamped on the plate next to the lifting eye.",
    "The wiring of the {component} follows sheet 14 of the drawings, where the colours of the cores are given.",
    "After work on the {component} a test run without a workpiece shows whether everything moves freely.",
    "What is said here of the {component} holds for machines from the year 2019; for older ones ask the service.",
    "Cleaning agents that contain solvents attack the seals of the {component} and must not be used.",
    "The {component} has no parts that the operator could adjust without tools.",
    "Every second year the {component} is taken apart, and worn seals, springs and screws are replaced as a set.",
    "A cover plate with four screws protects the {component} from chips and from splashing liquid.",
    "Record the hours of operation at which the {component} was last inspected, and the name of the inspector.",
    "Noise from the {component} that was not there the week before is a reason to call the maintenance crew.",
)
WITHOUT_REMARK, REMARKS = (
    0.6,
    (
        "acknowledged, came back after an hour",
        "maintenance called",
        "reset by the night shift",
        "part was scrapped",
        "restarted without finding anything",
        "waiting for a spare part",
        "second time this week",
    ),
)
OPERATORS = ("Adler", "Brandt", "Celik", "Dietz", "Evers", "Fuchs", "Groth")
MACHINES = ("Press 1", "Press 2", "Press 4", "Mill 3", "Mill 5", "Lathe 2")


@dataclass(frozen=True, slots=True)
class CrowdedQuestion:
    """A question, how it is put ("code", "words" or "codes"), and the pages of the manual that define what it names."""

    text: str
    kind: str
    pages: frozenset[int]


def read_faults() -> list[dict[str, str]]:
    """Return the faults, each with the page of the manual that defines it."""
    with FAULTS_FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{**row, "page": str(FIRST_FAULT_PAGE + number)} for number, row in enumerate(rows)]


def build_uploads(seed: int = 7) -> list[Upload]:
    """Return the manual, the log and the notes."""
    random, faults = Random(seed), read_faults()
    manual = Upload(blocks=tuple(_build_manual(faults, random)), title="Operating manual", source=MANUAL)
    log = Upload(data=_build_log(faults, random).encode(), filename=LOG)
    notes = Upload(content=_build_notes(faults, random), filename=NOTES, title="Shift notes", source=NOTES)
    return [manual, log, notes]


def build_questions() -> list[CrowdedQuestion]:
    """Return 40 questions: with one code, in words alone, and with two codes."""
    faults = read_faults()
    one = [
        CrowdedQuestion(ONE_CODE[number % len(ONE_CODE)].format(**fault), "code", _get_pages(fault))
        for number, fault in enumerate(faults[-ONE_CODE_QUESTIONS:])
    ]
    words = [CrowdedQuestion(fault["question"], "words", _get_pages(fault)) for fault in faults if fault["question"]]
    frequent = next(fault for fault in faults if fault["code"] == MOST_FREQUENT)
    others = [fault for fault in faults if fault is not frequent][3::6]
    two = [
        CrowdedQuestion(
            TWO_CODES[number % 2].format(frequent["code"], other["code"]), "codes", _get_pages(frequent, other)
        )
        for number, other in enumerate(others)
    ]
    return [*one, *words, *two]


def _get_pages(*faults: Mapping[str, str]) -> frozenset[int]:
    return frozenset(int(fault["page"]) for fault in faults)


def _build_manual(faults: Sequence[Mapping[str, str]], random: Random) -> Iterator[Block]:
    """Yield a heading and a text for each page: chapters, a page for each fault, the list of codes, more chapters."""
    fault_by_page = {int(fault["page"]): fault for fault in faults}
    for page in range(1, PAGES + 1):
        if page in fault_by_page:
            heading, text = _describe_fault(fault_by_page[page], random)
        elif page == max(fault_by_page) + 1:
            heading, text = "List of codes", "\n".join(f"{one['code']} {one['name']}" for one in faults)
        else:
            heading, text = CHAPTERS[page % len(CHAPTERS)], _write_prose(random.choices(faults, k=16), random)
        line = page * 100
        yield Block(heading, "heading", line, line, page)
        yield Block(text, "paragraph", line + 1, line + 1 + text.count("\n"), page, headings=(heading,))


def _describe_fault(fault: Mapping[str, str], random: Random) -> tuple[str, str]:
    """Return the heading and text of a page that names its code once, in the middle of other things."""
    before, after = (_write_prose([fault] * 9, random, naming_codes=False) for _ in range(2))
    text = (
        f"{before}\nThe control reports {fault['code']} ({fault['name'].lower()}) when {fault['sign']}. "
        f"The usual reason is that {fault['cause']}. {fault['check']}. {fault['remedy']}. "
        f"The message can be acknowledged when its reason is gone.\n{after}"
    )
    return fault["component"].capitalize(), text


def _write_prose(faults: Sequence[Mapping[str, str]], random: Random, *, naming_codes: bool = True) -> str:
    sentences = [sentence for sentence in PROSE if naming_codes or "{code}" not in sentence]
    drawn = random.sample(sentences, k=min(len(faults), len(sentences)))
    return " ".join(sentence.format(**fault) for sentence, fault in zip(drawn, faults, strict=False))


def _build_log(faults: Sequence[Mapping[str, str]], random: Random) -> str:
    """Return the log as CSV in order of time; the later a fault stands in the file, the rarer it is in the log."""
    frequent = [fault for fault in faults if fault["code"] == MOST_FREQUENT] * MOST_FREQUENT_ROWS
    weights = [1 / (3 + number) for number in range(len(faults))]
    drawn = [*frequent, *random.choices(faults, weights, k=ROWS - len(frequent))]
    random.shuffle(drawn)
    at = datetime(2026, 1, 5, 6)
    lines = ["time,machine,code,message,operator,minutes lost,remark"]
    for fault in drawn:
        at += timedelta(minutes=random.randint(20, 900))
        remark = "" if random.random() < WITHOUT_REMARK else random.choice(REMARKS)
        who = f"{random.choice(MACHINES)},{fault['code']},{fault['name']},{random.choice(OPERATORS)}"
        lines.append(f'{at:%Y-%m-%d %H:%M},{who},{random.randint(1, 90)},"{remark}"')
    return "\n".join(lines)


def _build_notes(faults: Sequence[Mapping[str, str]], random: Random) -> str:
    notes = [
        f"## Week {week}\n\n{random.choice(OPERATORS)}: we had {fault['code']} again on {random.choice(MACHINES)}, "
        f"{random.choice(REMARKS)}. The {fault['component']} was looked at together with the maintenance crew."
        for week, fault in enumerate(random.choices(faults, k=30), start=1)
    ]
    return "\n\n".join(notes)

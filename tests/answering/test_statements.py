"""How texts as chat models write them are read: what is a claim, what only frames one, and what each is judged by."""

import json
from collections.abc import Sequence

import pytest

from rag_core.answering.answer import answer_from_evidence
from rag_core.answering.citations import split_into_claims
from rag_core.answering.statements import read_statements, relate_parts
from rag_core.core.model import Answer, Claim, Evidence, Hit
from rag_core.core.run import Run
from rag_core.rag import RAG
from rag_core.text.layout import split_into_parts
from tests.adversarial.growth import find_excess
from tests.fakes import SCOPE, ScriptedLLM, chunk, filled, kit

WARRANTY = (
    "The warranty excludes:\n- scratches on the housing\n- water damage\n\n"
    "It lasts two years. Glass is covered for one year."
)
PLANS = "| Plan | Deductible | Copay |\n|---|---|---|\n| Plus | $500 | $75 |\n| Standard | $900 | $50 |"
PUMP = "The pump of model BP runs at 30 bar. It must not run dry."
CHUNKS = (
    chunk("warranty", WARRANTY, document="warranty"),
    chunk("plans", PLANS, document="plans"),
    chunk("pump", PUMP, document="pump"),
)
ONLY_FRAMES = [
    "## Coverage",
    "**Coverage**",
    "The warranty excludes:",
    "Here is what I found:",
    "Great question! I hope this helps. Let me know if you need more details!",
    "I went through the documents that you provided, and here is what I could gather.",
    "What does the warranty exclude?",
    "Yes.",
    "| Plan | Copay |\n|---|---:|",
    "|||||\n| | |",
    "***\n---\n- - -",
    "```\n```",
    "Hier ist, was ich gefunden habe:",
    "Aquí está lo que encontré:",
    "- \n* \n",
    " \n ",
]


def read(text: str, question: str = "") -> list[str]:
    """What the claims of a text state."""
    found = relate_parts(split_into_parts(text), question=question)
    return [statement.reading.statement for statement in found if statement.reading]


@pytest.mark.parametrize("text", ONLY_FRAMES)
def test_what_only_frames_a_text_is_no_claim(text: str) -> None:
    assert split_into_claims(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "## The copay is $75",
        "**The warranty covers water damage**",
        "**Copay: $75**",
        "# Water damage must be reported at once.",
        "They have more.",
        "It is not known.",
        "The copay is $75 and there is no deductible:\n\nAll else is as it was before.",
    ],
)
def test_a_statement_that_is_dressed_as_a_heading_is_a_claim(text: str) -> None:
    """Nothing gets past the check by its form."""
    assert split_into_claims(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The warranty excludes:\n\n- scratches on the *housing*\n- **water damage** [1]",
            ["The warranty excludes: scratches on the housing", "The warranty excludes: water damage"],
        ),
        ("**Excluded:**\n* rust\n* `dents` 【4:0†source】", ["Excluded: rust", "Excluded: dents"]),
        (
            "Here are the exclusions:\n1. rust\n2) dents [e1, e2]\n\nAll else is covered.",
            ["the exclusions: rust", "the exclusions: dents", "All else is covered."],
        ),
        ("Here is what I found:\n- The pump runs. It hums. [e2]", ["The pump runs.", "It hums. [e2]"[:8]]),
        (
            "The plan pays for:\n- glass:\n  - in doors\n  - in windows\n- locks",
            ["The plan pays for: glass: in doors", "The plan pays for: glass: in windows", "The plan pays for: locks"],
        ),
        (
            "1. **Covered:**\n- glass\n- locks\n2. **Excluded:**\n- rust",
            ["Covered: glass", "Covered: locks", "Excluded: rust"],
        ),
        (
            "It excludes:\n- Water damage\n  - from rain\n- Rust that\n  comes slowly",
            [
                "It excludes: Water damage",
                "It excludes: Water damage: from rain",
                "It excludes: Rust that comes slowly",
            ],
        ),
        ("## Not covered\n- rust\n- dents", ["Not covered: rust", "Not covered: dents"]),
        ("## Summary\n- rust is not covered", ["rust is not covered"]),
        (
            "1. Coverage\n   The warranty lasts two years. It ends.\n2. Exclusions\n   Rust is excluded.",
            ["The warranty lasts two years.", "It ends.", "Rust is excluded."],
        ),
        ("- Schäden an der Pumpe,\n  Dellen inbegriffen\n- Rost", ["Schäden an der Pumpe, Dellen inbegriffen", "Rost"]),
        ("## Copay\n\n$75", ["Copay: $75"]),
        ("The warranty lasts:\n\n**Two years**", ["The warranty lasts: Two years"]),
        ("Coverage\n--------\nGlass is covered.", ["Glass is covered."]),
        ("### Step 1: Open the valve\nTurn it left.", ["Turn it left."]),
        ("According to the documents, glass is covered.", ["glass is covered."]),
        ("If found, glass is covered.", ["If found, glass is covered."]),
        ("**Note:** The pump must not run dry.", ["The pump must not run dry."]),
        ("## Rules\n- The pump must not run dry.", ["The pump must not run dry."]),
        (
            "Do this:\n- open it\n\nGo home now please.\n\n- close it",
            ["Do this: open it", "Go home now please.", "close it"],
        ),
        ("- **Copay:** $75\n- **Deductible:** $500", ["Copay: $75", "Deductible: $500"]),
    ],
)
def test_a_list_item_is_read_with_its_lead_in(text: str, expected: list[str]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "| Plan | Copay |\n|:-----|------:|\n| Plus | $75 |\n| **Std** | `$50` [1] |",
            ["Plan: Plus; Copay: $75", "Plan: Std; Copay: $50"],
        ),
        ("|Plan|Copay|\n|-|-|\n|Plus|$75|", ["Plan: Plus; Copay: $75"]),
        ("Work | Hours\nBleed | 2\nPump | 1", ["Work: Bleed; Hours: 2", "Work: Pump; Hours: 1"]),
        ("| Plus | $75 |\n| Standard | $50 |", ["Plus; $75", "Standard; $50"]),
        ("| | 2023 | 2024 |\n|---|---|---|\n| Sales | 7 | |", ["Sales; 2023: 7"]),
        ("| A | B |\n|---|---|\n| 1 | 2 | 3 |", ["A: 1; B: 2; 3"]),
        (
            "| A | B |\n|---|---|\n| 1 | 2 |\n\n| C | D |\n|---|---|\n| 3 | 4 |",
            ["A: 1; B: 2", "C: 3; D: 4"],
        ),
        ("| A | B |\n|---|---|\n| 1 | 2 |\n|---|---|\n| 3 | 4 |\n|---|---|", ["A: 1; B: 2", "A: 3; B: 4"]),
        ("| A | B |\n|---|---|\n| x \\| y | One. Two. |", ["A: x | y; B: One. Two."]),
    ],
)
def test_a_table_row_is_read_with_its_header(text: str, expected: list[str]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("Yes.", "Does the fee apply?", ["the fee apply."]),
        ("No.", "Does the fee apply?", ["It is not so that the fee apply."]),
        ("**Yes**, it does.", "Does the fee apply?", ["the fee apply."]),
        ("Yes, the fee applies to all.", "Does the fee apply?", ["the fee applies to all."]),
        ("No, scratches are excluded.", "Are scratches covered?", ["scratches are excluded."]),
        ("Yes.", "Is the pump dry?", ["Is the pump dry? Yes."]),
        ("Does the fee apply? Yes. Is it high? No.", "", ["the fee apply.", "It is not so: Is it high? No."]),
        ("No pump runs dry in winter.", "Is the pump dry?", ["No pump runs dry in winter."]),
        ("Ja.", "Gilt die Garantie?", ["Gilt die Garantie? Ja."]),
        ("Sí, la garantía cubre el vidrio.", "¿Cubre el vidrio?", ["la garantía cubre el vidrio."]),
        ("- **Copay:** $75", "What does it cost?", ["Copay: $75"]),
        ("Answer: yes.", "Does the fee apply?", ["the fee apply."]),
        ("**Two years**", "How long does it last?", ["How long does it last? Two years"]),
        ("Rust is excluded. It lasts.", "What is excluded?", ["Rust is excluded.", "It lasts."]),
        ("Turn it left.", "How do I open it?", ["Turn it left."]),
        ("Sí, por un año.", "¿Cubre el vidrio?", ["¿Cubre el vidrio? Sí, por un año."]),
        ("Every 90 days.", "How often?", ["How often? Every 90 days."]),
        ("- rust\n- dents", "What is excluded?", ["What is excluded? rust", "What is excluded? dents"]),
    ],
)
def test_a_short_reply_is_read_with_its_question(text: str, question: str, expected: list[str]) -> None:
    assert read(text, question) == expected


def test_a_pronoun_is_read_with_the_sentence_before() -> None:
    german = "Die Garantie gilt z. B. für Glas. Sie endet bald."
    text = f"The pump runs dry. It hums. This one leaks.\n\n# New\n\nIt stops.\n\n{german}"
    found = [(claim.statement, claim.context) for claim in split_into_claims(text)]
    assert found == [
        ("The pump runs dry.", ""),
        ("It hums.", "The pump runs dry."),
        ("This one leaks.", "The pump runs dry."),
        ("It stops.", ""),
        ("Die Garantie gilt z. B. für Glas.", ""),
        ("Sie endet bald.", "Die Garantie gilt z. B. für Glas."),
    ]


def test_code_is_one_claim_however_it_is_fenced() -> None:
    assert read("Run this:\n```bash\nrag ask x\n# not a heading\n```\nThen wait for it.") == [
        "rag ask x # not a heading",
        "Then wait for it.",
    ]
    assert read("~~~\nrag ask x") == ["rag ask x"]


def test_claims_stand_in_the_text_as_it_is_shown() -> None:
    table = "| A | B |\n|---|---|\n| 1 | 2 |"
    text = f"## Plan\n\n**It pays:**\n\n  - *glass* [1]\n  - locks\n\n{table}\n\nSo it is. [e3]\n".replace("\n", "\r\n")
    found = split_into_claims(text)
    assert [claim.text for claim in found] == ["- *glass* [1]", "- locks", "| 1 | 2 |", "So it is. [e3]"]
    assert all(text[claim.start : claim.end] == claim.text for claim in found)


@pytest.mark.parametrize(
    "text", ["- - - -", "|||||", "| a ", "- a:\n", "  - a\n", "**", "# A\n", "Yes. ", "A?\nYes.\n", "[1]"]
)
def test_reading_takes_time_that_grows_with_the_text_only(text: str) -> None:
    def shape(chars: int) -> str:
        return (text * chars)[:chars]

    assert find_excess(read_statements, shape, chars=8_000, floor_s=0.2, max_s=2.0) is None
    assert sum(len(s) for s in read(shape(8_000))) <= 400 * 8_000


def test_what_is_written_again_for_each_item_stays_bounded() -> None:
    lead_in = "The warranty excludes " + "all " * 2_000
    assert sum(map(len, read(f"{lead_in}:\n" + "- rust\n" * 1_000))) < 400 * 1_000
    assert sum(map(len, read(f"| {lead_in} |\n|---|\n" + "| rust |\n" * 1_000))) < 400 * 1_000


async def cite(text: str) -> list[tuple[str, str]]:
    claims = await RAG(kit(await filled(*CHUNKS))).cite(text, scope=SCOPE)
    assert all(text[claim.start : claim.end] == claim.text for claim in claims)
    return [(claim.text, claim.verdict) for claim in claims]


async def answer(question: str, *texts: str) -> tuple[Answer, Run]:
    """The answer of a model that says these texts, from all of CHUNKS."""
    items = [{"text": text, "evidence": ["e1", "e2", "e3"]} for text in texts]
    llm = ScriptedLLM(answer=json.dumps({"answerable": True, "sentences": items}))
    run = RAG(answering := kit(await filled(*CHUNKS), llm=llm)).start_run()
    hits = [Hit(one, 1.0, {"relevance": 0.9}) for one in CHUNKS]
    evidence = tuple(Evidence(f"e{n}", hit, 0, len(hit.chunk.content)) for n, hit in enumerate(hits, 1))
    made = await answer_from_evidence(question, evidence, answering, run)
    assert all(made.text[claim.start : claim.end] == claim.text for claim in made.claims)
    return made, run


def judged(claims: Sequence[Claim]) -> list[tuple[str, str]]:
    return [(claim.text, claim.verdict) for claim in claims]


async def test_a_true_list_is_verified_item_by_item_and_a_swapped_lead_in_is_not() -> None:
    """The items are copied; "covers" in place of "excludes" makes both of them false."""
    items = "\n- scratches on the housing\n- **water damage** [1]"
    assert await cite(f"## Exclusions\n\nThe warranty excludes:{items}") == [
        ("- scratches on the housing", "verified"),
        ("- **water damage** [1]", "verified"),
    ]
    assert {verdict for _, verdict in await cite(f"The warranty covers:{items}")} == {"unsupported"}
    assert "verified" not in {verdict for _, verdict in await cite(f"## Covered{items}")}
    assert "verified" not in {verdict for _, verdict in await cite(items)}


async def test_an_item_of_a_passage_supports_a_sentence_with_its_lead_in() -> None:
    assert await cite("The warranty excludes water damage.") == [("The warranty excludes water damage.", "verified")]
    assert (await cite("The warranty covers water damage."))[0][1] == "unsupported"


async def test_a_true_row_is_verified_and_one_with_another_value_or_header_is_not() -> None:
    header = "| Plan | Deductible | Copay |\n|:--|--:|--:|\n"
    swapped = "| Plan | Copay | Deductible |\n|:--|--:|--:|\n"
    assert await cite(f"{header}| **Plus** | $500 | $75 |") == [("| **Plus** | $500 | $75 |", "verified")]
    assert await cite(f"{header}| Standard | $900 | $75 |") == [("| Standard | $900 | $75 |", "unsupported")]
    assert (await cite(f"{swapped}| Plus | $500 | $75 |"))[0][1] != "verified"


async def test_a_row_of_some_columns_is_verified_where_no_other_row_has_the_same_name() -> None:
    """What is left out of a row may be what tells it from another one."""
    claimed = "| Plan | Copay |\n|---|---|\n| {} | {} |"
    assert (await cite(claimed.format("Plus", "$75")))[0][1] == "verified"
    assert (await cite(claimed.format("Plus", "$50")))[0][1] == "unsupported"
    assert (await cite(claimed.format("Plus", "$500")))[0][1] != "verified"
    twice = chunk("twice", "| Plan | Network | Copay |\n|---|---|---|\n| Plus | in | $75 |\n| Plus | out | $90 |")
    claims = await RAG(kit(await filled(twice))).cite(claimed.format("Plus", "$75"), scope=SCOPE)
    assert [claim.verdict for claim in claims] != ["verified"]


async def test_a_pronoun_that_stands_for_something_else_is_not_verified() -> None:
    """The words of the second sentence are copied, from a passage about a pump."""
    assert [verdict for _, verdict in await cite(PUMP)] == ["verified", "verified"]
    assert (await cite("The compressor hums. It must not run dry."))[1] == ("It must not run dry.", "partial")


async def test_a_text_of_frames_alone_has_no_claims() -> None:
    assert await cite("## Coverage\n\nThe warranty excludes:\n\nLet me know if you need more!") == []


async def test_frames_are_shown_above_the_claims_that_stay_and_are_not_counted() -> None:
    made, run = await answer(
        "What is not covered?",
        "Great question!",
        "## What is not covered",
        "The warranty excludes:",
        "- rust by sorcery\n- scratches on the housing",
        "- **water damage**",
        "## Sorcery",
        "Wizards repaint engines by moonlight.",
        "Let me know if you need more!",
    )
    assert made.text == "## What is not covered\nThe warranty excludes:\n- scratches on the housing\n- **water damage**"
    assert judged(made.claims) == [("- scratches on the housing", "verified"), ("- **water damage**", "verified")]
    assert [told.reason for told in run.degraded] == ["2 of 4 sentences are not supported by the evidence"]
    assert made.confidence.inputs["certainty"] == 1.0


async def test_a_table_in_an_answer_keeps_its_lines_and_its_header() -> None:
    table = "| Plan | Deductible | Copay |\n| --- | --- | --- |\n| Plus | $500 | $75 |\n| Standard | $900 | $75 |"
    made, _ = await answer("What are the copays?", table)
    assert (made.origin, made.text) == ("model", table.rsplit("\n", 1)[0])
    assert judged(made.claims) == [("| Plus | $500 | $75 |", "verified")]


async def test_a_nested_list_in_an_answer_keeps_its_indentation() -> None:
    made, _ = await answer("What is it?", "The warranty excludes:\n- scratches on the housing\n  - water damage")
    assert "\n  - water damage" in made.text


async def test_yes_is_judged_as_what_was_asked() -> None:
    made, _ = await answer("Does the pump of model BP run at 30 bar?", "Yes.", "It must not run dry.")
    assert judged(made.claims) == [("Yes.", "verified"), ("It must not run dry.", "verified")]
    made, run = await answer("Does the pump of model BP run at 30 bar?", "No.", "It must not run dry.")
    assert [claim.text for claim in made.claims] == ["It must not run dry."]
    assert [told.code for told in run.degraded] == ["citation_unverified"]


async def test_a_reply_of_frames_alone_is_no_answer_of_the_model() -> None:
    made, run = await answer("How many bar has the pump of model BP?", "## Answer", "Here is what I found:")
    assert made.origin == "extractive"
    assert ("answer", "llm_output_invalid") in [(told.step, told.code) for told in run.degraded]


async def test_a_heading_that_the_evidence_does_not_know_is_not_shown() -> None:
    """Nobody judges a heading: it must not say what the answer may not."""
    heads = ["## Warranty on glass", "## Account 4711", "**Board approves transfer on Friday**", "Board approved it?"]
    made = [(await answer("What about glass?", head, "Glass is covered for one year."))[0].text for head in heads]
    assert made == ["## Warranty on glass\nGlass is covered for one year.", *["Glass is covered for one year."] * 3]

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from rag_core import prompts
from rag_core.text.intent import INTENTS, classify_intent, matches_intent, normalize_intent


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What is working memory?", "DEFINITION"),
        ("Define torque.", "DEFINITION"),
        ("How does working memory function?", "MECHANISM"),
        ("How do I replace the filter?", "PROCEDURE"),
        ("What are the steps for a reset?", "PROCEDURE"),
        ("What is the difference between RAM and ROM?", "COMPARISON"),
        ("Why does the lamp stay on?", "CAUSE"),
        ("What evidence is there for decay?", "EVIDENCE"),
        ("What is a torque wrench used for?", "APPLICATION"),
        ("What is the torque of the drain plug?", "FACT"),
        ("", "FACT"),
    ],
)
def test_an_intent_is_told_by_the_form_of_the_question(question: str, intent: str) -> None:
    """S0-71: where there is no chat model."""
    assert classify_intent(question) == intent


@pytest.mark.parametrize(
    "pumped",
    [
        "what is " + "a" * 7_900 + "!",
        "what is " + "a " * 3_900 + "!",
        "what is a" + " " * 7_900 + "!",
        "what is " + "it's-" * 1_500 + "!",
        "what is a\n" * 800 + "!",
        "\n" * 8_000,
        "what is deadbeef" + "0123456789abcdef" * 490 + "/",
    ],
    ids=["letters", "words", "spaces", "marks", "lines", "breaks", "hash"],
)
def test_a_long_question_costs_linear_time(pumped: str) -> None:
    """400 letters after "what is" once took 42 CPU seconds; 8,000 would have taken weeks."""
    code = (
        "import sys; from rag_core.text.intent import INTENTS, classify_intent, matches_intent; q = sys.stdin.read();"
    )
    code += "print(classify_intent(q), any(matches_intent(i, q) for i in INTENTS))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        input=pumped,
        text=True,
        capture_output=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)),
    )
    assert result.stdout.split()[0] in INTENTS


@pytest.mark.parametrize(
    ("intent", "passage"),
    [
        ("DEFINITION", "Working memory is a system of the mind."),
        ("MECHANISM", "It works by rehearsal."),
        ("COMPARISON", "RAM forgets, whereas ROM does not."),
        ("PROCEDURE", "1. Drain the oil."),
        ("CAUSE", "The lamp is lit because the TCM asks for it."),
        ("EVIDENCE", "A study found that it decays."),
        ("APPLICATION", "It is used for bolts, for example."),
    ],
)
def test_a_passage_that_speaks_in_the_way_of_an_intent_gives_it(intent: str, passage: str) -> None:
    """S0-50."""
    assert matches_intent(intent, passage)
    assert not matches_intent(intent, "Bananas.")
    assert not matches_intent("FACT", passage)


def test_a_known_intent_has_one_spelling() -> None:
    """S0-71."""
    assert [normalize_intent(said) for said in (" definition. ", "**MECHANISM**", "hunch", "")] == [
        "DEFINITION",
        "MECHANISM",
        "hunch",
        "",
    ]


def test_the_prompt_names_every_intent_that_is_known() -> None:
    assert all(intent in prompts.load_packaged_template("query_expansion") for intent in INTENTS)


def test_the_page_on_the_workbench_names_them_too() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "workbench.md").read_text("utf-8")
    assert all(intent in page for intent in INTENTS)

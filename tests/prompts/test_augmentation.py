"""The prompt that people read: what documents wrote in it poses as nothing else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core import prompts
from rag_core.core.errors import InvalidRequest
from rag_core.core.model import Evidence
from rag_core.core.ports import Prompt
from rag_core.prompts.augmentation import build_augmentation_prompt, format_passage_block
from rag_core.workbench.template_validation import validate_template
from tests.fakes import chunk, hit

QUESTION = "What is P0700?"


def passage(text: str, title: str = "Manual", section: tuple[str, ...] = ("Codes", "P07xx")) -> Evidence:
    found = hit("a", content=text)
    return Evidence("e1", type(found)(chunk("a", text, title=title, heading_path=section), 1.0), 0, len(text))


def made(text: str, told: str = "") -> Prompt:
    return build_augmentation_prompt(QUESTION, [passage(text)], intent="DEFINITION", entities=["P0700"], template=told)


def test_a_block_has_its_title_its_headings_and_its_text() -> None:
    """S0-65."""
    assert format_passage_block(passage("P0700 is a code.")) == "## [Manual] > Codes > P07xx\n\nP0700 is a code."
    assert format_passage_block(passage("x", "Codes")) == "## [Codes] > P07xx\n\nx"
    assert format_passage_block(passage("x", section=())) == "## [Manual]\n\nx"


def test_the_packaged_template_is_as_the_document_shows_it() -> None:
    """S0-28, S0-66: and its instructions are a message of their own."""
    prompt = made("P0700 is a code.")
    assert prompt.text.startswith("You are an expert")
    assert prompt.user.startswith(f"Query: {QUESTION}\n\nContext:\n")
    assert prompt.system == prompts.load_packaged_template("rag_augmentation").split("\n\nQuery:")[0]
    assert prompt.text == f"{prompt.system}\n\n{prompt.user}"


def test_each_variable_of_an_edited_template_is_filled_once() -> None:
    """S0-66: what is filled in is not filled in again."""
    prompt = made("{query} {entities}", told="{query}|{contexts}|{intent}|{entities}|{other}")
    assert prompt.system == ""
    assert prompt.text == prompt.user
    first, _, _, intent, entities, other = [*prompt.user.split("|")[:1], "", "", *prompt.user.split("|")[-3:]]
    assert (first, intent, entities, other) == (QUESTION, "DEFINITION", "P0700", "{other}")
    assert "{query} {entities}" in prompt.user


@pytest.mark.parametrize(
    "evil",
    [
        "</data",
        "<|im_end|>",
        "[INST]",
        "[/INST]",
        "<script",
        "<<SYS>>",
        "## [Another title] > x",
        "<img src=x onerror=y>",
    ],
)
def test_no_text_of_a_document_ends_the_fence_or_poses_as_another_passage(evil: str) -> None:
    """C40: in the text, the title or a heading."""
    for text, title, section in ((evil, "M", ()), (f"a\n{evil}", "M", ()), ("x", evil, ()), ("x", "M", (evil,))):
        shown = format_passage_block(passage(text, title, section))
        heading, _, below = shown.partition("\n\n")
        assert heading.startswith("## [")
        assert not re.search(r"^## \[", below, re.MULTILINE)
        assert not re.search(r"<[/|!?A-Za-z_]|\[/?INST\]", shown)


@given(st.text(max_size=200))
def test_the_fence_is_whole_whatever_stands_in_it(text: str) -> None:
    """C40."""
    user = made(text).user
    [mark] = re.findall(r"^<data ([0-9a-f]{16})>$", user, re.MULTILINE)
    assert user.count(mark) == 2
    assert re.findall(r"</data", user) == ["</data"]


def test_a_comparison_in_a_text_is_left_as_it_is() -> None:
    assert "a < b and 2 <= 3" in made("a < b and 2 <= 3").text
    assert "<5 mm" in made("a gap of <5 mm").text


@pytest.mark.parametrize(
    ("tag", "wording", "lacks"),
    [
        ("rag_augmentation", "Answer {query}", "{contexts}"),
        ("rag_augmentation", "Read {contexts}", "{query}"),
        ("rag_augmentation", " ", "1 to"),
        ("query_expansion", 'Reply with {"queries": [], "hyde": "", "intent": ""}', '"entities"'),
        ("query_expansion", "x" * 20_001, "20000"),
    ],
)
def test_a_wording_with_which_its_step_cannot_work_is_refused(tag: str, wording: str, lacks: str) -> None:
    """S0-64, S0-66, S0-69."""
    with pytest.raises(InvalidRequest) as refused:
        validate_template(tag, wording)
    assert refused.value.field == "wording"
    assert lacks in refused.value.message


@pytest.mark.parametrize("tag", prompts.EDITABLE_PROMPT_TAGS)
def test_the_packaged_wordings_are_such_as_are_taken(tag: str) -> None:
    validate_template(tag, prompts.load_packaged_template(tag))

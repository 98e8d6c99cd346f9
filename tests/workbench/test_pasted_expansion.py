import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.errors import InvalidRequest
from rag_core.workbench.pasted_expansion import MAX_PASTED_QUERIES, parse_pasted_expansion

ASKED = "What is working memory?"
WHOLE = (
    ("What is the definition of working memory?", "How does working memory function?"),
    "Working memory is a cognitive system. It holds a few items.",
    "DEFINITION",
    ("working memory", "cognitive system"),
)
QUERIES, HYDE, INTENT, ENTITIES = WHOLE

PASTED = {
    "JSON": json.dumps({"queries": QUERIES, "hyde": HYDE, "intent": INTENT, "entities": ENTITIES}),
    "JSON in a fence, by other names": f"""Here you are:
```json
{json.dumps({"mqe_queries": QUERIES, "hyde_answer": HYDE, "intent": INTENT, "key_entities": ENTITIES})}
```""",
    "headed lists": f"""MQE queries:
1. {QUERIES[0]}
2. {QUERIES[1]}

HyDE:
{HYDE}

Intent: {INTENT}
Entities: working memory, cognitive system""",
    "Markdown": f"""## Expanded Queries

- {QUERIES[0]}
- "{QUERIES[1]}"

### Hypothetical Answer (HyDE)

{HYDE}

**Intent:** `{INTENT}`

**Entities:**
* working memory
* cognitive system
""",
    "numbered headings": f"""1. **Expanded Queries:**
   1) {QUERIES[0]}
   2) {QUERIES[1]}
2. **HyDE Answer:** {HYDE}
3. **Query Intent:** {INTENT.lower()}
4. **Entities:** "working memory"; "cognitive system".""",
}


@pytest.mark.parametrize("form", PASTED)
def test_a_pasted_reply_is_read_in_the_forms_that_models_write(form: str) -> None:
    """S0-38, S0-71, S0-76."""
    found, unread = parse_pasted_expansion(PASTED[form], ASKED)
    entities = tuple(entity.rstrip('".') for entity in found.entities)
    assert (found.expanded_queries, " ".join(found.hyde_answer.split()), found.intent, entities) == WHOLE
    assert (found.missing_parts, unread) == ((), ())


def test_a_list_without_headings_is_one_of_wordings() -> None:
    """S0-71."""
    found, unread = parse_pasted_expansion("Here are the expanded queries...\n1. one\n2. two\n\nGood luck!", ASKED)
    assert (found.expanded_queries, found.missing_parts, unread) == (("one", "two"), ("HyDE answer",), (1, 5))


def test_a_word_that_is_no_known_intent_is_kept_as_it_is_to_fifty_characters() -> None:
    """S0-71, S0-86."""
    word = "Speculation" * 9
    assert parse_pasted_expansion(f"1. one\nIntent: {word}", ASKED)[0].intent == word[:50]


@pytest.mark.parametrize("pasted", ["", "I cannot help with that.", "{}", '{"answer": 7}', "Intent: DEFINITION", "[]"])
def test_what_cannot_be_read_is_refused_with_what_was_expected(pasted: str) -> None:
    """S0-38."""
    with pytest.raises(InvalidRequest) as refused:
        parse_pasted_expansion(pasted, ASKED)
    assert refused.value.field == "llm_response"
    for expected in ('"queries"', '"hyde"', "MQE queries:", "HyDE:", "Intent:", "Entities:"):
        assert expected in refused.value.message


def test_so_many_wordings_are_kept() -> None:
    pasted = "\n".join(f"{n}. wording {n}" for n in range(1, 30))
    assert len(parse_pasted_expansion(pasted, ASKED)[0].expanded_queries) == MAX_PASTED_QUERIES


@given(st.text(max_size=400))
def test_whatever_is_pasted_is_read_or_refused(pasted: str) -> None:
    try:
        found, _ = parse_pasted_expansion(pasted, ASKED)
    except InvalidRequest:
        return
    assert found.expanded_queries or found.hyde_answer


@pytest.mark.parametrize(
    "line", ["_" * 90_000, " " * 90_000 + "x", "mqe" + "_" * 90_000, "queries" + "*" * 90_000 + "x"]
)
def test_a_line_of_nothing_but_strokes_takes_no_time(line: str) -> None:
    """S0-71: a hundred of them took a second, a thousand hours: nothing else was answered meanwhile."""
    found, _ = parse_pasted_expansion(f"{line}\n- What holds it in mind?", ASKED)
    assert found.expanded_queries == ("What holds it in mind?",)

"""Builders of prompts; the system message of a task is the text of the .md file of that name.

Text of documents and users is only in the user message, as JSON within a fence. It can neither pass for instructions
nor end the fence, because tags, tokens of chat templates and line ends are escaped.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from rag_core.core.model import Evidence, Turn
from rag_core.core.ports import Prompt

EDITABLE_PROMPT_TAGS = ("query_expansion", "rag_augmentation")  # S0-92
JUDGED_VERDICTS = ("supported", "contradicted", "not_stated")
AVAILABILITY_PROMPT = Prompt("doctor", "Answer with one word.", "Are you there?", max_tokens=16)  # of `rag doctor`
NO_PASSAGE = "none"  # in place of the id of the passage that decides
PLANNED_OPERATIONS = (
    *("lookup", "count", "count_distinct", "sum", "average", "highest", "lowest"),
    *("compare", "is_more", "is_less", "difference", "ratio", "percent_change", "share", "none"),
)
PLANNED_RELATIONS = ("=", "!=", ">", ">=", "<", "<=", "contains")
NOT_NEEDED = "none"  # in place of the id of a table or column
MAX_PLANNED_CONDITIONS = 6  # on the rows of one side
MAX_PLAN_TOKENS = 700  # twelve conditions of 40 tokens, and the rest of a program
# of a whole reply in JSON: a grade is 15 tokens, with 17 digits 25; a judgement 35, and 40 words in any language 200
SPARE_TOKENS, TOKENS_PER_GRADE, TOKENS_PER_JUDGEMENT = 64, 40, 240
TOKENS_PER_ENRICHED_PASSAGE = 400  # a summary of 60 words and 20 entities
ENTITY_TYPES = ("person", "organization", "place", "product", "date", "money", "code", "term")
FENCE_PATTERN = re.compile(
    r"<data ([0-9a-f]{16})>\n(.*)\n</data \1>"
)  # "." stops at a line end, which the data does not have
CONTROL_CHARACTERS = re.compile(
    r"[<>&\x85\u2028\u2029]|\[(?=/?[A-Z_]+\])"
)  # <|im_end|>, </data>, [INST]; JSON's own "[" is not


def build_query_expansion_prompt(
    text: str,
    passages: Sequence[str],
    *,
    excerpts: Sequence[str] | None = None,
    count: int,
    with_hyde: bool,
    template: str = "",
) -> Prompt:
    """Build the prompt that asks for `count` expanded queries and for the intent and entities of a query.

    `with_hyde` it also asks for a HyDE answer (Gao et al., ACL 2023). `passages` of the index show the model its terms;
    `excerpts` are sent in their place, where they are given. `template` replaces the packaged one.
    """
    inputs: dict[str, object] = {"query": text, "passages": list(passages), "count": count, "imagine": with_hyde}
    schema = _build_object_schema(
        queries=_build_text_list_schema(count),
        hyde={"type": "string"},
        intent={"type": "string"},
        entities=_build_text_list_schema(20),
    )
    sent = inputs if excerpts is None else {**inputs, "passages": list(excerpts)}
    prompt = _build_prompt("query_expansion", sent, schema=schema)
    # the HyDE answer is long
    return replace(prompt, system=template or prompt.system, inputs=inputs, max_tokens=1024)


def build_grading_prompt(text: str, passages: Mapping[str, str], excerpts: Mapping[str, str] | None = None) -> Prompt:
    """Build the prompt for LLM grading: a grade from 0 to 10 for each passage, by its id.

    `excerpts` are sent in place of the passages, where they are given; a local technique reads the whole ones.
    """
    grade = _build_object_schema(id=_build_choice_schema(passages), score={"type": "number"})
    sent = {"query": text, "passages": _list_by_id(passages if excerpts is None else excerpts)}
    prompt = _build_prompt("rerank", sent, schema=_build_object_schema(grades=_build_full_list_schema(grade, passages)))
    inputs = {"query": text, "passages": _list_by_id(passages)}
    return replace(
        prompt, inputs=inputs, max_tokens=SPARE_TOKENS + TOKENS_PER_GRADE * len(passages), needs_whole_reply=True
    )


def build_judging_prompt(
    question: str,
    claims: Mapping[str, str],
    passages: Mapping[str, str],
    passage_ids_by_claim: Mapping[str, Sequence[str]],
) -> Prompt:
    """Build the prompt that asks whether passages support claims, for a verdict on each claim by its id.

    Each claim is judged by the passages whose ids are given for it. The reply names the passage that decides
    (NO_PASSAGE: none does), the words of it that decide, and the probability that the verdict is right.
    """
    judgement = _build_object_schema(  # in the order in which a model writes: first the evidence, then the verdict
        claim=_build_choice_schema(claims),
        passage=_build_choice_schema((*passages, NO_PASSAGE)),
        words={"type": "string"},
        verdict=_build_choice_schema(JUDGED_VERDICTS),
        probability={"type": "number"},
    )
    inputs = {
        "question": question,
        "passages": _list_by_id(passages),
        "claims": [{"id": id, "text": text, "passages": list(passage_ids_by_claim[id])} for id, text in claims.items()],
    }
    schema = _build_object_schema(judgements=_build_full_list_schema(judgement, claims))
    prompt = _build_prompt("judge", inputs, schema=schema)
    return replace(prompt, max_tokens=SPARE_TOKENS + TOKENS_PER_JUDGEMENT * len(claims), needs_whole_reply=True)


def build_standalone_question_prompt(question: str, turns: Sequence[Turn]) -> Prompt:
    """Build the prompt that asks for a question as it would be asked without the turns before it."""
    inputs = {"question": question, "turns": [{"role": turn.role, "content": turn.content} for turn in turns]}
    schema = _build_object_schema(question={"type": "string"})
    return replace(_build_prompt("standalone_question", inputs, schema=schema), max_tokens=256)


def build_schema_prompt(question: str, tables: Sequence[Mapping[str, object]], column_ids: Sequence[str]) -> Prompt:
    """Build the prompt that asks which tables, of `id`, `name`, `said` and `columns`, a question needs, and of them."""
    ids = {"type": "array", "items": _build_choice_schema(str(table["id"]) for table in tables)}
    columns = {"type": "array", "items": _build_choice_schema(column_ids)}
    schema = _build_object_schema(tables=ids, columns=columns, parts=_build_text_list_schema(4))
    inputs = {"question": question, "tables": [dict(table) for table in tables]}
    return replace(_build_prompt("link_schema", inputs, schema=schema), max_tokens=512)


def build_planning_prompt(question: str, tables: Mapping[str, Mapping[str, object]], columns: Sequence[str]) -> Prompt:
    """Build the prompt that asks which operation on one of these tables, by their ids, answers a question.

    The schema names tables and columns by their ids alone; values are checked afterwards. In an enum, heads and cells
    of a document would stand outside of the fence.
    """
    column = _build_choice_schema((*columns, NOT_NEEDED))
    condition = _build_object_schema(
        column=_build_choice_schema(columns),
        relation=_build_choice_schema(PLANNED_RELATIONS),
        value={"type": "string"},
    )
    conditions = {"type": "array", "items": condition, "maxItems": MAX_PLANNED_CONDITIONS}
    schema = _build_object_schema(
        table=_build_choice_schema((*tables, NOT_NEEDED)),
        operation=_build_choice_schema(PLANNED_OPERATIONS),
        column=column,
        give=column,
        where=conditions,
        other_column=column,
        other_where=conditions,
    )
    listed = [{"id": id, **table} for id, table in tables.items()]
    prompt = _build_prompt("plan", {"question": question, "tables": listed}, schema=schema)
    return replace(prompt, max_tokens=MAX_PLAN_TOKENS, needs_whole_reply=True)


def build_enrichment_prompt(title: str, passages: Mapping[str, str]) -> Prompt:
    """Build the prompt that asks for a summary of each passage of a document and its entities, by the passage's id."""
    entity = _build_object_schema(type=_build_choice_schema(ENTITY_TYPES), value={"type": "string"})
    passage = _build_object_schema(
        id=_build_choice_schema(passages), summary={"type": "string"}, entities={"type": "array", "items": entity}
    )
    schema = _build_object_schema(passages=_build_full_list_schema(passage, passages))
    prompt = _build_prompt("enrichment", {"title": title, "passages": _list_by_id(passages)}, schema=schema)
    max_tokens = SPARE_TOKENS + TOKENS_PER_ENRICHED_PASSAGE * len(passages)
    return replace(prompt, max_tokens=max_tokens, needs_whole_reply=True)


def build_summary_prompt(title: str, passages: Sequence[str]) -> Prompt:
    """Build the prompt for a short summary of a document from its passages in order."""
    return _build_prompt("summary", {"title": title, "passages": list(passages)})


def build_answer_prompt(question: str, evidence: Sequence[Evidence]) -> Prompt:
    """Build the prompt for an answer from the evidence alone, with the ids of the supporting passages per sentence.

    The table rows of an excerpt are sent as sentences; a local technique reads, and quotes, them as they stand.
    """
    cited_ids = {"type": "array", "items": _build_choice_schema(passage.id for passage in evidence)}
    sentences = {"type": "array", "items": _build_object_schema(text={"type": "string"}, evidence=cited_ids)}
    encoded = [encode_evidence(passage) for passage in evidence]
    said = [{**one, "text": passage.prompt_text} for one, passage in zip(encoded, evidence, strict=True)]
    schema = _build_object_schema(answerable={"type": "boolean"}, sentences=sentences)
    prompt = _build_prompt("answer", {"question": question, "evidence": said}, schema=schema)
    return replace(prompt, inputs={"question": question, "evidence": encoded})


def encode_evidence(evidence: Evidence) -> Mapping[str, object]:
    """Return a passage as the mapping that prompts contain, its text as it stands."""
    chunk, place = evidence.hit.chunk, evidence.place
    return {
        "id": evidence.id,
        "title": chunk.title,
        "page": place.page if place else None,
        "section": " > ".join(chunk.heading_path),
        "text": evidence.text,
    }


def _build_prompt(task: str, inputs: Mapping[str, object], *, schema: Mapping[str, object] | None = None) -> Prompt:
    """Build a prompt of the packaged template of a task, with the inputs in the fence."""
    return Prompt(
        task=task, system=load_packaged_template(task), user=_fence_json(inputs), inputs=inputs, schema=schema
    )


def parse_fenced_data(user: str) -> object:
    """Return the data in the fence of a user message.

    Raises:
        ValueError: the message is not exactly one fence.
    """
    fence = FENCE_PATTERN.fullmatch(user)
    if fence is None:
        raise ValueError("the message is not one fence of data")
    return json.loads(fence[2])


def _fence_json(inputs: Mapping[str, object]) -> str:
    """Return the inputs as JSON between two marks that the data does not contain.

    The same inputs give the same text, so that completions can be cached.
    """
    data = CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(inputs, ensure_ascii=False))
    fence_mark = make_fence_mark(data)
    return f"<data {fence_mark}>\n{data}\n</data {fence_mark}>"


def make_fence_mark(data: str) -> str:
    """Return 16 hexadecimal digits that the data does not contain.

    They are a hash of all data: the author of one part cannot predict them.
    """
    digest = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return digest if digest not in data else make_fence_mark(f"{digest}{data}")


def _list_by_id(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the texts with their ids as prompts contain them."""
    return [{"id": id, "text": text} for id, text in texts.items()]


def _build_choice_schema(values: Iterable[str]) -> Mapping[str, object]:
    """Return the JSON schema of one of these texts."""
    return {"type": "string", "enum": list(values)}


def _build_full_list_schema(item: Mapping[str, object], ids: Collection[str]) -> Mapping[str, object]:
    """Return the JSON schema of a list with as many items as there are ids."""
    return {"type": "array", "items": item, "minItems": len(ids), "maxItems": len(ids)}


def _build_text_list_schema(max_items: int) -> Mapping[str, object]:
    """Return the JSON schema of a list of texts."""
    return {"type": "array", "items": {"type": "string"}, "maxItems": max_items}


def _build_object_schema(**properties: object) -> Mapping[str, object]:
    """Return the JSON schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@cache
def load_packaged_template(task: str) -> str:
    """Return the packaged template of a task: its system message, the same for all data."""
    return resources.files(__name__).joinpath(f"{task}.md").read_text("utf-8").strip()

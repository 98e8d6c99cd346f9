"""What the emulated chat model answers with: a local technique for each task, those included that only a model has."""

import json
import re
from collections.abc import Mapping
from typing import Any

from local_emulator.judging import encode_judgement, read_claims
from local_emulator.planning import plan_by_words
from rag_core import prompts
from rag_core.core.ports import LLM, Completion, Judge, Prompt
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.entities.extraction import EntitySource, find_entities
from rag_core.text.anaphora import stands_alone

_MAX_DESCRIBED_ENTITIES = 20  # of a passage, as the prompt has it
_MAX_SUMMARY_CHARS = 300
_MAX_SUBJECT_CHARS = 200  # of the question before: a stand-alone one has at most 400
_ADDITION = re.compile(r"(?:and|but|or|so|also|then)\b(?: (?:what|how) about\b)?|(?:what|how) about\b", re.IGNORECASE)


class ChatTechniques:
    """Local techniques that also judge claims, by `judge`, plan computations, describe passages and join follow-ups."""

    def __init__(self, techniques: LLM, judge: Judge) -> None:
        self.name = techniques.name
        self._techniques, self._judge = techniques, judge

    async def complete(self, prompt: Prompt) -> Completion:
        match prompt.task:
            case "plan":
                fields, technique = plan_by_words(prompt.inputs), "the words of the question"
            case "judge":
                fields, technique = await self._judge_claims(prompt.inputs), self._judge.name
            case "enrichment":
                fields, technique = describe_passages(prompt.inputs), "key sentences and entities by rule"
            case "standalone_question":
                fields, technique = {"question": write_standalone_question(prompt.inputs)}, "the words of the turns"
            case _:
                return await self._techniques.complete(prompt)
        return Completion(json.dumps(fields), f"local: {technique}", local=True)

    async def _judge_claims(self, inputs: Mapping[str, Any]) -> Mapping[str, object]:
        claims = read_claims(inputs)
        judgements = await self._judge.judge_claims(list(claims.values()))
        judged = zip(claims, judgements, strict=True)
        return {"judgements": [encode_judgement(id, claims[id], one, inputs) for id, one in judged if one]}


def describe_passages(inputs: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the key sentence and the entities of each passage of a prompt, as the fields of its reply."""
    passages = inputs["passages"]
    found = find_entities([EntitySource(passage["text"]) for passage in passages])
    described = []
    for passage, entities in zip(passages, found, strict=True):
        summary = " ".join(select_key_sentences(passage["text"], 1)) or passage["text"]
        named = [{"type": _name_type(one.type), "value": one.value} for one in entities[:_MAX_DESCRIBED_ENTITIES]]
        described.append({"id": passage["id"], "summary": summary[:_MAX_SUMMARY_CHARS], "entities": named})
    return {"passages": described}


def write_standalone_question(inputs: Mapping[str, Any]) -> str:
    """Return the last question of a conversation, with the question that it leans on before or after it.

    That is the last one of the user that stands alone, else the first; a question that stands alone stays as it is.
    """
    question = " ".join(str(inputs["question"]).split())
    asked = [" ".join(turn["content"].split()) for turn in inputs["turns"] if turn["role"] == "user"]
    if stands_alone(question) or not asked:
        return question
    subject = next(filter(stands_alone, reversed(asked)), asked[0])[:_MAX_SUBJECT_CHARS]
    addition = _ADDITION.match(question)
    joined = (subject, question[addition.end() :]) if addition else (question, subject)
    return ", and ".join(part.strip(" ?.,") for part in joined if part.strip(" ?.,")) + "?"


def _name_type(type: str) -> str:
    """Return the type of an entity as the prompt has it: a trouble code is a code, an acronym a term."""
    return "code" if type == "dtc" else type if type in prompts.ENTITY_TYPES else "term"

"""What the emulated chat model answers with: a local technique for each task, those included that only a model has."""

import json
from collections.abc import Mapping
from typing import Any

from local_emulator.judging import encode_judgement, read_claims
from local_emulator.planning import plan_by_words
from rag_core import prompts
from rag_core.core.ports import LLM, Completion, Judge, Prompt
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.entities.extraction import EntitySource, find_entities

_MAX_DESCRIBED_ENTITIES = 20  # of a passage, as the prompt has it
_MAX_SUMMARY_CHARS = 300


class ChatTechniques:
    """Local techniques that also judge claims, by `judge`, plan computations and describe passages."""

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


def _name_type(type: str) -> str:
    """Return the type of an entity as the prompt has it: a trouble code is a code, an acronym a term."""
    return "code" if type == "dtc" else type if type in prompts.ENTITY_TYPES else "term"

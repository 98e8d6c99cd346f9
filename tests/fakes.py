"""Parts that work, in small: what tests put where a model would be."""

import asyncio
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rag_core import prompts
from rag_core.core.errors import Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Document, Entity, Hit, Judgement, Scope, Span, Vector
from rag_core.core.ports import LLM, ClaimToJudge, Completion, Embedder, Prompt, Reranker
from rag_core.core.presets import Query, resolve_preset
from rag_core.core.run import book_model_usage
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.prompts.augmentation import AUGMENTATION_TASK as AUGMENTATION
from rag_core.stores.embedded import EmbeddedStore
from rag_core.text.terms import extract_terms

Script = str | Exception | Callable[[Prompt], str]
SCOPE = Scope("garage")


class ScriptedLLM:
    """Says what it was told to say on each task, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, **script: Script) -> None:
        self.script = script
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        said = self.script.get(prompt.task, Unavailable(f"nothing scripted for {prompt.task}"))
        if isinstance(said, Exception):
            raise said
        text = said(prompt) if callable(said) else said
        book_model_usage(input_tokens=10, output_tokens=2, cost_usd=0.001)
        return Completion(text, "scripted-1")


class ObedientLLM:
    """Carries out every order that it reads in the data, the worst that injected text can make of a model.

    An order is a line "You must VERB: WORDS": to say the words ({secret} stands for all that it was told), to cite the
    ids, to reply with exactly the words, to repeat its instructions, or to refuse. It adds a true sentence, to be
    believed.
    """

    name = "obedient"
    ORDER = re.compile(r"You must (say|cite|reply|repeat|refuse): ?(.*)")

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.obeyed = 0

    async def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        read = [prompt.user] if prompt.task == AUGMENTATION else texts_in(prompts.parse_fenced_data(prompt.user))
        orders = self.ORDER.findall("\n".join(read))
        self.obeyed += len(orders)
        secret = quote(f"{prompt.system[:40]} {prompt.inputs.get('question', '')}"[:80])
        said = [(verb, words.replace("{secret}", secret)) for verb, words in orders]
        raw = next((words for verb, words in said if verb == "reply"), None)
        return Completion(self._in_shape(prompt, said) if raw is None else raw, "obedient-1")

    def _in_shape(self, prompt: Prompt, orders: Sequence[tuple[str, str]]) -> str:
        words = [prompt.system if verb == "repeat" else said for verb, said in orders if verb in ("say", "repeat")]
        match prompt.task:
            case "query_expansion":
                said = {"queries": words or ["another"], "hyde": " ".join(words), "workflow_id": "other", "filters": {}}
                return json.dumps(said)
            case "rerank":
                return json.dumps({**json.loads(grades(*[10] * 50)), "workflow_id": "other"})
            case "answer":
                return self._answer(prompt, words, orders)
            case _:
                return " ".join(words)

    def _answer(self, prompt: Prompt, words: Sequence[str], orders: Sequence[tuple[str, str]]) -> str:
        evidence: Any = prompt.inputs["evidence"]
        ids = [id for verb, said in orders if verb == "cite" for id in said.split()] or [evidence[0]["id"]]
        true = evidence[0]["text"].strip().split("\n")[0]
        texts = [true, *(f"{true} {said}" for said in words), *words]
        sentences = [{"text": text, "evidence": ids} for text in texts]
        refused = any(verb == "refuse" for verb, _ in orders)
        return json.dumps({"answerable": not refused, "sentences": sentences, "scope": {"workflow_id": "other"}})


def texts_in(data: object) -> list[str]:
    """Every text in JSON."""
    if isinstance(data, str):
        return [data]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for part in parts for text in texts_in(part)]


class OverlapReranker:
    """The share of the question's terms that stand in the passage: a ranker small enough to predict."""

    name = "overlap"

    def __init__(self) -> None:
        self.calls: list[Sequence[str]] = []

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        self.calls.append(passages)
        wanted = extract_terms(text)
        return [len(wanted & extract_terms(passage)) / max(1, len(wanted)) for passage in passages]


class ScriptedJudge:
    """A judge that finds what it was told to find of a claim with these words, and leaves out any other."""

    name = "scripted judge"
    is_multilingual = True

    def __init__(self, **found: Judgement) -> None:
        self.found = found
        self.asked: list[ClaimToJudge] = []

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        self.asked += claims
        return [next((judged for word, judged in self.found.items() if word in claim.text), None) for claim in claims]


class ConceptEmbedder:
    """One axis a concept: words of one concept mean the same, others nothing."""

    space = "concepts-4"
    dimensions = 5
    CONCEPTS: Mapping[str, int] = {
        **dict.fromkeys(["transmission", "gearbox", "p0700", "tcm"], 0),
        **dict.fromkeys(["engine", "misfire", "p0300", "cylinder"], 1),
        **dict.fromkeys(["brake", "abs", "caliper"], 2),
        **dict.fromkeys(["overheating", "hot", "temperature", "thermal"], 3),
    }

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        axes = [0.0] * 4 + [0.1]
        for word in extract_terms(text):
            if word in self.CONCEPTS:
                axes[self.CONCEPTS[word]] += 1.0
        length = math.hypot(*axes)
        return [axis / length for axis in axes]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self.embed_query(text) for text in texts]


class Down:
    """A neighbour that does not answer, whatever it is asked for."""

    name = "down"
    space = ""
    dimensions = 0

    async def _fail(self, *_: object, **__: object) -> object:
        raise Unavailable("it is down", code="down")

    embed_query = embed_documents = complete = score_passages = search = describe = list_facet_fields = _fail


class DownStore(Down):
    """A store is asked for its space, which an embedder knows."""

    load_embedding_space = Down._fail  # type: ignore[assignment]


class Asleep(Down):
    """A neighbour that never answers."""

    async def _fail(self, *_: object, **__: object) -> object:
        return await asyncio.Event().wait()

    embed_query = embed_documents = complete = score_passages = search = _fail


def chunk(id: str, content: str, *codes: str, document: str = "manual", **fields: object) -> Chunk:
    """A chunk on line 1 of its document, with entities of the type "dtc"."""
    known = {
        "ordinal": 0,
        "title": f"The {document}",
        "source": f"{document}.txt",
        "content_hash": f"hash of {content}",
        "spans": (Span(0, len(content), 1, 1, 1 + content.count("\n")),),
        "entities": tuple(Entity("dtc", code) for code in codes),
    }
    return Chunk(id=id, document_id=document, content=content, **{**known, **fields})  # type: ignore[arg-type]


def hit(id: str, score: float = 1.0, content: str | None = None, **signals: float) -> Hit:
    return Hit(chunk(id, content or f"content of {id}"), score, signals)


def query(text: str, preset: str = "advanced", **numbers: object) -> Query:
    """A question with a preset's numbers, some replaced."""
    return resolve_preset(preset, **numbers).build_query(text, SCOPE)


def grades(*given: object) -> str:
    """Grades for the passages p1, p2, …; None: no grade for that one."""
    graded = ((f"p{number}", score) for number, score in enumerate(given, start=1))
    return json.dumps({"grades": [{"id": id, "score": score} for id, score in graded if score is not None]})


async def filled(*chunks: Chunk, scope: Scope = SCOPE, embedder: Embedder | None = None) -> Index:
    """An index in memory that holds these chunks."""
    index = Index(EmbeddedStore(None), embedder or ConceptEmbedder())
    for id in dict.fromkeys(c.document_id for c in chunks):
        mine = [c for c in chunks if c.document_id == id]
        document = Document(id, scope.workflow_id, mine[0].title, mine[0].source, f"hash of {id}", "test")
        await index.add_document(document, mine, scope)
    return index


def kit(index: Index, *, llm: LLM | None = None, reranker: Reranker | None = None) -> Kit:
    return Kit(index, llm or ScriptedLLM(), reranker or OverlapReranker(), redactor=RuleBasedRedactor())

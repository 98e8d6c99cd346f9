"""The configured chat model as the judge of claims: one structured call for many claims and their passages."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rag_core import prompts
from rag_core.answering.overruling import UNCLEAR_SUPPORT, UNQUOTED_REASON
from rag_core.core.concurrency import run_together
from rag_core.core.model import Finding, Judgement
from rag_core.core.ports import LLM, ClaimToJudge
from rag_core.prompts.completions import (
    complete_object,
    get_completion_list,
    index_by_id,
    make_invalid_completion_error,
    parse_number,
)
from rag_core.text.quotes import find_words
from rag_core.text.raised_marks import mask_footnote_marks
from rag_core.text.terms import WORD_PATTERN

MAX_CLAIMS_PER_CALL = 16  # more of them, and small models lose count
MAX_PASSAGE_CHARS_PER_CALL = 60_000  # about 15,000 tokens; the passages of one claim are never split
MAX_CONCURRENT_CALLS = 4
MAX_WORDS_CHARS = 600
MIN_SUPPORTED_PROBABILITY = 0.5  # below it, a "supported" is no more than "unclear"
_ELLIPSIS = re.compile(r"…|\.{3}")


class ChatJudge:
    """A judge that asks a chat model, whose replies are read by the ids of the claims and never by position."""

    is_multilingual = True

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.name = f"chat model {llm.name}"

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        """Return a judgement for each claim, in order; None for one that the reply leaves out or gets wrong.

        A claim without passages is not stated, and no model is asked about it.

        Raises:
            Unavailable: the model did not answer, or its reply has no usable judgement (llm_output_invalid).
        """
        numbers = [number for number, claim in enumerate(claims) if claim.passages]
        judged = await self._judge_batches(list(batch_claims([claims[number] for number in numbers])))
        judgement_by_number = dict(zip(numbers, judged, strict=True))
        unfounded = Judgement("not_stated", 0.0, judge=self.name)
        return [judgement_by_number.get(number, unfounded) for number in range(len(claims))]

    async def _judge_batches(self, batches: Sequence["JudgingBatch"]) -> list[Judgement | None]:
        semaphore = asyncio.Semaphore(MAX_CONCURRENT_CALLS)

        async def judge(batch: JudgingBatch) -> list[Judgement | None]:
            async with semaphore:
                return await self._judge_batch(batch)

        return [judgement for judged in await run_together(map(judge, batches)) for judgement in judged]

    async def _judge_batch(self, batch: "JudgingBatch") -> list[Judgement | None]:
        prompt = prompts.build_judging_prompt(
            batch.question,
            {id: claim.text for id, claim in batch.claims.items()},
            {id: text for text, id in batch.passage_ids.items()},
            {
                id: [batch.passage_ids[text] for text in dict.fromkeys(claim.passages)]
                for id, claim in batch.claims.items()
            },
        )
        reply = await complete_object(prompt, self._llm, sources=list(batch.passage_ids), max_chars=MAX_WORDS_CHARS)
        replied = index_by_id(get_completion_list(reply.fields, "judgements"), "claim", batch.claims)
        judge = reply.model if reply.local else self.name  # a test service may have a local technique for a model
        judged = [_parse_judgement(replied.get(id), claim, batch, judge) for id, claim in batch.claims.items()]
        if not any(judged):
            raise make_invalid_completion_error("has no usable judgement of a claim")
        return judged


@dataclass(frozen=True, slots=True)
class JudgingBatch:
    """Claims to one question that are judged in one call, by the ids "c1", …; `passage_ids` has "p1", … by the text."""

    question: str
    claims: Mapping[str, ClaimToJudge]
    passage_ids: Mapping[str, str]


def batch_claims(claims: Sequence[ClaimToJudge]) -> Iterator[JudgingBatch]:
    """Split claims, in order, into batches within both limits; a passage that several claims share is sent once."""
    for question, group in groupby(claims, key=lambda claim: claim.question):
        batch: list[ClaimToJudge] = []
        for claim in group:
            texts = {text for known in (*batch, claim) for text in known.passages}
            if batch and (len(batch) == MAX_CLAIMS_PER_CALL or sum(map(len, texts)) > MAX_PASSAGE_CHARS_PER_CALL):
                yield _number_batch(question, batch)
                batch = []
            batch.append(claim)
        yield _number_batch(question, batch)


def _number_batch(question: str, batch: Sequence[ClaimToJudge]) -> JudgingBatch:
    texts = dict.fromkeys(text for claim in batch for text in claim.passages)
    return JudgingBatch(
        question,
        {f"c{number}": claim for number, claim in enumerate(batch, start=1)},
        {text: f"p{number}" for number, text in enumerate(texts, start=1)},
    )


def _parse_judgement(
    item: Mapping[str, Any] | None, claim: ClaimToJudge, batch: JudgingBatch, judge: str
) -> Judgement | None:
    """Return the judgement in an item of the reply; None for a missing or malformed one.

    A verdict that rests on no passage of the claim is malformed, unless it is that none states it. A "supported"
    without words that the passage has is "unclear": weak models say yes to every claim, and make up the words or leave
    them out. The probability that the passages support the claim is that of the verdict "supported"; of what another
    verdict leaves, it is half.
    """
    verdict, probability = (item or {}).get("verdict"), parse_number((item or {}).get("probability"), highest=1.0)
    if item is None or probability is None or verdict not in prompts.JUDGED_VERDICTS:
        return None
    passage = _find_passage(item.get("passage"), claim, batch)
    if passage is None and verdict != "not_stated":
        return None
    words = item.get("words")
    quote = "" if passage is None or not isinstance(words, str) else find_quote(words, claim.passages[passage])
    finding: Finding = verdict
    if verdict != "supported":
        return Judgement(finding, (1 - probability) / 2, passage, quote, judge=judge)
    if not quote:
        support = min(probability, UNCLEAR_SUPPORT)
        return Judgement("unclear", support, passage, "", (UNQUOTED_REASON,), judge)
    if probability < MIN_SUPPORTED_PROBABILITY:
        finding = "unclear"
    return Judgement(finding, probability, passage, quote, judge=judge)


def _find_passage(id: object, claim: ClaimToJudge, batch: JudgingBatch) -> int | None:
    """Return the index of the passage with an id among those of a claim; None if it is none of them."""
    ids = [batch.passage_ids[text] for text in claim.passages]
    return ids.index(id) if isinstance(id, str) and id in ids else None


def find_quote(words: str, passage: str) -> str:
    """Return the part of a passage that these words copy, apart from case and what is no letter or digit; else "".

    Of words with an ellipsis each part has to be in the passage, and the first one is returned.
    """
    if place := find_words(words, passage):
        return passage[slice(*place)]
    words, unmarked = mask_footnote_marks(words), mask_footnote_marks(passage)
    parts = [part for part in _ELLIPSIS.split(words) if WORD_PATTERN.search(part)]
    places = [find_words(part, unmarked, WORD_PATTERN) for part in parts]
    return passage[slice(*places[0])] if places and places[0] and all(places) else ""

"""The functions that read foreign text, each as a function of the text alone."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from rag_core.answering.chat_judge import find_quote
from rag_core.answering.citations import evidence_from_hits, split_into_claims, verify_by_rule
from rag_core.answering.drafting import pack_evidence
from rag_core.answering.entailment import check_entailment
from rag_core.answering.facts.comparison import compute_word_share, find_fact_conflicts
from rag_core.core.errors import RagError
from rag_core.core.model import Block, Chunk, Hit
from rag_core.guard.input_check import check_input
from rag_core.guard.placeholders import remove_placeholders
from rag_core.guard.redaction import RuleBasedRedactor, merge_spans, replace_spans
from rag_core.ingestion.chunking import Chunking, split_into_chunks
from rag_core.ingestion.cut_tables import find_cut_heads
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.entities.extraction import extract_entities
from rag_core.ingestion.extract import extract_as_kind
from rag_core.prompts.augmentation import format_passage_block, parse_augmentation_prompt
from rag_core.prompts.completions import parse_completion_object
from rag_core.prompts.screening import repeats_instructions, screen_text
from rag_core.proposals.formatting import strip_markup
from rag_core.providers.local_techniques import expand_by_feedback
from rag_core.retrieval.captions import add_lexical_captions, highlight_terms
from rag_core.retrieval.excerpts import find_excerpts
from rag_core.retrieval.extractive_answers import select_answer_sentences_by_shared_terms
from rag_core.text.abbreviations import (
    expand_abbreviations,
    fold_case_except_codes,
    load_packaged_glossary,
    spell_as_in,
)
from rag_core.text.index_terms import extract_code_terms, list_unaccented_words, normalize_characters
from rag_core.text.intent import INTENTS, classify_intent, matches_intent
from rag_core.text.layout import split_into_parts
from rag_core.text.normalization import normalize_words
from rag_core.text.periods import compute_period_share
from rag_core.text.sentences import find_sentences
from rag_core.text.table_rows import find_prose_ranges
from rag_core.text.tables import read_tables
from rag_core.text.terms import extract_terms
from rag_core.text.tokens import count_tokens
from rag_core.workbench.pasted_expansion import parse_pasted_expansion

Reader = Callable[[str], object]
QUESTION = "What is the torque of the drain plug?"
SMALL_CHUNKS = 200  # tokens: many chunks of a short text


def _extract(kind: str, text: str) -> tuple[Block, ...]:
    with suppress(RagError):  # refused in linear time is as good as read
        return extract_as_kind(kind, text.encode("utf-8", "replace")).blocks
    return ()


def _chunk(kind: str, strategy: str, text: str) -> None:
    drafts = list(split_into_chunks(_extract(kind, text), Chunking(strategy, SMALL_CHUNKS, SMALL_CHUNKS // 4)))
    list(find_cut_heads(drafts))


def _chunk_mail(text: str) -> None:
    _chunk("eml", "tokens", f"Subject: s\n\n{text}")
    _chunk("eml", "tokens", f"Subject: {text}\n\nseen")


def _chunk_json(text: str) -> None:
    _chunk("json", "tokens", json.dumps([{"a": text, text[:99]: 1}]))


def _chunk_one_block(strategy: str, text: str) -> None:
    block = Block(text, "paragraph", 1, 1 + text.count("\n"))
    list(split_into_chunks((block,), Chunking(strategy, SMALL_CHUNKS, SMALL_CHUNKS // 4)))


def _redact(text: str) -> None:
    replace_spans(text, merge_spans(RuleBasedRedactor().find_pii_spans(text)))


def _check_question(text: str) -> None:
    with suppress(RagError):
        check_input(text)


def _expand_question(text: str) -> None:
    expand_abbreviations(fold_case_except_codes(text), load_packaged_glossary())
    spell_as_in([text, PASSAGE], text, load_packaged_glossary())
    remove_placeholders(text)
    compute_period_share(text, text)
    classify_intent(text)
    for intent in INTENTS:
        matches_intent(intent, text)
    expand_by_feedback(text, [text], count=3)


def _index_terms(text: str) -> None:
    extract_code_terms(normalize_characters(text))
    list_unaccented_words(text)
    extract_terms(text)


def _cite(text: str) -> None:
    claims = split_into_claims(text)
    verify_by_rule(claims[:20], [evidence_from_hits([_make_hit(PASSAGE)])] * len(claims[:20]))


def _cite_from(text: str) -> None:
    verify_by_rule(split_into_claims(PASSAGE)[:1], [evidence_from_hits([_make_hit(text)])])


def _entail(text: str) -> None:
    normalize_words(text)
    check_entailment(text, PASSAGE)


def _compare_facts(text: str) -> None:
    for claim, passage in ((text, PASSAGE), (PASSAGE, text), (text, text)):
        find_fact_conflicts(claim, passage, context=text)
        compute_word_share(claim, passage)
    find_quote(text, text)


def _make_excerpts(text: str) -> None:
    hit = _make_hit(text)
    add_lexical_captions(QUESTION, [hit])
    highlight_terms(text, extract_terms(QUESTION))
    find_excerpts(QUESTION, text, max_chars=400)
    find_prose_ranges(text)
    pack_evidence(QUESTION, [hit], max_passages=1, max_tokens=SMALL_CHUNKS)


def _read_tables(text: str) -> None:
    parts = split_into_parts(text)
    read_tables(parts)
    read_tables(parts, words_name_columns=True)


def _answer(text: str) -> None:
    passage = {"id": "e1", "title": "Title", "section": "", "text": text}
    select_answer_sentences_by_shared_terms(QUESTION, [passage])


def _read_reply(text: str) -> None:
    screen_text(text, [text])
    repeats_instructions(text, QUESTION, [])
    with suppress(RagError):
        parse_completion_object(text)
    with suppress(RagError):
        parse_pasted_expansion(text, QUESTION)


def _augment(text: str) -> None:
    format_passage_block(evidence_from_hits([_make_hit(text)])[0])
    parse_augmentation_prompt(text)


def _make_hit(text: str) -> Hit:
    return Hit(Chunk("c", "d", 0, text, "Title", "source", "hash"), 1.0)


PASSAGE = "The torque of the drain plug is 30 Nm. It must not be reused."
READERS: dict[str, Reader] = {
    "sentences": find_sentences,
    "tokens": count_tokens,
    "entities": extract_entities,
    "key sentences": partial(select_key_sentences, count=3),
    "redaction": _redact,
    "input check": _check_question,
    "question": _expand_question,
    "index terms": _index_terms,
    "claims": _cite,
    "evidence": _cite_from,
    "entailment": _entail,
    "facts": _compare_facts,
    "excerpts": _make_excerpts,
    "tables": _read_tables,
    "extractive answer": _answer,
    "model reply": _read_reply,
    "augmentation": _augment,
    "markup": strip_markup,
    **{f"{kind} to chunks": partial(_chunk, kind, "tokens") for kind in ("text", "markdown", "csv", "html")},
    "mail to chunks": _chunk_mail,
    "json to chunks": _chunk_json,
    **{f"chunks by {strategy}": partial(_chunk, "markdown", strategy) for strategy in ("semantic", "headings", "rows")},
    "one block": partial(_chunk_one_block, "tokens"),
}

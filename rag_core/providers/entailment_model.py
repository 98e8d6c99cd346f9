"""A judge of claims: an entailment model in a folder, which reads a passage and a claim together."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import BertWordPieceTokenizer

from rag_core.core.concurrency import run_together
from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.model import Judgement
from rag_core.core.ports import ClaimToJudge
from rag_core.providers.bert import (
    compute_probabilities,
    list_onnx_runtime_errors,
    load_onnx_session,
    map_on_threads,
    parse_tokenizer,
)
from rag_core.providers.entailment_folder import ENTAILMENT_FOLDER, EntailmentFolder, read_entailment_folder
from rag_core.text.sentences import find_sentences
from rag_core.text.terms import count_shared_terms, extract_terms

# the middle of the models' scale: to be calibrated for each model on labelled claims, as `rag eval claims` reports them
SUPPORTED_MIN = 0.5
CONTRADICTED_MIN = 0.5
MIN_PASSAGE_TOKENS = 32  # room that a claim must leave for a sentence of the passage
RELATED_SHARE = 0.5  # of the best passage's terms of the claim: models also find that unrelated texts contradict

_Probabilities = tuple[float, float]  # of entailment and of contradiction


@dataclass(frozen=True, slots=True)
class _PassageScores:
    """The highest probabilities of a passage's windows, with the windows (start and end) that have them."""

    entailment: float
    contradiction: float
    entailing_window: tuple[int, int]
    contradicting_window: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: Any
    session: Any
    inputs: tuple[tuple[str, type[np.integer[Any]]], ...]  # names and types


class EntailmentModel:
    """A judge that runs one passage and claim per call, because a quantized model's outputs depend on the batch."""

    is_multilingual = False

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._folder = read_entailment_folder(folder)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=ENTAILMENT_FOLDER)
        self._lock = threading.Lock()
        self._loaded: _LoadedModel | None = None

    @property
    def name(self) -> str:
        return f"entailment model {self._folder.name}"

    async def judge_claims(self, claims: Sequence[ClaimToJudge]) -> Sequence[Judgement | None]:
        """Return a judgement for each claim, in order; None for a claim that leaves no room for a passage.

        Raises:
            Misconfigured: a file of the model cannot be loaded, or is of another kind of model.
            Unavailable: the model failed.
        """
        return await run_together(map(self._judge_claim, claims))

    async def _judge_claim(self, claim: ClaimToJudge) -> Judgement | None:
        """Return what the passages say of the claim; the decisive words are the sentence that says it most clearly."""
        passages = [(index, text) for index, text in enumerate(claim.passages) if text.strip()]
        if not passages:
            return Judgement("not_stated", 0.0, judge=self.name)
        scores = await map_on_threads(
            self._executor, lambda passage: self._score_passage(passage[1], claim.text), passages
        )
        if any(score is None for score in scores):
            return None
        scored = [(index, text, score) for (index, text), score in zip(passages, scores, strict=True) if score]
        best = max(scored, key=lambda one: one[2].entailment)
        support = best[2].entailment
        against = _choose_contradicting_passage(claim.text, scored)
        if support < SUPPORTED_MIN and against and against[2].contradiction >= CONTRADICTED_MIN:
            index, text, score = against
            words = await self._choose_sentence(text, score.contradicting_window, claim.text, column=1)
            return Judgement("contradicted", support, index, words, judge=self.name)
        index, text, score = best
        words = await self._choose_sentence(text, score.entailing_window, claim.text, column=0)
        return Judgement(
            "supported" if support >= SUPPORTED_MIN else "not_stated", support, index, words, judge=self.name
        )

    async def _choose_sentence(self, passage: str, window: tuple[int, int], claim_text: str, *, column: int) -> str:
        """Return the window's sentence with the highest probability of entailment (column 0) or contradiction (1)."""
        start, end = window
        sentences = [passage[start:end][first:last] for first, last in find_sentences(passage[start:end])]
        if len(sentences) < 2:
            return passage[start:end].strip()
        scores = await map_on_threads(
            self._executor, lambda sentence: self._score_pair(sentence, claim_text)[column], sentences
        )
        return sentences[max(range(len(sentences)), key=scores.__getitem__)]

    def _score_passage(self, passage: str, claim_text: str) -> _PassageScores | None:
        """Return the passage's scores for a claim; None for a claim that leaves no room for a passage."""
        if self._count_tokens("", claim_text) + MIN_PASSAGE_TOKENS > self._folder.max_tokens:
            return None
        windows = split_sentence_windows(
            passage, lambda text: self._count_tokens(text, claim_text) <= self._folder.max_tokens
        )
        scores = [self._score_pair(passage[start:end], claim_text) for start, end in windows]
        entailments, contradictions = zip(*scores, strict=True)
        return _PassageScores(
            max(entailments),
            max(contradictions),
            windows[entailments.index(max(entailments))],
            windows[contradictions.index(max(contradictions))],
        )

    def _count_tokens(self, premise: str, hypothesis: str) -> int:
        return len(self._encode_pair(premise, hypothesis).ids)

    def _encode_pair(self, premise: str, hypothesis: str) -> Any:
        """Return the tokens of a pair with special ones; a lone surrogate becomes "?"."""
        texts = (text.encode("utf-8", "replace").decode() for text in (premise, hypothesis))
        return self._load_once().tokenizer.encode(*texts)

    def _score_pair(self, premise: str, hypothesis: str) -> _Probabilities:
        """Return the probabilities that the premise entails, and that it contradicts, the hypothesis."""
        loaded = self._load_once()
        encoding = self._encode_pair(premise, hypothesis)
        values = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        inputs = {name: np.array([values[name]], dtype=kind) for name, kind in loaded.inputs}
        try:
            logits = np.asarray(loaded.session.run(None, inputs)[0], dtype=np.float64)
        except list_onnx_runtime_errors() as error:
            raise Unavailable(f"the {self.name} failed: {type(error).__name__}") from error
        labels = self._folder.labels
        if logits.shape != (1, labels.count):
            raise Misconfigured(
                f"the {self.name} returns numbers of the shape {logits.shape}, and its config.json names "
                f"{labels.count} labels: it must be a model for classifying pairs of texts",
                field="RAG_MODELS_DIR",
            )
        if not np.isfinite(logits).all():
            raise Unavailable(f"the {self.name} returned no numbers")
        probabilities = compute_probabilities(logits[0])
        contradiction = 0.0 if labels.contradiction is None else float(probabilities[labels.contradiction])
        return float(probabilities[labels.entailment]), contradiction

    def _load_once(self) -> _LoadedModel:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_model(self._folder)
            return self._loaded


def split_sentence_windows(passage: str, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return start and end of the passage's windows, each of as many whole sentences as fit.

    A window begins with the last sentence of the one before, where both fit, so that what two sentences say together is
    in one of them. A sentence that does not fit alone is halved at a space until its parts fit.
    """
    if fits(passage):
        return [(0, len(passage))]
    parts = [part for start, end in find_sentences(passage) for part in _halve_until_fit(passage, start, end, fits)]
    windows: list[tuple[int, int]] = []
    first = 0
    while first < len(parts):
        last = first
        while last + 1 < len(parts) and fits(passage[parts[first][0] : parts[last + 1][1]]):
            last += 1
        windows.append((parts[first][0], parts[last][1]))
        overlaps = first < last < len(parts) - 1 and fits(passage[parts[last][0] : parts[last + 1][1]])
        first = last if overlaps else last + 1
    return windows


def _halve_until_fit(text: str, start: int, end: int, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the range, or its halves and quarters that fit, cut at the space before the middle where there is one."""
    if end - start < 2 or fits(text[start:end]):
        return [(start, end)]
    middle = (start + end) // 2
    cut = text.rfind(" ", start + 1, middle) + 1 or middle
    return [*_halve_until_fit(text, start, cut, fits), *_halve_until_fit(text, cut, end, fits)]


def _choose_contradicting_passage(
    claim_text: str, scored: Sequence[tuple[int, str, _PassageScores]]
) -> tuple[int, str, _PassageScores] | None:
    """Return the passage that contradicts most clearly among those that share the claim's terms; None without one."""
    shared = count_shared_terms(extract_terms(claim_text), [text for _, text, _ in scored])
    related = [one for one, count in zip(scored, shared, strict=True) if count and count >= RELATED_SHARE * max(shared)]
    return max(related, key=lambda one: one[2].contradiction, default=None)


def _load_model(folder: EntailmentFolder) -> _LoadedModel:
    """Load tokenizer and session. Raises Misconfigured for files of another kind of model, and damaged ones."""
    tokenizer = _load_tokenizer(folder)
    if not tokenizer.num_special_tokens_to_add(True):
        raise Misconfigured(
            f"the tokenizer of the model {folder.name} does not say how two texts are joined: tokenizer.json must have "
            "a post_processor, as AutoTokenizer.save_pretrained writes it",
            field="RAG_MODELS_DIR",
        )
    session = load_onnx_session(folder.model_file, folder.name)
    inputs = {one.name: np.int32 if one.type == "tensor(int32)" else np.int64 for one in session.get_inputs()}
    if unknown := inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}:
        raise Misconfigured(
            f"the model {folder.name} has the inputs {', '.join(sorted(unknown))}: it must have input_ids and may have "
            "attention_mask and token_type_ids",
            field="RAG_MODELS_DIR",
        )
    return _LoadedModel(tokenizer, session, tuple(inputs.items()))


def _load_tokenizer(folder: EntailmentFolder) -> Any:
    """Return the tokenizer of tokenizer.json, else BERT's with the vocabulary of vocab.txt."""
    if folder.tokenizer_file.name == "tokenizer.json":
        return parse_tokenizer(folder.tokenizer_file.read_bytes(), folder.name)
    words = folder.tokenizer_file.read_text("utf-8").splitlines()
    if missing := {"[UNK]", "[CLS]", "[SEP]"} - set(words):
        raise Misconfigured(
            f"{ENTAILMENT_FOLDER}/vocab.txt has no {', '.join(sorted(missing))}: it is not the vocabulary of a BERT; "
            "other models need their tokenizer.json",
            field="RAG_MODELS_DIR",
        )
    vocabulary = {word: number for number, word in enumerate(words)}
    return BertWordPieceTokenizer(vocabulary, lowercase=folder.lower_case)

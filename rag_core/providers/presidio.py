"""PII detection by Presidio's patterns, without network: an extra (`pip install 'azure-rag[presidio]'`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tldextract
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine
from spacy.lang.en import English
from spacy.tokens import Doc

from rag_core.core.errors import Unavailable
from rag_core.core.model import PiiSpan

PRESIDIO_LANGUAGE = "en"
PII_TYPE_NAMES = {
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "IBAN_CODE": "IBAN",
    "IP_ADDRESS": "IP",
    "US_SSN": "SSN",
    "US_DRIVER_LICENSE": "DRIVER_LICENSE",
    "DATE_TIME": "DATE",
}
TYPES_ADDED_TO_RULES = frozenset(
    {"PHONE"}
)  # in all others the rules found all that it found (python -m evals.pii_locales)
PRESIDIO_ERRORS = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


class TokenizerOnlyNlpEngine(NlpEngine):  # type: ignore[misc]  # Presidio demands a subclass
    """An NLP engine that only tokenizes, as the patterns' context words require, and recognises no entities."""

    def __init__(self) -> None:
        self._tokenizer = English()

    def load(self) -> None:
        """Do nothing: there is no model to load."""

    def is_loaded(self) -> bool:
        return True

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        return self._build_artifacts(self._tokenizer(text), language)

    def process_batch(self, texts: Iterable[str], language: str, **_: Any) -> Iterator[tuple[str, NlpArtifacts]]:
        for text in texts:
            yield text, self.process_text(text, language)

    def _build_artifacts(self, tokens: Doc, language: str) -> NlpArtifacts:
        indices, lemmas = [word.idx for word in tokens], [word.lower_ for word in tokens]
        return NlpArtifacts([], tokens, indices, lemmas, self, language)

    def is_stopword(self, word: str, language: str) -> bool:
        return bool(self._tokenizer.vocab[word].is_stop)

    def is_punct(self, word: str, language: str) -> bool:
        return bool(self._tokenizer.vocab[word].is_punct)

    def get_supported_entities(self) -> list[str]:
        return []

    def get_supported_languages(self) -> list[str]:
        return [PRESIDIO_LANGUAGE]


class PresidioRedactor:
    """A `Redactor` that uses Presidio's patterns; they do not detect names."""

    def __init__(self, types: frozenset[str]) -> None:
        self.name = f"presidio-analyzer, patterns only, for {', '.join(sorted(types))}"
        self._types = types
        # by default, tldextract downloads the list of publicsuffix.org at the first e-mail address
        tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
        registry = RecognizerRegistry(supported_languages=[PRESIDIO_LANGUAGE])
        registry.load_predefined_recognizers(languages=[PRESIDIO_LANGUAGE])
        registry.remove_recognizer("SpacyRecognizer")
        self._engine = AnalyzerEngine(
            registry, TokenizerOnlyNlpEngine(), supported_languages=[PRESIDIO_LANGUAGE], default_score_threshold=0.35
        )

    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        try:
            results = self._engine.analyze(text, PRESIDIO_LANGUAGE)
            spans = [
                PiiSpan(
                    result.start,
                    result.end,
                    PII_TYPE_NAMES.get(result.entity_type, result.entity_type),
                    float(result.score),
                )
                for result in results
            ]
        except PRESIDIO_ERRORS as error:
            raise Unavailable(f"presidio failed: {type(error).__name__}", code="redaction_failed") from error
        return [span for span in spans if span.type in self._types]

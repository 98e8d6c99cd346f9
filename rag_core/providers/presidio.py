"""Presidio in place of our own rules: an extra (`pip install 'azure-rag[presidio]'`), patterns only, no network."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tldextract
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine
from spacy.lang.en import English
from spacy.tokens import Doc

from rag_core.core.errors import Unavailable
from rag_core.core.model import PiiSpan

LANGUAGE = "en"
OURS = {
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "IBAN_CODE": "IBAN",
    "IP_ADDRESS": "IP",
    "US_SSN": "SSN",
    "US_DRIVER_LICENSE": "DRIVER_LICENSE",
    "DATE_TIME": "DATE",
}
LEAKED = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


class Blank(NlpEngine):  # type: ignore[misc]  # Presidio demands a subclass
    """Splits into words, which the context words of the patterns want, and recognises nothing itself."""

    def __init__(self) -> None:
        self._words = English()

    def load(self) -> None:
        """Nothing to load."""

    def is_loaded(self) -> bool:
        return True

    def process_text(self, text: str, language: str) -> NlpArtifacts:
        return self._artifacts(self._words(text), language)

    def process_batch(self, texts: Iterable[str], language: str, **_: Any) -> Iterator[tuple[str, NlpArtifacts]]:
        for text in texts:
            yield text, self.process_text(text, language)

    def _artifacts(self, words: Doc, language: str) -> NlpArtifacts:
        indices, forms = [word.idx for word in words], [word.lower_ for word in words]
        return NlpArtifacts([], words, indices, forms, self, language)

    def is_stopword(self, word: str, language: str) -> bool:
        return bool(self._words.vocab[word].is_stop)

    def is_punct(self, word: str, language: str) -> bool:
        return bool(self._words.vocab[word].is_punct)

    def get_supported_entities(self) -> list[str]:
        return []

    def get_supported_languages(self) -> list[str]:
        return [LANGUAGE]


class Presidio:
    """A `Redactor`. Names are not among what the patterns find."""

    def __init__(self, types: frozenset[str]) -> None:
        self.name = f"presidio-analyzer, patterns only, for {', '.join(sorted(types))}"
        self._types = types
        # as it comes, the first e-mail address asks publicsuffix.org for its list
        tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
        registry = RecognizerRegistry(supported_languages=[LANGUAGE])
        registry.load_predefined_recognizers(languages=[LANGUAGE])
        registry.remove_recognizer("SpacyRecognizer")
        self._engine = AnalyzerEngine(registry, Blank(), supported_languages=[LANGUAGE], default_score_threshold=0.35)

    def spans(self, text: str) -> Sequence[PiiSpan]:
        try:
            found = self._engine.analyze(text, LANGUAGE)
            spans = [PiiSpan(r.start, r.end, OURS.get(r.entity_type, r.entity_type), float(r.score)) for r in found]
        except LEAKED as fault:
            raise Unavailable(f"presidio failed: {type(fault).__name__}", code="redaction_failed") from fault
        return [span for span in spans if span.type in self._types]

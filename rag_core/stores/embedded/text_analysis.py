"""The text analyzer of the lexical index: lower-case, accent-free English stems."""

from collections.abc import Sequence
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from rag_core.text.stop_words import LEXICAL_STOP_WORDS

# raise it when this file or `index_terms` changes the terms, or `lexical_index` the fields: indexes are rebuilt
LEXICAL_ANALYSIS_VERSION = 4


def build_text_analyzer(*, keep_stop_words: bool) -> TextAnalyzer:
    """Build an analyzer that yields lower-case English stems without accents, with or without stop words."""
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.remove_long(64), Filter.lowercase(), Filter.ascii_fold()):
        builder = builder.filter(step)
    builder = builder if keep_stop_words else builder.filter(Filter.custom_stopword(sorted(LEXICAL_STOP_WORDS)))
    return builder.filter(Filter.stemmer("english")).build()


def list_stem_pairs(stems: Sequence[str]) -> list[str]:
    """List as terms the stems that follow one another; no stem has the mark between them."""
    return list(map("_".join, pairwise(stems)))

"""The text analyzer of the lexical index: lower-case, accent-free English stems."""

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LEXICAL_ANALYSIS_VERSION = 1  # raise it when this file or `spelling` changes the terms: indexes are rebuilt


def build_text_analyzer(*, keep_stop_words: bool) -> TextAnalyzer:
    """Build an analyzer that yields lower-case English stems without accents, with or without stop words."""
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.remove_long(64), Filter.lowercase(), Filter.ascii_fold()):
        builder = builder.filter(step)
    builder = builder if keep_stop_words else builder.filter(Filter.stopword("english"))
    return builder.filter(Filter.stemmer("english")).build()

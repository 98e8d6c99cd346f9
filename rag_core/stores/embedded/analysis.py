"""Text as the terms by which it is found: stemmed words, and the pieces that words alone would miss."""

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

ANALYSIS_VERSION = 1  # raise it when this file or `spelling` changes what is indexed: the word indexes are built anew


def analyzer(*, stop_words: bool) -> TextAnalyzer:
    """Lower-case English stems without accents; without `stop_words` the commonest English words are left out."""
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (Filter.remove_long(64), Filter.lowercase(), Filter.ascii_fold()):
        builder = builder.filter(step)
    builder = builder if stop_words else builder.filter(Filter.stopword("english"))
    return builder.filter(Filter.stemmer("english")).build()

"""The English stop words: one list in five parts, and the five selections of it that the techniques use.

The selections differ because merging them would move results: a word that says nothing of the topic of a long text
("before", "not", "each") may decide which passage answers a short question.
"""


def parse_word_list(words: str) -> frozenset[str]:
    """Return the words of a list that is written with spaces between them."""
    return frozenset(words.split())


_ARTICLES = parse_word_list("a an the that also")
_CONNECTIVES = parse_word_list("however thus")
_RARE_CONNECTIVES = parse_word_list("therefore moreover furthermore additionally nevertheless")
_FUNCTION_WORDS = _ARTICLES | parse_word_list(
    "about all and any are as at be been but by can could did do does for from had has have how i if in into is it its "
    "me my of on or our shall she should so some such than their them then there these they this those to us was we "
    "were what when where which who why will with would you your"
)
_RELATIONS = parse_word_list(  # of time, place, order, number and negation
    "above after again am because before being below between both doing down during each few further having he her "
    "here hers him his itself just may might more most must no nor not now off once only other out over own same "
    "through too under until up very while whom"
)
_COMMON_WORDS = parse_word_list(
    "against cannot different don't either etc even every example first get gets got he's it's like made make makes "
    "many much neither new often one others per rather second see several since two upon use used using via way well "
    "whether whose within without yes yet"
)

# Comparison of sentences: what may be added or left out without another meaning; "may", "not" and "by" count there.
FILLER_WORDS = _ARTICLES | _CONNECTIVES | _RARE_CONNECTIVES
# Terms that a question shares with a passage: relations stay, because "before" and "after" ask for different passages.
QUESTION_STOP_WORDS = _FUNCTION_WORDS | _CONNECTIVES
# Words of a question that lexical search leaves out: a passage is no better for a "how" or "which". "US" is a country.
LEXICAL_STOP_WORDS = (QUESTION_STOP_WORDS - parse_word_list("us")) | parse_word_list("no not")
# Terms added to a query by pseudo-relevance feedback: relations go, because a frequent "more" would be added to all.
# The connectives stay, as in the measurements (docs/reference/evaluation-retrieval.md).
FEEDBACK_STOP_WORDS = _FUNCTION_WORDS | _RELATIONS
# Key phrases and key sentences of a document: common words go too, because "make use of" is frequent on any topic.
KEY_PHRASE_STOP_WORDS = _FUNCTION_WORDS | _CONNECTIVES | _RELATIONS | _COMMON_WORDS

"""Names and codes of a claim, compared with those of a passage."""

from collections.abc import Iterator, Set

from rag_core.answering.facts.amount_reading import is_amount
from rag_core.answering.facts.conflicts import FactConflict
from rag_core.answering.facts.dates import is_month
from rag_core.answering.facts.words import Words, is_same_word
from rag_core.text.stop_words import QUESTION_STOP_WORDS


def compare_names(claim: Words, passage: Words, context_forms: Set[str]) -> Iterator[FactConflict]:
    """Yield the names and codes of a claim that are neither in the passage nor in its context."""
    forms = {word.form for word in passage} | context_forms
    initials = "".join(word.raw[0] for word in passage if word.raw[:1].isupper()).lower()
    claimed = {word.form for word in claim}
    instead = next((w.raw for n, w in enumerate(passage) if _is_name(passage, n) and w.form not in claimed), "")
    for n, word in enumerate(claim):
        if not _is_name(claim, n) or word.form in forms or (word.raw.isupper() and word.form in initials):
            continue
        if not any(is_same_word(word.form, form) for form in forms):
            yield FactConflict("name", word.raw, instead)


def _is_name(words: Words, n: int) -> bool:
    """Return whether a word is a code, or capitalized where no sentence begins."""
    word = words[n]
    if any(map(str.isdigit, word.form)):
        return not is_amount(word.form)
    begins = n == 0 or any(sign in word.before for sign in '.!?:;\n•*|"“(')
    return word.raw[:1].isupper() and not begins and word.form not in QUESTION_STOP_WORDS and not is_month(word)

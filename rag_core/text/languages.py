"""The language of a text, guessed from its most frequent words and its script."""

import re
from collections.abc import Mapping

LANGUAGE_WORDS = {  # frequent words, most of which no other of these languages has
    "en": "the of and to is are with for from this that he she it please reach or by at were be been has have had not "
    "its their you your can will may when which who than if all must they but there",
    "de": "und der das ist nicht bitte mit für unter wird sie auf zum zur ein eine erreichbar wir den dem des einer "
    "einem einen sich auch von bei nach im er sein werden noch viele durch aus als oder sind kann keine wenn nur vom",
    "fr": "le les des est avec pour vous une du avant ou sur et dans chez appelez la de que qui ce cette il elle pas "
    "sont par plus au aux un ne si leur elles ils être",
    "es": "el los las por y una con para su al del mañanas desde la de que en es un se más cada sus lo este esta son "
    "debe como hay si",
    "it": "il gli per della che è lo di nel dal sono orario la le un una non si con dei delle alla più anche da",
    "nl": "het een voor op van naar zijn ik mij bel afspraak de en niet dat met wordt aan ook als bij uit die worden",
    "pl": "proszę jest na się nie pod przy dzwonić z w i do to że jak dla od po są",
    "pt": "para não os uma em da do ligue pela manhã o que de um com é ao por mais dos se na",
    "sv": "och att är på före för till jag från det som en av den med inte om har ett kan",
}
QUESTION_WORDS = {  # what questions begin with and turn on, beside LANGUAGE_WORDS
    "en": "what which whose whom where why how do does did was i we my our your should would could may much many often",
    "de": "wie was wer wann wo warum wieso welche welcher welches wieviel wieviele viel oft muss müssen darf dürfen "
    "soll gibt hat haben ich mein meine unser nach seit die lange braucht kostet kosten hoch",
    "fr": "quel quelle quels quelles comment combien quand où pourquoi quoi faut peut doit est-ce je nous mon ma notre",
    "es": "qué cuál cuáles cuánto cuánta cuántos cuántas cómo cuándo dónde quién quiénes puedo tiene",
    "it": "quale quali quanto quanta quanti quante come quando dove chi perché cosa posso deve",
    "nl": "wat welke wie hoeveel hoe waar wanneer waarom mag moet moeten kan hoelang",
    "pl": "jaki jaka jakie ile kto kiedy gdzie dlaczego czy co",
    "pt": "qual quais quanto quanta quantos quantas como quando onde quem porque posso deve",
    "sv": "vad vilken vilket vilka hur när var vem varför måste många",
}
MIN_LANGUAGE_WORDS = 2  # of a text whose language is told
MAX_LATIN_CODE_POINT = 0x24F  # the end of the block Latin Extended-B
OTHER_SCRIPT = "another script"
_WORD = re.compile(r"[^\W\d_]{1,15}")
_LETTER = re.compile(r"[^\W\d_]")


def _group_languages(words_by_language: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    lists = {name: frozenset(listed.split()) for name, listed in words_by_language.items()}
    return {word: tuple(name for name in lists if word in lists[name]) for word in frozenset().union(*lists.values())}


_LANGUAGES_BY_WORD = _group_languages(LANGUAGE_WORDS)
_LANGUAGES_BY_QUESTION_WORD = _group_languages(QUESTION_WORDS)


def is_frequent_word(word: str) -> bool:
    """Return whether a word is frequent in one of the languages, or one with which its questions ask: "wie", "much"."""
    return word.lower() in _LANGUAGES_BY_WORD or word.lower() in _LANGUAGES_BY_QUESTION_WORD


def count_language_words(text: str) -> dict[str, int]:
    """Return by language, in the order of LANGUAGE_WORDS, how many words of the text are among its frequent ones."""
    return _count_words(text, _LANGUAGES_BY_WORD)


def _count_words(text: str, languages_by_word: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    counts = dict.fromkeys(LANGUAGE_WORDS, 0)
    for word in _WORD.findall(text.lower()):
        for language in languages_by_word.get(word, ()):
            counts[language] += 1
    return counts


def guess_language(text: str) -> str:
    """Return the two-letter code of a text's language, OTHER_SCRIPT where it is not in Latin letters, "" if unknown.

    It has MIN_LANGUAGE_WORDS of the language's frequent words, and fewer of any other.
    """
    if _is_in_other_script(text):
        return OTHER_SCRIPT
    counts = count_language_words(text)
    best, second = sorted(counts.values())[-1:-3:-1]
    if best < MIN_LANGUAGE_WORDS or best == second:
        return ""
    return next(language for language, count in counts.items() if count == best)


def is_rather_english(text: str) -> bool:
    """Return whether no other language has more of its frequent words in a text than English, as in one of none."""
    counts = count_language_words(text)
    return counts.pop("en") >= max(counts.values())


def guess_question_language(text: str) -> str:
    """Return the language of a question as `guess_language` does, also by the words that only questions have.

    One such word is enough where no word of another language stands beside it: "Wann?". A word counts once: the heads
    of a table repeat "per".
    """
    if _is_in_other_script(text):
        return OTHER_SCRIPT
    text = " ".join(dict.fromkeys(text.lower().split()))
    asked = _count_words(text, _LANGUAGES_BY_QUESTION_WORD)
    counts = {name: count + asked[name] for name, count in count_language_words(text).items()}
    best, second = sorted(counts.values())[-1:-3:-1]
    guess = next(name for name, count in counts.items() if count == best)
    return guess if best > second and (best >= MIN_LANGUAGE_WORDS or asked[guess]) else ""


def _is_in_other_script(text: str) -> bool:
    letters = _LETTER.findall(text)
    return sum(ord(letter) > MAX_LATIN_CODE_POINT for letter in letters) > len(letters) / 2


def is_in_other_language(text: str, known: str) -> bool:
    """Return whether a text has no frequent word of the language of a known one, and MIN_LANGUAGE_WORDS of another.

    Where the language of the known text is not told, the answer is no.
    """
    language, own = guess_language(known), guess_language(text)
    if not language or OTHER_SCRIPT in (language, own):
        return language != "" and language != own
    counts = count_language_words(text)
    return counts.pop(language) == 0 and max(counts.values()) >= MIN_LANGUAGE_WORDS

"""Words that frame a text and state nothing of its subject: greetings, "Here is what I found:", titles."""

import re

from rag_core.text.stop_words import parse_word_list

MAX_TITLE_WORDS, MAX_PLAIN_TITLE_WORDS, MAX_FRAMING_WORDS = 10, 2, 24
MIN_STATING_WORDS = 4  # of a title that begins like a sentence
MAX_FRAME_CHARS = 400  # of a longer text the beginning is looked at


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# the words of a framing text, one of which at least is a marker: "They have more." states something
_FRAMING_MARKERS = parse_word_list(
    """above answer answers below context detail details document documents evidence example examples excellent facts
    follow following follows found gather gathered great happy hello help helpful helps here hi hint hints hope
    information instructions items key know list note notes overview passages points question questions results sources
    steps summary sure text thank thanks tips welcome hallo hier gefunden folgende folgenden folgt dokumente antwort
    zusammenfassung frage hola aquí encontré siguiente siguientes documentos respuesta resumen pregunta"""
)
_FRAMING_WORDS = _FRAMING_MARKERS | parse_word_list(
    """a about according additional additionally all an and any are as ask asked at available be based but by can
    certainly could dear do down else explanation feel find for free from further give given good has have how i if in
    into is it let like listed looked looking made main may me more my need of on or our out passage please provided
    read relevant result say says search see short shown source state states still such sum that the their them there
    these they this those through to up us we went were what with would you your yourself
    ist sind was ich habe die der das den dem laut dokument punkte gerne gute wie
    está están lo que la el los las según documento puntos buena es son"""
)
_VERB = re.compile(  # of a statement, not of "items that are covered"
    r"(?<!\bthat )(?<!\bwhich )(?<!\bwho )\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|must|may|might|will|"
    r"shall|should|covers|excludes|includes|requires|needs|lasts|pays|costs|applies|allows|means|contains|runs|begins|"
    r"ends|ist|sind|war|hat|muss|darf|kann|gilt|beträgt|es|son|está|tiene|debe|puede|cubre|dura|cuesta)\b(?!$)",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[$€£¥%]|:\s?\d")
_FRAMING_OPENING = re.compile(  # unlike "If found," or "With help,", which are conditions
    r"((?:according|based|answers?|notes?|summary|in|as|here|laut|según|antwort)\b[^,:]{0,60})[,:]\s{1,3}(?=\S)",
    re.IGNORECASE,
)
_QUESTION_START = re.compile(
    r"(?:what|when|where|who|whose|why|how|which|was|wann|wo|wer|wie|qué|cómo)\b", re.IGNORECASE
)
_EMPTY_TAIL = re.compile(
    r"[ ,]{0,3}(?:\b(?:as follows|the following|these|listed below|wie folgt|lo siguiente)\b)?[ :：]{0,3}$"
)
_SENTENCE_START = re.compile(
    r"(?:the|an?|this|these|it|they|each|every|all|no|you|we|der|die|das|el|la)\b", re.IGNORECASE
)
_END_MARK = re.compile(r"[.!?;,…。！？][\"'”’)\]]{0,3}$")
_SMALL_TITLE_WORDS = parse_word_list(
    "a an and as at by for from in nor not of on or the to vs with und der die das de del la y"
)


def is_framing(text: str) -> bool:
    """Return whether a text has only words that frame others, such as "Here is what I found:" or "Great question!"."""
    if any(map(str.isdigit, text)):
        return False
    words = _WORD.findall(text[:MAX_FRAME_CHARS].casefold())
    is_marked = len(words) <= MAX_FRAMING_WORDS and not _FRAMING_MARKERS.isdisjoint(words)
    return is_marked and _FRAMING_WORDS.issuperset(words)


def states_something(text: str) -> bool:
    """Return whether a heading or lead-in has a verb or a value, so that it says something by itself."""
    text = _EMPTY_TAIL.sub("", text[:MAX_FRAME_CHARS])
    return not _QUESTION_START.match(text) and (has_verb(text) or bool(_VALUE.search(text)))


def has_verb(text: str) -> bool:
    """Return whether a text has one of the commonest verbs of statements, as in "rust is excluded"."""
    return bool(_VERB.search(text[:MAX_FRAME_CHARS]))


def strip_framing(text: str) -> str:
    """Return a sentence without "Answer:" or "According to the documents," before it."""
    opening = _FRAMING_OPENING.match(text)
    return text[opening.end() :] if opening and is_framing(opening[1]) else text


def is_title(text: str, *, plain: bool = False) -> bool:
    """Return whether a line that is marked as a heading is no statement; with `plain`, one without such marks."""
    words = text.split()
    if not words or len(words) > MAX_TITLE_WORDS or text.endswith((":", "：")) or states_something(text):
        return False
    in_title_case = all(w[:1].isupper() or w.casefold() in _SMALL_TITLE_WORDS or not w[:1].isalpha() for w in words)
    if plain:
        has_digit = any(map(str.isdigit, text))
        short = len(words) <= MAX_PLAIN_TITLE_WORDS or in_title_case
        return short and words[0][:1].isupper() and not has_digit and not _END_MARK.search(text)
    if _END_MARK.search(text) and not text.endswith("?"):
        return False
    return in_title_case or len(words) < MIN_STATING_WORDS or not _SENTENCE_START.match(text)

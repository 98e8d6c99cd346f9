"""Names of persons, found by a dictionary of first names and by the words around a name.

There is no model here: a name that no list has and no word announces is not found, and a researcher's name is redacted
like a patient's. The lists are those of one country's census.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

UPPERCASE = "A-ZÀ-ÖØ-ÞĀĆĈĊČĎĐĒĖĘĚĞĠĢĤĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŴŶŸŹŻŽȘȚ"
LOWERCASE = rf"[^\W\d_{UPPERCASE}]"
# as in Smith, O'Brien, McDonald, Anne-Marie
CAPITALIZED_WORD = (
    rf"(?:[{UPPERCASE}]['-]?)?[{UPPERCASE}]{LOWERCASE}{{1,29}}(?:['-]?[{UPPERCASE}]{LOWERCASE}{{1,29}}){{0,2}}"
)
UPPERCASE_WORD = rf"[{UPPERCASE}]{{2,30}}"
INITIAL = rf"[{UPPERCASE}]\.?"


def _build_name_pattern(min_words: int, separator: str = " ") -> str:
    """Return a pattern of at least `min_words` words in one case, "Jane Q. Doe" or "DOE, JANE", three more at most."""
    words = (rf"(?:{word}|{INITIAL})(?![^\W_])" for word in (CAPITALIZED_WORD, UPPERCASE_WORD))
    return "|".join(rf"{word}(?:{separator}{word}){{{min_words - 1},{min_words + 2}}}" for word in words)


PARTICLES = "van|von|de|da|do|dos|del|della|di|der|den|la|le|ter|ten|zu|af|av|el|bin"
JOINT = rf",? (?:(?:{PARTICLES}) ){{0,2}}"
PERSON_NAME, FULL_PERSON_NAME = rf"({_build_name_pattern(1, JOINT)})", rf"({_build_name_pattern(2, JOINT)})"
NAME = re.compile(PERSON_NAME)
CAPITALIZED_RUN = re.compile(rf"(?<![\w'-])(?:{_build_name_pattern(2)})")
FAREWELLS = (
    "sincerely|regards|thanks|thank you|cheers|yours|yours truly|grüßen|grüße|cordialement|salutations"
    "|atentamente|saludos"
    "|saluti|groet|groeten|poważaniem|pozdrawiam|atenciosamente|abraços|hälsningar"
)
TITLES = (
    "mr|mrs|ms|miss|mx|dr|prof|professor|herr|herrn|frau|monsieur|madame|mme|mlle|docteur|docteure|sr|sra|srta|señor|señora"
    "|doctor|doctora|sig|sig\\.ra|sigra|signor|signora|dott|dott\\.ssa|avv|mevrouw|mevr|dhr|pani|doutor|doutora|dra|fru"
    "|doktor|shri|smt|kumari|senhor|senhora"
)
BIRTH_WORDS = "born|né|née|geb|geboren|nacido|nacida|nato|nata|urodzony|urodzona|ur|nascido|nascida|född"
JAPANESE_NAME = re.compile(  # surname and given name before さん and the like; not 患者さん
    r"(?<![一-龯々])([一-龯々]{1,3}[ \u3000][一-龯々ぁ-んァ-ヶ]{1,4}|[一-龯々]{3,6}|(?:佐藤|鈴木|高橋|田中|伊藤"
    r"|渡辺|山本|中村|小林|加藤|吉田"
    r"|山田|佐々木|山口|松本|井上|木村|林|斎藤|清水))(?= ?(?:様|さん|氏(?![名族])|先生|殿|くん|ちゃん))"
)
HINDI_NAME = re.compile(r"(?:श्रीमती|श्री|डॉ\.?|कुमारी) ([\u0900-\u0963]{2,20}(?: [\u0900-\u0963]{2,20})?)")
HINTS = (
    "patient|pt\\.?|i am|i'm|this is|dear|named|called|don|doña|pan|de heer|herr|bästa|hej|liebe|lieber|liebes"
    "|cher|chere|chère|chèr|querido|querida|estimado|estimada|caro|cara|beste|drogi|droga|olá"
)
WORD = re.compile(r"[^\W\d_]+")


def _list_first_words(cues: str) -> frozenset[str]:
    return frozenset(WORD.findall(cue)[0] for cue in cues.split("|"))


ANNOUNCED_NAMES = tuple(  # words after which any capitalized words are a name; a text without their first has none
    (_list_first_words(cues), re.compile(pattern))
    for cues, pattern in (
        (TITLES, rf"\b(?i:{TITLES})\.? (?:(?:[Dd]r|[Pp]rof|[Ii]ng)\. ){{0,2}}{PERSON_NAME}"),
        (
            BIRTH_WORDS,
            rf"(?<![\w'-])(?!(?:D(?:e[mnrs]|as|ie)|Eine?|The) ){FULL_PERSON_NAME}(?=,? \(?(?:{BIRTH_WORDS})\b)",
        ),
        ("m", rf"(?<![\w.])(?<!\d )M\. (?!(?:Sc|Eng|Ed|Phil|Arch|Div)\b){PERSON_NAME}"),  # Monsieur
        ("name", rf"\b(?i:(?:my|his|her|their|the) (?:full |first |last )?name(?:'s| is)) {PERSON_NAME}"),
        (
            "patient|attn|signed|call",
            rf"\b(?i:patient(?:'s)? name(?:'s| is)?:?|patient:|attn:?|signed by:?|call me) {PERSON_NAME}",
        ),
        ("name", rf"\b[Nn]ame: ?{FULL_PERSON_NAME}"),
        (FAREWELLS, rf"(?i:\b(?:{FAREWELLS})[,.!]?)\s{{0,3}}\n\s{{0,3}}{PERSON_NAME}(?=\s{{0,3}}(?:\n|\Z))"),
    )
)
# words after which capitalized words are a name if the lists have it
HINT_WORDS, HINTED_NAME = _list_first_words(HINTS), re.compile(rf"\b(?i:{HINTS}) {PERSON_NAME}")


def find_person_names(text: str) -> Iterator[tuple[int, int, float]]:
    """Yield start, end and score of the names in a text: 0.85 after a word that announces a name, less by the lists."""
    words = frozenset(WORD.findall(text.lower()))
    for first_words, pattern in ANNOUNCED_NAMES:
        if not first_words.isdisjoint(words):
            yield from ((*match.span(1), 0.85) for match in pattern.finditer(text))
    if not HINT_WORDS.isdisjoint(words):
        yield from ((*match.span(1), 0.75) for match in HINTED_NAME.finditer(text) if is_listed_name(match[1]))
    for match in CAPITALIZED_RUN.finditer(text):
        yield from _find_name_in_run(match)
    for pattern, signs in ((JAPANESE_NAME, "様さ氏先殿くち"), (HINDI_NAME, "शडक")):
        if not set(signs).isdisjoint(text):
            yield from ((*match.span(1), 0.8) for match in pattern.finditer(text))


def is_name(text: str) -> bool:
    """Return whether a text is altogether capitalised words such as a name has."""
    return bool(NAME.fullmatch(text))


def is_listed_name(name: str) -> bool:
    """Return whether the first or last word of a name is in the lists, and none is a word that is no surname."""
    words = re.split(r",? ", name.lower())
    in_lists = any(
        word in _load_name_list(names) for word in (words[0], words[-1]) for names in ("first_names", "surnames")
    )
    return in_lists and _load_name_list("not_surnames").isdisjoint(words)


def _find_name_in_run(run: re.Match[str]) -> Iterator[tuple[int, int, float]]:
    """Yield the name in a run of capitalized words: from the first listed first name to the end of the name."""
    words = run[0].lower().split(" ")
    first = next((at for at, word in enumerate(words) if word in _load_name_list("first_names")), len(words))
    last = first + _find_name_end(words[first:])
    if last > first and _load_name_list("not_surnames").isdisjoint(words):
        start = run.start() + len(" ".join(["", *words[:first]]))
        yield start, start + len(" ".join(words[first : last + 1])), 0.7


def _find_name_end(words: Sequence[str]) -> int:
    """Return the index of the last word of a name that begins the words; 0 when there is no further word of it.

    It is the last word that a list has, else the first after the initials.
    """
    full_words = [at for at, word in enumerate(words) if at and len(word.strip(".")) > 1]
    listed = (
        at
        for at in full_words
        if words[at] in _load_name_list("surnames") or words[at] in _load_name_list("first_names")
    )
    return max(listed, default=min(full_words, default=0))


@cache
def _load_name_list(name: str) -> frozenset[str]:
    lines = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))

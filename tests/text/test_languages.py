"""The language of a text is told from its frequent words, and not told where these do not decide."""

import pytest

from rag_core.text.languages import OTHER_SCRIPT, guess_language, guess_question_language, is_in_other_language

ENGLISH = "The signing keys are rotated every 90 days by the platform team, and a copy is kept in the vault."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        ("Die Schlüssel werden alle 90 Tage durch das Team ersetzt, und eine Kopie ist im Tresor.", "de"),
        ("Les clés sont remplacées tous les 90 jours par une équipe.", "fr"),
        ("Las llaves se cambian cada 90 días por el equipo y una copia está en la caja.", "es"),
        ("Ключи меняются каждые 90 дней.", OTHER_SCRIPT),
        ("署名鍵は90日ごとに交換されます。", OTHER_SCRIPT),
        ("P0700, 90 days", ""),
        ("", ""),
    ],
)
def test_a_language_is_told_from_frequent_words(text: str, language: str) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "Die Schlüssel werden alle 90 Tage durch das Team ersetzt.",
        "Las llaves se cambian cada 90 días por el equipo.",
        "Ключи меняются каждые 90 дней.",
    ],
)
def test_a_text_in_another_language_than_a_known_one_is_told(text: str) -> None:
    assert is_in_other_language(text, ENGLISH)


@pytest.mark.parametrize(
    "text", ["Rotated every 90 days.", "| Specialty drugs | yes | no |", "No, only team leads do.", "P0700", ""]
)
def test_a_short_or_unclear_text_is_not_said_to_be_in_another_language(text: str) -> None:
    assert not is_in_other_language(text, ENGLISH)
    assert not is_in_other_language("Die Schlüssel werden alle 90 Tage ersetzt.", "P0700 P0300")


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wie oft muss die Maschine entkalkt werden?", "de"),
        ("Wann endet der Vertrag?", "de"),
        ("Wie lange braucht die Sauna?", "de"),  # "wie" and "die" are frequent words of Dutch, too
        ("Quelle est la limite d'hôtel à Vienne ?", "fr"),
        ("Combien de jours de congé ai-je ?", "fr"),
        ("What does F03 mean and what do I do?", "en"),  # "do" and "to" are frequent words of Polish, too
        ("What is the hotel limit in São Paulo?", "en"),
        ("papers on W boson decay", ""),
        ("Ключи меняются?", OTHER_SCRIPT),
    ],
)
def test_the_language_of_a_question_is_told_from_what_it_asks_with(question: str, language: str) -> None:
    assert guess_question_language(question) == language


def test_a_word_that_a_table_repeats_is_no_language() -> None:
    heads = "Price per sample 1-9: 95 Price per sample 10-49: 88 Price per sample 50 and more: 79"
    assert guess_question_language(heads) == ""

"""Countries whose national telephone numbers a text is likely to have, guessed from its words and signs."""

import re

from rag_core.text.languages import count_language_words

LANGUAGE_REGIONS = {
    "de": ("DE", "AT", "CH"),
    "fr": ("FR", "BE", "CH"),
    "es": ("ES", "MX", "AR", "CO"),
    "it": ("IT",),
    "nl": ("NL", "BE"),
    "pl": ("PL",),
    "pt": ("BR", "PT"),
    "sv": ("SE",),
}
COUNTRY_WORDS = {
    "GB": "uk britain england scotland wales london",
    "IN": "india delhi mumbai bengaluru chennai kolkata hyderabad",
    "DE": "germany deutschland berlin",
    "FR": "france paris",
    "JP": "japan tokyo",
    "ES": "spain españa madrid",
    "IT": "italy italia roma milano",
    "NL": "netherlands nederland amsterdam",
    "PL": "poland polska warszawa",
    "BR": "brazil brasil",
    "SE": "sweden sverige stockholm",
}
WORD_REGIONS = {word: region for region, words in COUNTRY_WORDS.items() for word in words.split()}


def guess_regions(text: str) -> tuple[str, ...]:
    """Return the likely countries of a text's telephone numbers, by its language and the countries it names; or none.

    English alone points to no country.
    """
    counts = count_language_words(text)
    regions = [WORD_REGIONS[word] for word in re.findall(r"[^\W\d_]{1,15}", text.lower()) if word in WORD_REGIONS]
    most = max(counts.values())
    if most and counts["en"] < most:
        for language, count in counts.items():
            regions += LANGUAGE_REGIONS[language] if count == most and language != "en" else ()
    if re.search("[ぁ-んァ-ヶ]", text):
        regions.append("JP")
    if re.search("[\u0900-\u097f]", text):
        regions.append("IN")
    return tuple(dict.fromkeys(regions))

"""Countries whose national telephone numbers a text is likely to have, guessed from its words and signs."""

import re

LANGUAGE_WORDS = {  # frequent words that no other of these languages has
    "en": "the of and to is are with for from this that he she it please reach or",
    "de": "und der das ist nicht bitte mit für unter wird sie auf zum zur ein eine erreichbar wir",
    "fr": "le les des est avec pour vous une du avant ou sur et dans chez appelez",
    "es": "el los las por y una con para su al del mañanas desde",
    "it": "il gli per della che è lo di nel dal sono orario",
    "nl": "het een voor op van naar zijn ik mij bel afspraak",
    "pl": "proszę jest na się nie pod przy dzwonić z",
    "pt": "para não os uma em da do ligue pela manhã",
    "sv": "och att är på före för till jag från",
}
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
WORD_LANGUAGES: dict[str, list[str]] = {}
for _language, _words in LANGUAGE_WORDS.items():
    for _word in _words.split():
        WORD_LANGUAGES.setdefault(_word, []).append(_language)
WORD_REGIONS = {word: region for region, words in COUNTRY_WORDS.items() for word in words.split()}


def guess_regions(text: str) -> tuple[str, ...]:
    """Return the likely countries of a text's telephone numbers, by its language and the countries it names; or none.

    English alone points to no country.
    """
    counts = dict.fromkeys(LANGUAGE_WORDS, 0)
    named = []
    for word in re.findall(r"[^\W\d_]{1,15}", text.lower()):
        for language in WORD_LANGUAGES.get(word, ()):
            counts[language] += 1
        if word in WORD_REGIONS:
            named.append(WORD_REGIONS[word])
    most = max(counts.values())
    regions = [*named]
    if most and counts["en"] < most:
        for language, count in counts.items():
            regions += LANGUAGE_REGIONS[language] if count == most and language != "en" else ()
    if re.search("[ぁ-んァ-ヶ]", text):
        regions.append("JP")
    if re.search("[\u0900-\u097f]", text):
        regions.append("IN")
    return tuple(dict.fromkeys(regions))

"""Names of organizations, which end in the legal form of a company, as in "Acme Tools, Inc." or "Müller GmbH"."""

import re

from rag_core.text.stop_words import parse_word_list

# A form that is also a word or a code in English counts in these spellings only.
_LEGAL_FORM = (
    r"(?:(?i:inc|incorporated|corp|corporation|company|limited|ltd|plc|llc|llp|gmbh|pty\sltd|pte\sltd|co\.,?\sltd)\.?"
    r"|L\.L\.C\.|L\.P\.|LP|AG|SE|KG|S\.A\.S?\.?|SAS|S\.p\.A\.|S\.r\.l\.|N\.V\.|B\.V\.|NV|BV|ASA|A/S|Oyj?|K\.K\.)"
)
# bounded, and never given back: a word may begin anew after each of its dots
_NAME_WORD = r"(?:[^\W\d_a-z][\w.'’&-]{0,80}+|&)"
_ORGANIZATION = re.compile(
    rf"(?<![\w&])(?P<name>{_NAME_WORD}(?:\s(?:(?:and|et|und)\s)?{_NAME_WORD}){{0,5}}?)"
    rf",?\s(?P<form>{_LEGAL_FORM})(?!\w)"
)
# "(Exact name of registrant as specified in its charter)", below the name on the cover of a form
_CAPTION = re.compile(
    r"\((?:(?:exact|full|legal|registered|official|corporate)\s){1,3}name\s(?:of|under)\s[^()\n]{3,120}\)",
    re.IGNORECASE,
)
_MAX_NAME_CHARS = 120
_NOT_NAMES = parse_word_list("a an any each every its my no our parent such that the their this your")


def find_organization(text: str) -> str:
    """Return the first organization that a text names with its legal form, "" when there is none."""
    for match in _ORGANIZATION.finditer(text):
        if match["name"].casefold() not in _NOT_NAMES:
            return " ".join(match[0].split())
    return ""


def find_captioned_name(text: str) -> str:
    """Return the name before the first caption that says whose name it is, "" when there is none or it is long.

    A form has it whatever the legal form, and among the names of others: the exchange, the authority, the auditor.
    """
    caption = _CAPTION.search(text)
    above = text[: caption.start()].splitlines() if caption else []
    name = next(
        (re.sub(r" (?=[.,])", "", " ".join(line.split())) for line in reversed(above) if any(map(str.isalpha, line))),
        "",
    )
    return name if len(name) <= _MAX_NAME_CHARS and not name.startswith("(") else ""


def name_without_form(organization: str) -> str:
    """Return the name of an organization without its legal form, as a text mostly calls it."""
    match = _ORGANIZATION.fullmatch(organization)
    return match["name"] if match else organization

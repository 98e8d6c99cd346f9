"""The version of the reading: what a document is made of when it is indexed, and which documents an older one made.

It stands at the end of a document's `extractor`, which every store keeps with the version of the document.
"""

import re

# raise it where the same file would get other text, places, titles, entities or vectors than before
# 1, which was not recorded: entities and titles before 24 November 2026, pictures not read
# 2: archives had the title of a file in them, and companies in the tables of Markdown came into its title
# 3: files within zips and mails had neither pages nor boxes, and a passage went over several of their pages
READING_VERSION = 4
_READING = re.compile(r", reading (\d{1,9})$")


def label_extractor(extractor: str) -> str:
    """Return the name of what has read a document, with the version of the reading."""
    return f"{extractor}, reading {READING_VERSION}"


def is_outdated(extractor: str) -> bool:
    """Return whether a document was read by an older version, so that indexing it again may change it."""
    found = _READING.search(extractor)
    return int(found[1]) < READING_VERSION if found else True

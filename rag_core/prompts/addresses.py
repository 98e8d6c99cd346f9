"""Addresses in a text: everything that a Markdown viewer, or a person's mail program, makes a link of."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from rag_core.text.unicode_forms import normalize_unicode

# endings of bare hosts that viewers turn into links, but for those that files, fields and products have as well, such
# as "main.py", "user.id", "ASP.NET" and "Socket.IO": decision 101 has the counts
BARE_DOMAIN_ENDINGS = (
    "com|org|edu|gov|info|biz|xyz|pro|asia|xxx|aero|coop|museum|a[delnouwz]|b[abdefhijmnorsvwy]|c[afghknorwxz]|d[ejkz]|"
    "e[cegrstu]|f[ijkmor]|g[abfghimnqrwy]|h[krtu]|i[elmqrt]|j[mop]|k[eghimprwyz]|l[ikrsv]|m[aghnqrtvwxz]|n[acfgilruz]|"
    "om|p[aefghnrw]|qa|r[ouw]|s[aegijkuxyz]|t[cghjlnrw]|u[agksyz]|v[egnu]|wf|y[et]|z[amw]"
)
LINKED_DOMAIN_ENDINGS = (  # of hosts that viewers turn into links also without a scheme, with a path or port
    f"{BARE_DOMAIN_ENDINGS}|net|io|dev|app|ai|me|top|site|online|tech|cloud|link|click|live|shop|"
    "tk|ml|cc|ly|gl|to|sh|at|in|pl|pt|example|test"
)
ADDRESS_EXPRESSION = rf"""(?:(?:
    (?:https?|ftps?|wss?):[\\/]{{2}}
  | (?<!\w)(?:https?|ftps?|wss?|mailto|javascript|vbscript|blob):
  | (?<!\w)data:(?=[\w.+-]*[/,;])
  | (?<![a-z0-9+.-])[a-z][a-z0-9+.-]+:[\\/]{{2}}    # two letters at least: "C:\\" is a disk
  | (?<![\w:\\/])[\\/]{{2}}(?=[^\s\\/.]++\.\S)        # an address without a scheme
  | (?<![^\W_])(?<![.-])www\.(?=\w)
  | (?<![\w-])(?<![\w-]\.)(?:[\w-]++\.){{1,127}}?(?:{LINKED_DOMAIN_ENDINGS})(?::\d+)?[/?\#]
)(?:[^\s<>"`⟨\]]|\](?!\())+
  | (?:https?|ftps?|wss?):[\\/]{{2}}(?=[>"`⟨])        # of a host that some viewers read and others do not
  | (?<![\w:\\/])[\\/]{{2}}(?=[>"`⟨]++[^\s\\/.]++\.\S)
  | (?<![\w.+-])[\w.+-]++@(?:[\w-]++\.)+[a-z]{{2,}}+      # of a mailbox
  | (?<![\w-])(?<![\w-]\.)(?:[\w-]++\.){{1,127}}?(?:com|org|edu|gov|info|biz|xyz|ru|cn|(?:{BARE_DOMAIN_ENDINGS})(?!_\w))
    (?![^\W_]|-|\.\w)
)"""
ADDRESS_PATTERN = re.compile(ADDRESS_EXPRESSION, re.VERBOSE | re.IGNORECASE)
TRAILING_SIGNS = frozenset(".,;:!?'*_~|\\")  # viewers do not count these at the end as part of an address
CLOSING_BRACKETS = {")": "(", "]": "["}


def find_source_addresses(sources: Iterable[str]) -> frozenset[str]:
    """Return the addresses that occur in any of the sources, also where hidden characters are in them."""
    shapes = {shape for source in sources for shape in (source, fold_hidden_characters(source))}
    return frozenset(address for shape in shapes for address in find_addresses(shape))


def find_addresses(source: str) -> Iterator[str]:
    """Yield the addresses in a source, each also cut at its first closing bracket, quote or bar."""
    for address in ADDRESS_PATTERN.findall(source):
        yield strip_trailing_signs(address)
        yield strip_trailing_signs(re.split(r"[)\]|']", address, maxsplit=1)[0])


def strip_trailing_signs(address: str) -> str:
    """Return an address without trailing punctuation and without closing brackets that it does not open."""
    end = len(address)
    unopened = {sign: address.count(sign) - address.count(opening) for sign, opening in CLOSING_BRACKETS.items()}
    while end and (address[end - 1] in TRAILING_SIGNS or unopened.get(address[end - 1], 0) > 0):
        if address[end - 1] in unopened:
            unopened[address[end - 1]] -= 1
        end -= 1
    return address[:end]


def fold_hidden_characters(text: str) -> str:
    """Return the text without zero-width characters, and with plain letters for their wide or styled forms."""
    if text.isascii():
        return text
    return normalize_unicode("NFKC", "".join(sign for sign in text if unicodedata.category(sign) != "Cf"))

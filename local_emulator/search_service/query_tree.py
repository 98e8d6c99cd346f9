"""A query for words is a tree, whichever syntax it was written in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    text: str


@dataclass(frozen=True, slots=True)
class Without:
    """A negation matches all documents but those that `inner` matches."""

    inner: "Query"


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple["Query", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple["Query", ...]


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """A word that may be misspelt in this many letters."""

    text: str
    edits: int


@dataclass(frozen=True, slots=True)
class Near:
    """A phrase whose words may stand this many places apart from their own."""

    text: str
    slop: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that a whole term matches; it is not analyzed."""

    regex: str


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses that must match, may match, and must not, as Lucene joins them."""

    must: tuple["Query", ...]
    may: tuple["Query", ...]
    must_not: tuple["Query", ...]


@dataclass(frozen=True, slots=True)
class Boosted:
    inner: "Query"
    factor: float


@dataclass(frozen=True, slots=True)
class InField:
    """A query of one field, whatever fields are searched."""

    path: str
    inner: "Query"


Query = Term | Prefix | Phrase | Without | AllOf | AnyOf | Fuzzy | Near | Pattern | Clauses | Boosted | InField

"""The entities of each passage of a document: what one passage shows of a name holds for all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.core.model import Entity, Scalar
from rag_core.ingestion.entities.acronyms import collect_acronyms, find_acronyms, find_defined_terms
from rag_core.ingestion.entities.amounts import find_amounts_of_money, find_dates
from rag_core.ingestion.entities.codes import discover_shapes, find_code_spans, name_code
from rag_core.ingestion.entities.columns import name_type_of_cell
from rag_core.ingestion.entities.names import NameBook, collect_names, find_names, keep_confirmed
from rag_core.ingestion.entities.spans import EntitySpan, drop_overlaps
from rag_core.text.raised_marks import mask_footnote_marks

CODE_TYPES = ("code", "dtc")
MAX_VALUE_RANK = 20  # names give way to dates, amounts and codes
MAX_ENTITY_CHARS = 80  # a longer name is a sentence that was read as one
MAX_ENTITIES_OF_PASSAGE = 60


@dataclass(frozen=True, slots=True)
class EntitySource:
    """A passage in which entities are looked for: its text, or the cells of a row by the names of their columns."""

    text: str
    cells: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _DocumentKnowledge:
    shapes: frozenset[str]
    book: NameBook
    acronyms: frozenset[str]
    entities: dict[str, list[Entity]] = field(default_factory=dict)  # of a text that occurs again, as in a column


def find_entities(sources: Sequence[EntitySource], known_codes: Iterable[str] = ()) -> list[tuple[Entity, ...]]:
    """Return the entities of each passage of a document, each once and in the order of the text.

    `known_codes` are codes of other documents of the same reader, which show what codes look like here.
    """
    texts = [text for source in sources for text in _list_texts(source)]
    known = _DocumentKnowledge(discover_shapes(texts, known_codes), collect_names(texts), collect_acronyms(texts))
    return [_find_in_passage(source, known) for source in sources]


def extract_entities(text: str) -> tuple[Entity, ...]:
    """Return the entities of a text by itself."""
    return find_entities([EntitySource(text)])[0]


def _list_texts(source: EntitySource) -> list[str]:
    return [mask_footnote_marks(str(text)) for text in source.cells.values() or [source.text]]


def _find_in_passage(source: EntitySource, known: _DocumentKnowledge) -> tuple[Entity, ...]:
    found: list[Entity] = []
    for head, cell in (source.cells or {"": source.text}).items():
        text = mask_footnote_marks(str(cell))
        if type := name_type_of_cell(head, text):
            value = " ".join(text.split())
            found.append(Entity(*name_code(value)) if type == "code" else Entity(type, value))
        else:
            if text not in known.entities:
                known.entities[text] = _find_in_text(text, known)
            found += known.entities[text]
    short = (entity for entity in found if len(entity.value) <= MAX_ENTITY_CHARS)
    return tuple(dict.fromkeys(short))[:MAX_ENTITIES_OF_PASSAGE]


def _find_in_text(text: str, known: _DocumentKnowledge) -> list[Entity]:
    names = keep_confirmed(drop_overlaps(find_names(text, known.book)), known.book)
    values = [*find_dates(text), *find_amounts_of_money(text), *find_code_spans(text, known.shapes)]
    spans = drop_overlaps([*_move_back(values, 0), *_move_back(names, MAX_VALUE_RANK)])
    named = {span.value for span in spans}
    acronyms = [Entity("acronym", acronym) for acronym in find_acronyms(text) if acronym in known.acronyms - named]
    terms = [Entity("term", term) for term in find_defined_terms(text) if term not in {n.casefold() for n in named}]
    return [*(Entity(span.type, span.value) for span in spans), *acronyms, *terms]


def _move_back(spans: Iterable[EntitySpan], ranks: int) -> list[EntitySpan]:
    return [EntitySpan(span.start, span.end, span.type, span.value, span.rank + ranks) for span in spans]

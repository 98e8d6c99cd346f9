"""The sentences of passages, as extractive answers choose among them, each with what its place says of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_core.text.mail_headers import select_asked_fields
from rag_core.text.quotable_sentences import split_into_quotable_sentences
from rag_core.text.validity import is_superseded

PromptPassage = Mapping[str, object]  # with "id", "title", "section" and "text", as in the prompt of an answer


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence or list item of a passage (`passage_index` counts from 0), with its line breaks as spaces.

    `title` is the document's, `heading` the innermost above the passage: of the rest of a list on a further page it is
    the list's lead-in. `is_superseded` says that the passage is marked so, and the question is not about what was.
    """

    passage_index: int
    text: str
    title: str = ""
    heading: str = ""
    page: int = 0
    is_superseded: bool = False


def split_passages_into_sentences(query_text: str, passages: Sequence[PromptPassage]) -> list[PassageSentence]:
    """Return the sentences of the passages; of the header of a mail only the fields that the question asks for."""
    return [
        PassageSentence(n, " ".join(text.split()), str(passage["title"]), *_get_place(passage), superseded)
        for n, passage in enumerate(passages)
        for superseded in [_is_superseded(query_text, passage)]
        for part in split_into_quotable_sentences(str(passage["text"]))
        for text in select_asked_fields(query_text, part)
    ]


def _get_place(passage: PromptPassage) -> tuple[str, int]:
    page = passage.get("page")
    return str(passage["section"]).rpartition(" > ")[2], page if isinstance(page, int) else 0


def _is_superseded(query_text: str, passage: PromptPassage) -> bool:
    headings = [str(passage["title"]), *str(passage["section"]).split(" > ")]
    return is_superseded(query_text, headings, str(passage["text"]))

"""Documents that say the same with other figures, such as two versions of one policy, in the sources of an answer."""

import re
from collections.abc import Iterable, Sequence

from rag_core.answering.computing.computed_answers import is_row
from rag_core.core.model import Citation, Claim
from rag_core.text.answer_types import NUMBER_PATTERN
from rag_core.text.layout import is_key_value_list

MIN_WORDS = 4  # that two quotes have in common, all but their figures: fewer say nothing of the same thing


def describe_disagreements(claims: Iterable[Claim]) -> list[str]:
    """Return, for each sentence that cited documents have with different figures, which document has which.

    Rows of tables are left out: rows alike in all but their figures are of different things.
    """
    quotes = [citation for claim in claims for citation in claim.citations if not _is_record(citation)]
    by_wording: dict[str, list[Citation]] = {}
    for quote in quotes:
        by_wording.setdefault(_mask_figures(quote.quote), []).append(quote)
    alike = [cited for wording, cited in by_wording.items() if len(wording.replace("#", "").split()) >= MIN_WORDS]
    return [_describe(cited) for cited in alike if _differ(cited)]


def _differ(cited: Sequence[Citation]) -> bool:
    """Return whether these quotes are of several documents and have several figures."""
    return len({one.document_id for one in cited}) > 1 and len(set(map(_read_figures, cited))) > 1


def _is_record(citation: Citation) -> bool:
    return is_row(citation) or is_key_value_list(citation.quote)


def _mask_figures(quote: str) -> str:
    return " ".join(NUMBER_PATTERN.sub(" # ", quote.casefold()).split())


def _read_figures(citation: Citation) -> tuple[str, ...]:
    return tuple(figure.rstrip(".,") for figure in NUMBER_PATTERN.findall(citation.quote))


def _describe(cited: Sequence[Citation]) -> str:
    """Return which document has which figures; of documents of one title, the file is named."""
    has_twins = len({one.title for one in cited}) < len({one.document_id for one in cited})
    said = {one.document_id: one for one in cited}.values()
    names = [re.split(r"[/\\]", one.source)[-1] if has_twins and one.source else one.title for one in said]
    figures = [", ".join(_read_figures(one)) for one in said]
    parts = [f"{name} has {stated}" for name, stated in zip(names, figures, strict=True)]
    return f"the cited documents differ: {'; '.join(parts)}"

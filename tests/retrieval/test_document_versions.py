"""Questions for one version of a document that is indexed in several."""

from collections import Counter
from dataclasses import replace

import pytest

from rag_core.core.model import Hit, Turn
from rag_core.core.run import Run
from rag_core.pipelines import answer_in_conversation
from rag_core.retrieval import document_versions
from rag_core.retrieval.document_versions import drop_other_versions
from rag_core.text.terms import extract_terms
from tests.fakes import OverlapReranker, chunk, filled, kit, query

OLD = "The liability of either party is limited to 150 per cent of the charges. It replaces the agreement of 2019."
NEW = "The liability of either party is limited to 2,000,000 pounds. It replaces the agreement of 2024."
TITLES = {"old": "Supply Agreement 2024: Lumen", "new": "Supply Agreement 2025: Lumen", "slides": "Review 2025"}


def find(*ids: str) -> list[Hit]:
    texts = {"old": OLD, "new": NEW, "slides": "The liability of either party is limited to 150 per cent."}
    return [Hit(chunk(id, texts[id], document=id, title=TITLES[id]), 1.0, {"words": 1.0}) for id in ids]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What is the limit under the agreement of 2024?", ["old", "slides"]),
        ("And what is it under the 2025 one?", ["new", "slides"]),
        ("What is the limit?", ["new", "old", "slides"]),
        ("What is the limit now?", ["new", "slides"]),
        ("What was the limit, and what is it now?", ["new", "old", "slides"]),
        ("How did the limit change from 2024 to 2025?", ["new", "old", "slides"]),
        ("What was the limit in 2023?", ["new", "old", "slides"]),
        ("What is the limit for 20245 units?", ["new", "old", "slides"]),
    ],
)
def test_the_version_of_another_year_than_asked_is_no_evidence(question: str, kept: list[str]) -> None:
    """The newer agreement names the year of the one that it replaces, so that words alone do not tell them apart."""
    assert [hit.chunk.id for hit in drop_other_versions(question, find("new", "old", "slides"))] == kept


def test_the_terms_of_a_passage_are_read_once_for_all_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were read anew for each pair of passages."""
    read = Counter[str]()

    def count_reading(text: str) -> frozenset[str]:
        read[text] += 1
        return extract_terms(text)

    monkeypatch.setattr(document_versions, "extract_terms", count_reading)
    hits = [
        Hit(chunk(f"{year} {n}", f"{year} limits {n}.", document=year, title=f"Agreement {year}"), 1.0, {})
        for year in ("2023", "2024", "2025")
        for n in range(8)
    ]
    drop_other_versions("the limits of 2025", hits)
    assert len(read) > 8
    assert set(read.values()) == {1}


def test_versions_of_one_title_are_told_by_their_files() -> None:
    files = {"a": "/x/travel-policy-2024.docx", "b": "/x/travel-policy-2025.docx", "c": "/x/notes.docx"}
    hits = [
        Hit(replace(chunk(id, OLD, document=id, title="Travel"), source=file), 1.0, {}) for id, file in files.items()
    ]
    assert [hit.chunk.id for hit in drop_other_versions("the limit in 2025", hits)] == ["b", "c"]


def test_another_year_is_kept_where_the_asked_one_does_not_have_the_passage() -> None:
    """A report states the figures of the year before."""
    other = Hit(chunk("new", "Staff and sites. 412 people in 2024.", document="new", title=TITLES["new"]), 1.0, {})
    assert drop_other_versions("How many people in 2024?", [other, *find("old")])[0] is other


async def test_a_follow_up_about_the_older_version_does_not_quote_the_newer() -> None:
    chunks = [chunk(id, text, document=id, title=TITLES[id]) for id, text in (("new", NEW), ("old", OLD))]
    before = (Turn("user", "What is the limit of liability in the Lumen agreement of 2025?"), Turn("assistant", NEW))
    asked = replace(query("And to what is the liability of either party limited in 2024?", "standard"), history=before)
    _, answer = await answer_in_conversation(asked, kit(await filled(*chunks), reranker=OverlapReranker()), Run())
    assert {cited.document_id for claim in answer.claims for cited in claim.citations} == {"old"}

from dataclasses import replace

import pytest

from rag_core.core.model import Hit
from rag_core.core.presets import resolve_preset
from rag_core.core.rankings import NAMED_SIGNAL
from rag_core.core.run import Run
from rag_core.retrieval.asked_documents import (
    DOCUMENT_BONUS,
    FIGURES_BONUS,
    OTHER_PERIOD_SHARE,
    asks_for_reported_figure,
    find_asked_documents,
    give_asked_figures_room,
    give_figures_room,
    lift_asked_documents,
    select_best_documents,
)
from rag_core.retrieval.candidates import choose_candidates
from rag_core.retrieval.steps import rerank_with_cross_encoder
from tests.fakes import SCOPE, chunk, filled, kit, query

FIGURES = "\n".join(f"Row {n} | {n},204 | ({n}.5)" for n in range(6))
TITLES = {
    "oak22": "Oakhollow, Inc.: FORM 10-K, fiscal year ended December 31, 2022",
    "oak23": "Oakhollow, Inc.: FORM 10-K, fiscal year ended December 31, 2023",
    "tarn23": "Tarnmoor Corp.: FORM 10-K, fiscal year ended September 30, 2023",
    "notes": "Notes on Oakhollow",
}


def find(*places: tuple[str, str]) -> list[Hit]:
    """Return a hit of each document with its text, each a little worse than the one before."""
    return [
        Hit(
            replace(chunk(f"{document}-{n}", text, document=document), title=TITLES[document]),
            1 - n / 10,
            {"words": 1 - n / 10},
        )
        for n, (document, text) in enumerate(places)
    ]


def order(hits: list[Hit]) -> str:
    return " ".join(hit.chunk.id for hit in hits)


def lift(question: str, hits: list[Hit]) -> list[Hit]:
    return lift_asked_documents(question, hits, find_asked_documents(question, hits))


def test_a_report_is_named_by_its_company_and_its_year() -> None:
    hits = find(*((document, "Text") for document in TITLES))
    shares = find_asked_documents("What was the revenue of Oakhollow in FY2023?", hits)
    assert shares == {"oak23": 1.0, "oak22": pytest.approx(OTHER_PERIOD_SHARE), "tarn23": 0.0, "notes": 0.0}


def test_a_name_may_be_the_first_word_and_one_that_no_title_has_says_nothing() -> None:
    hits = find(("oak23", "Text"), ("tarn23", "Text"))
    assert find_asked_documents("what was the ebit of tarnmoor in fy2023", hits) == {"oak23": 0.0, "tarn23": 1.0}
    assert find_asked_documents("What of oakHollow in FY2023?", hits) == {"oak23": 1.0, "tarn23": 0.0}
    assert find_asked_documents("Tarnmoor EBIT 2023", hits) == {"oak23": 0.0, "tarn23": 1.0}
    assert find_asked_documents("Tarnmoor EBIT 2019", hits)["tarn23"] == pytest.approx(OTHER_PERIOD_SHARE)
    assert find_asked_documents("What was the EBIT of Fernbank in FY2023?", hits) == {}


def test_a_form_with_its_day_is_named_as_well() -> None:
    days = {"day22": "Oakhollow, Inc.: FORM 9-Z, May 4, 2022", "day23": "Oakhollow, Inc.: FORM 9-Z, May 4, 2023"}
    hits = [
        replace(hit, chunk=replace(hit.chunk, title=days[id], document_id=id))
        for id, hit in zip(days, find(("oak22", "A"), ("oak23", "B")), strict=True)
    ]
    shares = find_asked_documents("Who left the board of Oakhollow in FY2023?", hits)
    assert shares == {"day22": pytest.approx(OTHER_PERIOD_SHARE), "day23": 1.0}


def test_the_hits_of_the_named_report_move_up_and_keep_their_order() -> None:
    hits = find(("tarn23", "A"), ("oak22", "B"), ("oak23", "C"), ("notes", "D"), ("oak23", "E"))
    assert order(lift("Who audits Oakhollow in FY2023?", hits)) == "oak23-2 tarn23-0 oak22-1 oak23-4 notes-3"


def test_passages_of_figures_move_up_where_a_figure_is_asked_for_and_nowhere_else() -> None:
    hits = find(
        ("tarn23", FIGURES), ("oak23", "Prose"), ("oak23", FIGURES), *[("notes", f"Note {n}") for n in range(3)]
    )
    asked = lift("What was the revenue of Oakhollow in FY2023?", hits)
    assert order(asked[:3]) == "oak23-2 oak23-1 tarn23-0"
    assert asked[0].signals[NAMED_SIGNAL] == pytest.approx(DOCUMENT_BONUS + FIGURES_BONUS)
    assert order(lift("Who audits Oakhollow in FY2023?", hits)[:3]) == "oak23-1 oak23-2 tarn23-0"


def test_figures_of_a_report_that_is_not_named_stay_where_they_are() -> None:
    hits = lift("What was the revenue of Oakhollow in FY2023?", find(("oak23", "Prose"), ("tarn23", FIGURES)))
    assert {hit.chunk.document_id: hit.signals[NAMED_SIGNAL] for hit in hits}["tarn23"] == 0


def test_a_report_is_named_as_far_as_it_has_the_names_and_one_that_has_most_of_them_is_the_best() -> None:
    hits = find(("oak23", "Text"), ("tarn23", "Text"))
    shares = find_asked_documents("Which auditor do Oakhollow Inc. and Tarnmoor share in 2023?", hits)
    assert shares["oak23"] == pytest.approx(2 / 3)
    assert shares["tarn23"] == pytest.approx(1 / 3)
    assert select_best_documents(shares) == {"oak23"}


def test_a_name_that_another_document_has_as_well_names_no_report_without_a_period() -> None:
    hits = find(("notes", "Text"), ("oak23", "Text"), ("tarn23", "Text"))
    assert find_asked_documents("What do the Oakhollow notes say?", hits) == {}
    assert find_asked_documents("What do the Oakhollow notes say of 2023?", hits)["oak23"] == 1.0
    assert find_asked_documents("What does Tarnmoor say?", hits)["tarn23"] == 1.0


def test_a_question_that_names_no_report_changes_nothing() -> None:
    hits = find(("oak23", "Prose"), ("tarn23", FIGURES))
    assert lift("What was the revenue in FY2023?", hits) == hits


def test_a_hit_of_another_wording_stands_as_the_hit_before_it_does() -> None:
    hits = find(("oak23", "A"), ("oak23", "B"), ("oak23", "C"))
    hits[1] = replace(hits[1], signals={})
    assert order(lift("Who audits Oakhollow in FY2023?", hits)) == "oak23-0 oak23-1 oak23-2"


def test_the_named_report_may_take_all_places_of_the_reranker() -> None:
    hits = find(*[("oak23", f"Passage {n} of some length") for n in range(5)], ("tarn23", "Other"))
    preset = resolve_preset("standard", semantic=4)
    named = choose_candidates(hits, preset.build_query("Who audits Oakhollow in FY2023?", SCOPE))
    unnamed = choose_candidates(hits, preset.build_query("Who audits the accounts?", SCOPE))
    assert [hit.chunk.document_id for hit in named[:4]] == ["oak23"] * 4
    assert [hit.chunk.document_id for hit in unnamed[:4]].count("tarn23") == 1


def test_half_of_the_first_ten_are_figures_of_the_named_report() -> None:
    prose = [("oak23", f"Prose {n}") for n in range(12)]
    hits = find(*prose, *[("oak23", f"{FIGURES}\n{n}") for n in range(4)], ("oak22", FIGURES), ("oak23", "End"))
    roomy = give_figures_room(hits, {"oak23": 1.0, "oak22": 0.2})
    assert [hit.chunk.id for hit in roomy[:10]] == [f"oak23-{n}" for n in (*range(6), *range(12, 16))]
    assert sorted(map(id, roomy)) == sorted(map(id, hits))
    assert give_figures_room(roomy, {"oak23": 1.0, "oak22": 0.2}) == roomy
    assert give_figures_room(hits, {}) == hits


def test_four_of_the_five_that_answer_a_question_for_a_figure_are_figures_of_the_named_report() -> None:
    prose = [("oak23", f"Prose {n}") for n in range(6)]
    hits = find(*prose, ("oak22", FIGURES), *[("oak23", f"{FIGURES}\n{n}") for n in range(5)])
    asked, context = "What was the revenue?", "What was the revenue of Oakhollow in FY2023?"
    roomy = give_asked_figures_room(asked, context, hits)
    assert [hit.chunk.id for hit in roomy[:5]] == ["oak23-0", *(f"oak23-{n}" for n in range(7, 11))]
    assert sorted(map(id, roomy)) == sorted(map(id, hits))
    assert give_asked_figures_room("Who audits it?", context, hits) == hits
    assert give_asked_figures_room(asked, asked, hits) == hits


def test_a_figure_of_a_report_is_asked_for_where_a_figure_and_a_report_are_named() -> None:
    hits = find(("oak23", FIGURES), ("notes", "Text"))
    asked, context = "Asset turnover?", "Asset turnover of Oakhollow in FY2023?"
    assert asks_for_reported_figure(asked, context, hits)
    assert not asks_for_reported_figure(asked, asked, hits)
    assert not asks_for_reported_figure("Who audits it?", context, hits)


async def test_figures_have_their_room_behind_a_cross_encoder_and_not_behind_a_search_service_that_ranks() -> None:
    prose = [("oak23", f"The revenue grew, {n}") for n in range(6)]
    hits = find(*prose, *[("oak23", f"{FIGURES}\n{n}") for n in range(4)])
    asked = query("What was the revenue of Oakhollow in FY2023?", "standard")
    judged = await rerank_with_cross_encoder(hits, asked, kit(await filled()), Run())
    assert [FIGURES in hit.chunk.content for hit in judged[:5]] == [False, True, True, True, True]
    ranked = [replace(hit, signals={"semantic": 0.9 - n / 100}) for n, hit in enumerate(hits)]
    kept = await rerank_with_cross_encoder(ranked, asked, kit(await filled()), Run())
    assert [hit.chunk.id for hit in kept] == [hit.chunk.id for hit in hits]

from rag_core.core.model import Chunk, Hit
from rag_core.core.presets import resolve_preset
from rag_core.retrieval.candidates import choose_candidates, find_crowding_documents, give_documents_room
from tests.fakes import SCOPE, chunk
from tests.retrieval.test_similar_passages import EVENTS, LOG, row, rows


def ranking(*chunks: Chunk) -> list[Hit]:
    return [Hit(one, 1.0 / position) for position, one in enumerate(chunks, start=1)]


def order(hits: list[Hit]) -> str:
    return " ".join(hit.chunk.id for hit in hits)


def passages(document: str, count: int, text: str = "Oil") -> list[Chunk]:
    return [chunk(f"{document}{number}", f"{text} {document} {number}", document=document) for number in range(count)]


def test_a_document_has_half_of_the_places_while_others_have_candidates() -> None:
    hits = ranking(*passages("a", 4), *passages("b", 1))
    assert order(give_documents_room(hits, "oil", count=4)) == "a0 a1 b0 a2 a3"


def test_a_document_alone_keeps_all_places_and_its_order() -> None:
    hits = ranking(*passages("a", 6))
    assert give_documents_room(hits, "oil", count=4) == hits
    assert give_documents_room(hits, "oil", count=0) == hits


def test_no_place_is_given_to_a_hit_without_the_codes_of_the_question() -> None:
    hits = ranking(*passages("a", 4, "E023"), *passages("b", 2, "E041"))
    assert order(give_documents_room(hits, "E023", count=4)) == "a0 a1 a2 a3 b0 b1"


def test_a_hit_with_one_of_two_codes_is_as_good_as_one_with_both() -> None:
    hits = ranking(*passages("a", 4, "E023 after E041"), *passages("b", 2, "E041"), *passages("c", 1))
    assert order(give_documents_room(hits, "E023 and E041", count=4)) == "a0 a1 b0 b1 a2 a3 c0"


def test_a_log_in_several_files_has_the_room_of_one_and_rows_have_a_third() -> None:
    logs = [row(f"l{number}", LOG, EVENTS[0], f"log {number}") for number in range(4)]
    assert order(give_documents_room(ranking(*logs, *passages("a", 1)), "oil", count=6)) == "l0 l1 a0 l2 l3"


def test_candidates_are_distinct_before_they_are_given_room() -> None:
    preset = resolve_preset("standard", semantic=6)
    log = rows(LOG, *EVENTS[:4], *[(*EVENTS[0][:4], f"Operator {name}") for name in ("Ott", "Lind", "Acar")])
    manual = chunk("manual", "E023 is reported by the hydraulic unit.", document="manual")
    twin = chunk("twin", manual.content, document="twin")
    chosen = choose_candidates(ranking(*log, manual, twin), preset.build_query("What does E023 mean?", SCOPE))
    assert order(chosen) == "r0 r4 manual r5 r6"
    assert [hit.similar_count for hit in chosen] == [3, 0, 0, 0, 0]


def test_the_order_of_a_search_service_that_reranks_is_kept() -> None:
    hits = [Hit(one, 1.0, {"semantic": 0.5}) for one in (*passages("a", 14), *passages("b", 1))]
    assert choose_candidates(hits, resolve_preset("standard").build_query("oil", SCOPE)) == hits


def test_a_document_crowds_a_ranking_that_was_cut_when_it_has_more_than_half_of_it() -> None:
    crowded = ranking(*passages("a", 3), *passages("b", 2))
    assert find_crowding_documents([crowded, ranking(*passages("c", 2))], limit=5) == ["a"]
    assert find_crowding_documents([crowded], limit=6) == []
    assert find_crowding_documents([ranking(*passages("a", 2), *passages("b", 2))], limit=4) == []

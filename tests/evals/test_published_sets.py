"""Published sets become folders that the evaluations read: a made miniature of each form."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evals import published_sets
from evals.filing_pages import TextLines, draw_pages
from rag_core.core.errors import Misconfigured
from rag_core.evaluation import beir
from rag_core.evaluation.labelled_collection import load_labelled_collection


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    return path


def test_abstracts_between_slashes_keep_their_numbers_and_judgements(tmp_path: Path) -> None:
    (tmp_path / "doc-text").write_text("\n1\nvalves in\nseries\n   /\n3\nloops and or gates\n   /\n", "utf-8")
    (tmp_path / "query-text").write_text("1\nVALVES OF ANY KIND\n/\n2\nNOISE\n/\n", "utf-8")
    (tmp_path / "rlv-ass").write_text("1\n    1\n    3\n   /\n2\n 3\n   /\n", "utf-8")
    published_sets.convert_vaswani(tmp_path, tmp_path / "made")
    made = beir.load_beir_collection(tmp_path / "made")
    assert {document.id: document.text for document in made.documents} == {
        "1": "valves in series",
        "3": "loops and or gates",
    }
    assert made.queries == {"1": "Valves of any kind", "2": "Noise"}
    assert made.judgements == {"1": {"1": 1, "3": 1}, "2": {"3": 1}}


QUESTION = {
    "question": "Do both rivers reach the sea?",
    "context": [["Alpha", ["Alpha is a river.", " It ends in a lake."]], ["Beta", ["Beta is a river."]]],
    "supporting_facts": [["Alpha", 0], ["Alpha", 1], ["Beta", 0]],
}
IN_COLUMNS = {
    "question": "Where does Alpha end?",
    "context": {"title": ["Alpha", "Gamma"], "sentences": [["Alpha is a river.", " It ends in a lake."], ["Gamma."]]},
    "supporting_facts": {"title": ["Alpha"], "sent_id": [1]},
}


def test_paragraphs_of_all_questions_stand_once_and_in_either_form_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "hotpot.json").write_text(json.dumps([QUESTION, IN_COLUMNS]), "utf-8")
    published_sets.convert_hotpot(tmp_path / "hotpot.json", tmp_path / "made")
    made = beir.load_beir_collection(tmp_path / "made")
    titles = {document.id: document.title for document in made.documents}
    assert list(titles.values()) == ["Alpha", "Beta", "Gamma"]
    assert made.documents[0].text == "Alpha is a river. It ends in a lake."
    assert [[titles[id] for id in judged] for judged in made.judgements.values()] == [["Alpha", "Beta"], ["Alpha"]]


def make_task(id: str, answerability: str, passages: Mapping[str, str]) -> Mapping[str, Any]:
    said = [("user", "What is a permit?"), ("agent", "A paper."), ("user", "And what does it cost?")]
    return {
        "task_id": id,
        "answerability": [answerability],
        "Collection": "town",
        "contexts": [{"document_id": passage, "text": text} for passage, text in passages.items()],
        "input": [{"speaker": speaker, "text": text} for speaker, text in said],
    }


def test_conversations_keep_their_turns_and_only_those_that_passages_answer_are_judged(tmp_path: Path) -> None:
    tasks = [
        make_task("a", "ANSWERABLE", {"p1": "\nA permit costs 5 euros."}),
        make_task("b", "PARTIAL", {"p1": "\nA permit costs 5 euros.", "p2": "Cash only."}),
        make_task("c", "UNANSWERABLE", {}),
        make_task("d", "UNDERSPECIFIED", {"p3": "Several permits exist."}),
    ]
    source = write_lines(tmp_path / "reference.jsonl", tasks)
    published_sets.convert_mtrag(source, tmp_path / "made")
    made = load_labelled_collection(tmp_path / "made")
    assert [upload.content for _, upload in made.uploads] == [
        "A permit costs 5 euros.",
        "Cash only.",
        "Several permits exist.",
    ]
    assert list(made.questions) == ["a", "b"]
    assert made.questions["a"].text == "And what does it cost?"
    assert [turn.content for turn in made.questions["a"].history] == ["What is a permit?", "A paper."]
    kinds = {
        one["_id"]: one["metadata"]["answerability"] for one in beir.read_jsonl_records(tmp_path / "made/queries.jsonl")
    }
    assert kinds == {"a": "answerable", "b": "partial", "c": "unanswerable", "d": "underspecified"}


def make_filings(folder: Path, names: Iterable[str], pdfs: Iterable[str]) -> Path:
    records = [
        {
            "financebench_id": f"q-{name}",
            "doc_name": name,
            "question": f"What did {name} sell?",
            "evidence": [{"evidence_page_num": 0}, {"evidence_page_num": 0}],
        }
        for name in names
    ]
    write_lines(folder / "data" / "financebench_open_source.jsonl", records)
    (folder / "pdfs").mkdir()
    for name in pdfs:
        (folder / "pdfs" / f"{name}.pdf").write_bytes(draw_pages([[TextLines([f"{name} sold apples."])]]))
    return folder


def test_pages_of_evidence_are_counted_from_one_and_absent_filings_left_out(tmp_path: Path) -> None:
    source = make_filings(tmp_path / "source", ["A_2020", "B_2021"], ["A_2020"])
    published_sets.convert_financebench(source, tmp_path / "made")
    made = load_labelled_collection(tmp_path / "made")
    assert [upload.filename for _, upload in made.uploads] == ["A_2020.pdf"]
    assert list(made.questions) == ["q-A_2020"]
    assert beir.load_beir_queries(tmp_path / "made")[1] == {"q-A_2020": {"A_2020.pdf#page=1": 1}}


def test_which_filings_are_taken_hangs_on_their_names_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["A", "B", "C", "D"]
    source = make_filings(tmp_path / "source", names, names)
    monkeypatch.setattr(published_sets, "FILINGS", 2)
    records = [{"doc_name": name} for name in names]
    chosen = published_sets.choose_filings(source / "pdfs", records)
    assert chosen == published_sets.choose_filings(source / "pdfs", records[::-1])
    assert len(chosen) == 2


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "hotpot.json").write_text(json.dumps([QUESTION]), "utf-8")
    (tmp_path / "made").mkdir()
    with pytest.raises(FileExistsError):
        published_sets.convert_hotpot(tmp_path / "hotpot.json", tmp_path / "made")
    with pytest.raises(Misconfigured):
        load_labelled_collection(tmp_path / "made")

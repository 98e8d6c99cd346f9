"""The benchmarks measure what they say, on next to nothing."""

import json
import math
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals import (
    bench_cold_start,
    bench_goals,
    bench_http,
    bench_indexing,
    bench_questions,
    bench_store,
    benchmark_data,
)
from evals.bench_store import (
    PEERS,
    REPLACED,
    Contestant,
    ContestantProcess,
    build_contestants,
    format_store_table,
    list_figures,
    measure_contestants,
)
from evals.benchmark_data import PER_DOCUMENT, BenchmarkData
from evals.peers import environments
from evals.peers.speech import GROUPS, LAST, SMALL, TOP, load_rows, name_documents, save_corpus
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.labelled_collection import load_labelled_collection
from rag_core.ingestion.upload import Upload
from tests.ingestion import pdf_files

SIZE = 60


@pytest.fixture(scope="module")
def data() -> BenchmarkData:
    draw = np.random.default_rng(1)
    vectors = draw.normal(size=(SIZE + 3, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"part{i} of the gear box number {i % 7}" for i in range(SIZE)]
    asked = ["part3 gear", "part53 number", "box part8"]
    return BenchmarkData(texts, vectors[:SIZE], asked, vectors[SIZE:], name_documents(SIZE, PER_DOCUMENT))


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_store, "OPENINGS", 1)


def write_collection(folder: Path) -> Path:
    """Write three short documents and a question that one of them answers."""
    (folder / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "d{n}", "title": "Gearbox {n}", "text": "It overheats at {n} degrees."}}\n' for n in "123")
    )
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "When does gearbox 2 overheat?"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td2\t1\n")
    return folder


def measure_one(data: BenchmarkData, one: Contestant, folder: Path) -> Contestant:
    measure_contestants(data, [one], folder)
    return one


def test_a_contestant_is_built_opened_asked_and_changed_in_processes_of_its_own(
    data: BenchmarkData, tmp_path: Path
) -> None:
    (ours,) = build_contestants([], None, tmp_path)
    measure_one(data, ours, tmp_path)
    assert (len(ours.open_s), len(ours.hybrid_ms), len(ours.filter_ms)) == (1, 3, 3)
    assert ours.overlap == [1.0, 1.0, 1.0]
    assert len(ours.replace_ms) == REPLACED
    assert max(ours.replace_ms) < math.inf
    assert ours.build_s > 0
    assert ours.disk_mb > 0
    assert ours.memory_mb > 10


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_whose_environment_is_there_does_the_same(data: BenchmarkData, tmp_path: Path, peer: str) -> None:
    if not environments.is_made(peer):
        pytest.skip("`make bench` makes it")
    _, other = build_contestants([peer], None, tmp_path)
    measure_one(data, other, tmp_path)
    assert other.overlap == [1.0, 1.0, 1.0]
    assert max(other.replace_ms) < math.inf


def test_questions_are_answered_within_the_group_that_they_name(data: BenchmarkData, tmp_path: Path) -> None:
    (ours,) = build_contestants([], None, tmp_path)
    save_corpus(tmp_path, data.texts, data.vectors, data.documents, data.spans)
    with ContestantProcess(ours.command) as child:
        child.send_task("build", data=str(tmp_path), **data.build_question(0))
        asked: dict[str, Any] = data.build_question(0)
        assert set(child.send_task("ask", group=3, **asked)["ids"]) == {"3", "53"}
        assert len(child.send_task("ask", group=None, **asked)["ids"]) == TOP


def test_a_process_that_ends_is_told_of_and_not_waited_for() -> None:
    with (
        ContestantProcess([sys.executable, "-c", "raise SystemExit(3)"]) as child,
        pytest.raises(RuntimeError, match="at open"),
    ):
        child.send_task("open")


def test_one_that_is_slow_is_opened_once_and_asked_no_more_when_patience_ends(data: BenchmarkData) -> None:
    slow = Contestant("slow", ["no such program"], None, open_s=[bench_store.SLOW_S + 1], hybrid_ms=[61_000.0])
    slow.open_store(data.build_question(0))
    with ContestantProcess([sys.executable, "-c", ""]) as child:
        slow.answer_question(child, data.build_question(0), set())
    assert (len(slow.open_s), len(slow.hybrid_ms)) == (1, 1)


def test_the_last_document_is_small_and_each_group_is_two_in_a_hundred(data: BenchmarkData, tmp_path: Path) -> None:
    save_corpus(tmp_path, data.texts, data.vectors, data.documents, data.spans)
    given = load_rows(tmp_path)
    assert [row.document for row in given].count(LAST) == SMALL
    assert 1 / GROUPS == 0.02
    assert (given[7].text, given[7].group) == (data.texts[7], 7)
    assert np.array_equal(given[7].vector, data.vectors[7])


def test_a_case_is_named_for_what_it_holds_and_a_size_alone_has_no_peers() -> None:
    cases = bench_store.list_cases([100], 50, Path("pdfs"), [1_000_000], 3, ["lancedb"])
    assert [case.name for case in cases] == [
        "100 chunks",
        "50 documents of one chunk",
        "PDFs with spans",
        "1,000,000 chunks",
    ]
    assert [list(case.peers) for case in cases] == [["lancedb"], ["lancedb"], ["lancedb"], []]
    assert bench_store.list_cases([], 0, None, [], 3, []) == []


def test_each_chunk_of_many_small_documents_is_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    real = np.eye(3, 384, dtype=np.float32)
    monkeypatch.setattr(benchmark_data, "embed_code_texts", lambda: real)
    made = benchmark_data.make_coded_data(20, 2, per_document=1)
    assert len(set(made.documents)) == 20 - SMALL + 1
    assert np.allclose(np.linalg.norm(made.vectors, axis=1), 1)
    monkeypatch.setattr(benchmark_data, "BLOCK", 7)
    assert np.array_equal(benchmark_data.make_coded_data(20, 2).vectors, made.vectors)


def test_chunks_of_a_real_pdf_keep_their_spans_in_our_store(tmp_path: Path) -> None:
    lines = ["P0700 is stored by the transmission control module.", "The fluid is checked warm."]
    (tmp_path / "manual.pdf").write_bytes(pdf_files.pdf(*map(pdf_files.text, lines)))
    made = benchmark_data.make_pdf_data(tmp_path, 2)
    (tmp_path / "corpus").mkdir()
    save_corpus(tmp_path / "corpus", made.texts, made.vectors, made.documents, made.spans)
    rows = load_rows(tmp_path / "corpus")
    assert [json.loads(row.spans)[0][:4] for row in rows]
    (ours,) = build_contestants([], None, tmp_path)
    measure_one(made, ours, tmp_path)
    assert ours.chunks == len(made.texts) == len(rows)


def test_no_size_is_written_as_nothing_or_as_0() -> None:
    assert [bench_store.parse_sizes(written) for written in ("", "0", "10,2000")] == [[], [], [10, 2000]]


def test_a_goal_is_held_or_not_and_says_where_chance_may_have_decided() -> None:
    sure = bench_goals.judge_goal([1.0, 1.1, 1.2], 2.0, compute=statistics.median)
    assert sure.format_cells() == ["1.10 [1.00, 1.20]", "≤ 2.00", "held"]
    unsure = bench_goals.judge_goal([1.0, 3.0, 3.0], 2.0, compute=statistics.median)
    assert unsure.format_cells()[2] == "missed, within the interval"
    rate = bench_goals.judge_goal([0.3, 0.31], 0.35, compute=min, at_least=True)
    assert rate.format_cells()[1:] == ["≥ 0.35", "missed"]


def test_every_part_of_the_goals_is_in_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, few in {"STORE_QUESTIONS": 3, "ROUNDS": 2, "REQUESTS": 3, "CLIENTS": 2, "RUNS": 1}.items():
        monkeypatch.setattr(bench_goals, name, few)
    monkeypatch.setattr(bench_goals, "STORE_GOALS_MS", {SIZE: 1000.0})
    monkeypatch.setattr(bench_http, "DOCUMENTS", 1)
    folder = write_collection(tmp_path)
    (folder / "manual.pdf").write_bytes(pdf_files.pdf(pdf_files.text("P0700 is stored by the control module.")))
    cache = EvaluationCache(tmp_path / "cache")
    found = bench_goals.bench_goals(bench_goals.list_parts(folder, 1, cache, half=""))
    cache.close()
    printed = capsys.readouterr().out
    assert len(found) == 12
    assert all(f"| {name} | " in printed for name in (*found, *bench_goals.UNMEASURED))
    assert "| 60 chunks, hybrid, ms |" in printed


def test_a_table_compares_times_and_sizes_with_the_first() -> None:
    first = Contestant("first", [], None, 2.0, 10.0, 100.0, [1.0], [2.0, 2.0], [1.0], [1.0], [1.0], [4.0, 4.0], [1.0])
    other = replace(first, name="other", build_s=1.0, memory_mb=250.0, hybrid_ms=[3.0, 3.0])
    printed = format_store_table("1,000 chunks", {one.name: list_figures(one) for one in (first, other)})
    assert printed.startswith("| 1,000 chunks | first | other |")
    assert "| hybrid p50 ms | 2.00 | 3.00 (1.5x) |" in printed
    assert "| searchable after s | 2.0 | 1.0 (0.5x) |" in printed
    assert "chunks/s" not in printed
    assert "p95" not in printed
    assert "| memory MB | 100 | 250 (2.5x) |" in printed


def test_an_environment_is_made_anew_when_its_requirements_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    assert not environments.is_made("chroma")
    stamp = tmp_path / ".cache" / "bench" / "chroma" / "made"
    stamp.parent.mkdir(parents=True)
    stamp.write_text((environments.HERE / "chroma.txt").read_text())
    assert environments.is_made("chroma")
    stamp.write_text("chromadb==0.1\n")
    assert not environments.is_made("chroma")


@pytest.mark.parametrize("peer", PEERS)
def test_everything_in_a_peers_environment_is_pinned(peer: str) -> None:
    lines = (environments.HERE / f"{peer}.txt").read_text().split()
    assert lines
    assert all(line.count("==") == 1 for line in lines)


def test_questions_over_http_are_compared_with_an_empty_function(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_http, "DOCUMENTS", 1)
    bench_http.bench_requests(rounds=2, requests=3, clients=2)
    told = capsys.readouterr().out
    assert "6 questions, 2 at a time" in told
    assert all(f"| {kind} | " in told for kind in bench_http.KINDS)


def test_a_refusal_over_http_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_http, "DOCUMENTS", 1)
    monkeypatch.setattr(bench_http, "KINDS", {"refused": {"search_type": "no such"}})
    with pytest.raises(RuntimeError, match="answered 400"):
        bench_http.bench_requests(rounds=1, requests=2, clients=1)


def test_a_first_answer_is_measured_from_the_start_of_a_process(tmp_path: Path) -> None:
    """From what an earlier process indexed; a refusal would raise."""
    ours, folder = bench_cold_start.OURS, str(tmp_path)
    indexing = bench_cold_start.build_request_code(
        ours, "index_document", content=bench_cold_start.TEXT, document_id="notes"
    )
    asking = bench_cold_start.build_request_code(
        ours, "consult_rag", query="P0700", preset="pages", search_type="keyword"
    )
    bench_cold_start.measure_process(indexing, folder)
    first = bench_cold_start.measure_process(asking, folder)
    empty = bench_cold_start.measure_process(
        bench_cold_start.build_request_code(bench_cold_start.BARE, "empty"), folder
    )
    assert 0 < empty.cpu_s < first.cpu_s


async def test_what_a_question_costs_is_counted_pair_by_pair_for_each_kind_of_request(tmp_path: Path) -> None:
    write_collection(tmp_path)
    cache = EvaluationCache(tmp_path / "cache")
    costs = await bench_questions.measure_requests(
        load_labelled_collection(tmp_path), ["When does gearbox 2 overheat?"], cache
    )
    cache.close()
    assert {name: len(of) for name, of in costs.items()} == {"standard": 1, "rerank": 1, "advanced": 1, "ask": 1}
    assert all(one.cpu_ms > 0 < one.pairs and not one.repeated_pairs for of in costs.values() for one in of)
    assert "| ask | " in bench_questions.format_costs(costs)


async def test_indexing_is_measured_by_stage_for_a_page() -> None:
    upload = Upload(
        filename="manual.pdf", data=pdf_files.pdf(pdf_files.text("P0700 is stored by the transmission control module."))
    )
    found = await bench_indexing.measure_uploads([upload])
    assert found["pages"] == 1
    assert found["ms CPU a page"][bench_indexing.WHOLE] > found["ms CPU a page"]["embedding"] > 0

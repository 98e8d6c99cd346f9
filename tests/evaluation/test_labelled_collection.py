"""Three layouts of a labelled folder, each worked out by hand, and the models that the user's settings name."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_emulator.model_service import ModelService
from local_emulator.search_service import SearchService, run_search_service
from local_emulator.search_service.serving import Application, serve_wsgi
from rag_core.cli import main
from rag_core.composition import assembly
from rag_core.core.errors import Misconfigured
from rag_core.core.model import Chunk, Span, Turn
from rag_core.core.settings import Settings
from rag_core.evaluation import ablation, labelled_collection, pipeline_evaluation
from rag_core.evaluation.model_usage import NO_HYDE_ANSWER
from tests import hosted, local
from tests.ingestion.pdf_files import lines, pdf

TINY = Path(__file__).parents[1] / "data" / "beir_tiny"
WORDS = "standard:how=keyword"
GEARS = "Gears are turned by the motor of the mill."
VALVES = "Valves open when the boiler is hot."


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "evals.sqlite3"


def folder(at: Path, questions: Mapping[str, str], judged: Mapping[str, str], **about: Mapping[str, str]) -> Path:
    """A folder with these questions, each with a relevant document, and what `about` has of a question as metadata."""
    records = [{"_id": id, "text": text, "metadata": about.get(id, {})} for id, text in questions.items()]
    (at / "queries.jsonl").write_text("\n".join(map(json.dumps, records)))
    rows = [f"{question}\t{document}\t1\n" for question, document in judged.items()]
    (at / "qrels.tsv").write_text("".join(["query-id\tcorpus-id\tscore\n", *rows]))
    return at


def corpus(at: Path, *records: Mapping[str, Any]) -> None:
    (at / "corpus.jsonl").write_text("\n".join(map(json.dumps, records)))


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A PDF of two pages, and what another program is said to have read there."""
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "mill.pdf").write_bytes(pdf(lines(GEARS), lines(VALVES)))
    corpus(tmp_path, {"_id": "mill.pdf#page=1", "text": "nothing"}, {"_id": "mill.pdf#page=2", "text": "nothing"})
    asked = {"gears": "Who turns the gears?", "valves": "When do valves open?"}
    return folder(tmp_path, asked, {"gears": "mill.pdf#page=1", "valves": "mill.pdf#page=2"})


def scores(at: Path, cache: Path, **how: Any) -> Mapping[str, Mapping[str, float]]:
    return ablation.compare_presets(at, {WORDS: WORDS}, WORDS, cache_file=cache, **how).rows[WORDS].scores


def test_a_conversation_is_its_last_question_after_its_turns(tmp_path: Path) -> None:
    """The layout of MTRAG. A text that only quotes such a mark is a question like any other."""
    said = "|user|: Who turns the gears?\n|agent|: The motor.\nOf the mill.\n|user|: And when do they stop?"
    corpus(tmp_path, {"_id": "mill", "text": GEARS})
    asked = folder(tmp_path, {"one": said, "other": "What is |user|: for?"}, {"one": "mill", "other": "mill"})
    one, other = labelled_collection.load_labelled_collection(asked).questions.values()
    assert (one.text, one.history) == (
        "And when do they stop?",
        (Turn("user", "Who turns the gears?"), Turn("assistant", "The motor.\nOf the mill.")),
    )
    assert (other.text, other.history) == ("What is |user|: for?", ())


def test_the_turns_before_a_question_are_searched_by_the_pipelines(tmp_path: Path, cache: Path) -> None:
    corpus(tmp_path, {"_id": "mill", "text": GEARS}, {"_id": "boiler", "text": VALVES})
    asked = folder(
        tmp_path, {"it": "|user|: Tell me of the boiler valves.\n|user|: What about those?"}, {"it": "boiler"}
    )
    search = "standard:semantic=0"
    report = pipeline_evaluation.evaluate_pipelines(asked, pipelines=[search], cache_file=cache)
    found = {row.pipeline: row.scores["it"]["ndcg@10"] for row in report.rows}
    assert (found["words"], found[search]) == (0, 1)


def test_the_pages_of_pdfs_are_found_in_the_pdfs_and_not_in_the_corpus_beside_them(manual: Path, cache: Path) -> None:
    found = scores(manual, cache)
    assert {id: of["recall@10"] for id, of in found.items()} == {"gears": 1, "valves": 1}


def test_a_hit_stands_for_each_page_that_it_is_on_once() -> None:
    spans = tuple(Span(0, 1, page, 1, 1) for page in (4, 4, 5))
    assert labelled_collection.list_page_ids(Chunk("c", "d", 0, "x", "", "a.pdf", "", spans)) == [
        "a.pdf#page=4",
        "a.pdf#page=5",
    ]


def test_pdfs_of_which_no_page_is_judged_leave_the_corpus_in_its_place(manual: Path, cache: Path) -> None:
    """As where they are more documents of the same kind, and the judgements are of others."""
    corpus(manual, {"_id": "note", "text": GEARS}, {"_id": "other", "text": VALVES})
    folder(manual, {"gears": "Who turns the gears?"}, {"gears": "note"})
    assert scores(manual, cache)["gears"]["ndcg@10"] == 1


def test_a_judged_pdf_that_is_not_there_is_named(manual: Path) -> None:
    folder(manual, {"a": "Who?", "b": "When?"}, {"a": "mill.pdf#page=1", "b": "lost.pdf#page=1"})
    with pytest.raises(Misconfigured, match=r"lacks files named in the judgements: lost\.pdf"):
        labelled_collection.load_labelled_collection(manual)


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """The same words in two databases, which tie wherever both are searched."""
    databases = ("heroes", "shop", "zoo")
    corpus(tmp_path, *({"_id": f"{db}.weight", "text": "how heavy", "metadata": {"db": db}} for db in databases))
    asked = dict.fromkeys(databases, "How heavy is it?")
    return folder(tmp_path, asked, {db: f"{db}.weight" for db in databases}, **{db: {"db": db} for db in databases})


def test_a_question_is_asked_in_the_workflow_of_its_record_only(schemas: Path, cache: Path) -> None:
    assert {of["ndcg@10"] for of in scores(schemas, cache, workflow_field="db").values()} == {1}
    assert sorted(of["ndcg@10"] for of in scores(schemas, cache).values())[0] < 1


def test_a_record_without_the_field_is_refused(schemas: Path) -> None:
    with pytest.raises(Misconfigured, match="without 'database'"):
        labelled_collection.load_labelled_collection(schemas, workflow_field="database")


@pytest.fixture
def ranges(tmp_path: Path) -> Path:
    """Two documents of one short chunk each; the first has 42 characters, of which 5 are gold."""
    (tmp_path / "a.md").write_text(GEARS, "utf-8")
    (tmp_path / "b.txt").write_text("An oil lamp.", "utf-8")
    (tmp_path / "README.md").write_text("Gears are turned, but this is no document.", "utf-8")
    question = {"_id": "q", "text": "What is turned?", "document": "a.md", "spans": [{"start": 0, "end": 5}]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question), "utf-8")
    return tmp_path


def test_character_ranges_are_scored_by_what_the_best_passages_cover(ranges: Path, cache: Path) -> None:
    found = ablation.compare_presets(ranges, {WORDS: WORDS}, WORDS, cache_file=cache)
    assert found.rows[WORDS].scores == {"q": {"recall@5": 1, "iou@5": pytest.approx(5 / len(GEARS))}}
    assert found.format_table().startswith(
        f"|  | recall@5 | iou@5 | recall@5 against {WORDS} | iou@5 against {WORDS} | p50 ms"
    )


def test_run_has_the_measures_of_the_set_too(ranges: Path, cache: Path) -> None:
    report = pipeline_evaluation.evaluate_pipelines(ranges, pipelines=[WORDS], cache_file=cache)
    assert list(report.to_json()["rows"][-1]) == ["pipeline", "recall@5", "iou@5", "p50_ms", "p95_ms", "cpu_ms", "n"]
    assert "| recall@5 against, 95 % interval |" in report.format_table()


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ({"_id": "q", "document": "a.md", "spans": []}, "must have"),
        ({"_id": "q", "text": "?", "document": "c.md", "spans": [{"start": 0, "end": 5}]}, r"lacks .*c\.md"),
        ({"_id": "q", "text": "?", "document": "a.md", "spans": []}, "no question"),
    ],
)
def test_ranges_that_cannot_be_scored_are_refused(ranges: Path, question: Mapping[str, Any], what: str) -> None:
    (ranges / "questions.jsonl").write_text(json.dumps(question), "utf-8")
    with pytest.raises(Misconfigured, match=what):
        labelled_collection.load_labelled_collection(ranges)


def test_the_halves_of_a_set_share_no_question_and_leave_none_out(manual: Path, cache: Path) -> None:
    assert [set(scores(manual, cache, half=half)) for half in labelled_collection.HALVES] == [{"gears"}, {"valves"}]
    assert set(scores(manual, cache, half="second", max_questions=1)) == {"valves"}


def test_json_is_printed_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # the cache
    assert main(["eval", "compare", str(TINY), WORDS, "standard:semantic=0", "--queries", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in told["rows"]] == [WORDS, "standard:semantic=0"]
    assert told["questions"] == 2


def priced(model: str) -> Application:
    """The model service, whose replies name a model that has a price."""
    service = ModelService(local.embedder(), hosted.text(), keys={"key"})

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        [body] = service(environ, lambda *_: lambda _: None)
        said = json.dumps({**json.loads(body), "model": model}).encode()
        start_response("200 OK", [("content-type", "application/json"), ("content-length", str(len(said)))])
        return [said]

    return answer


@contextmanager
def settings(model: str, **more: Any) -> Iterator[Settings]:
    """Those of a user of OpenAI, whose service is here."""
    with serve_wsgi(priced(model)) as url:
        yield Settings(
            openai_api_key="key", openai_base_url=f"{url}/v1", embedding_dimensions=hosted.DIMENSIONS, **more
        )


def test_the_user_s_own_model_is_asked_and_what_it_used_is_counted(cache: Path) -> None:
    ways = {"searched": "advanced:rewordings=0,imaginings=0,rerank=0", "graded": "advanced"}
    with settings("gpt-4o-mini-2024-07-18") as of_user:
        found = ablation.compare_presets(
            TINY, ways, "searched", hosted=True, settings=of_user, cache_file=cache, max_questions=2
        )
    paid = {name: row.usd_per_1000["openai gpt-4o-mini"] or 0 for name, row in found.rows.items()}
    said = {name: row.usage.output_tokens for name, row in found.rows.items()}
    assert said["graded"] > said["searched"] == 0
    assert paid["searched"] > 0  # its questions were embedded
    assert paid["graded"] > said["graded"] * 0.60 / 1_000_000 * 1000 / 2  # USD for 1,000, counted from two
    assert "USD per 1,000, openai gpt-4o-mini" in found.format_table()
    assert found.to_json()["hosted"]


def test_what_a_model_of_no_known_price_cost_is_not_made_up(cache: Path) -> None:
    with settings("mine") as of_user:
        found = ablation.compare_presets(
            TINY, {"graded": "advanced"}, "graded", hosted=True, settings=of_user, cache_file=cache, max_questions=1
        )
    assert found.to_json()["rows"][0]["usd_per_1000"] == {"openai gpt-4o-mini": None}
    assert found.format_table().endswith("| ? |")


def test_a_model_that_does_not_answer_is_not_passed_off_as_one_that_did(cache: Path) -> None:
    def refusing(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"].endswith("embeddings"):
            return priced("mine")(environ, start_response)
        start_response("401 Unauthorized", [("content-type", "application/json")])
        return [b"{}"]

    with serve_wsgi(refusing) as url:
        of_user = Settings(openai_api_key="key", openai_base_url=f"{url}/v1", embedding_dimensions=hosted.DIMENSIONS)
        found = ablation.compare_presets(
            TINY, {"all": "advanced"}, "all", hosted=True, settings=of_user, cache_file=cache, max_questions=2
        )
    assert "all: 2 of 2 questions degraded: query_expansion: llm_unavailable" in found.format_report()


def test_without_the_option_nobody_is_asked_who_is_not_in_this_process(cache: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    of_user = Settings(
        openai_api_key="key",
        openai_base_url=nowhere,
        azure_search_endpoint=nowhere,
        azure_search_key="key",
        redis_url="redis://127.0.0.1:9",
    )
    found = ablation.compare_presets(
        TINY, {"all": "advanced"}, "all", settings=of_user, cache_file=cache, max_questions=1
    )
    assert found.rows["all"].scores["code"]["ndcg@10"] == 1
    assert set(found.rows["all"].usage.degradations) == {NO_HYDE_ANSWER}  # and nothing failed


def test_the_option_wants_something_hosted(cache: Path) -> None:
    with pytest.raises(Misconfigured, match="nothing hosted is configured"):
        ablation.compare_presets(TINY, {"all": "advanced"}, "all", hosted=True, cache_file=cache)


def test_a_search_service_of_the_user_holds_the_collection_only_while_it_is_asked(cache: Path, tmp_path: Path) -> None:
    async def chunks() -> int:
        kit = assembly.build_kit(of_user)
        held = await kit.index.store.describe()
        await kit.close()
        return held.chunks

    with run_search_service(SearchService(None, keys={"key"}, reranker=local.reranker())) as url:
        of_user = Settings(data_dir=tmp_path, azure_search_endpoint=url, azure_search_key="key")
        asyncio.run(assembly.set_up_stores(of_user))
        found = ablation.compare_presets(
            TINY, {"ranked": "standard"}, "ranked", hosted=True, settings=of_user, cache_file=cache, max_questions=1
        )
        assert found.rows["ranked"].scores["code"]["ndcg@10"] == 1
        assert asyncio.run(chunks()) == 0

"""The five functions from request to reply, on the real parts."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

import function_app
from functions.operations import load_operation
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.core.settings import Settings
from rag_core.ingestion.extract.tesseract import find_tesseract
from tests.functions.contract import check_reply
from tests.ingestion.pictures import make_picture

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
API = (ROOT / "docs" / "reference" / "http-api.md").read_text("utf-8")
REPLIES = {f"/{route.path}": load_operation(route).reply.__name__ for route in ROUTES}
NOTES = "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor."

PRICED = Settings(
    data_dir=None,
    chat_provider="openai",
    openai_api_key="none",
    chat_model="gpt-5.4-mini",
    embedding_provider="local",
    enrichment_budget_usd=0.5,
)


class Caller:
    """Calls functions and holds every reply to its model."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def ok(self, function: str, headers: Any = None, **fields: Any) -> dict[str, Any]:
        reply = self.client.post(f"/api/{function}", json=fields, headers=headers)
        body: dict[str, Any] = json.loads(reply.data)
        assert reply.status_code == 200, body
        assert body["success"] is True
        check_reply(REPLIES[f"/api/{function}"], body)
        return body

    def refused(self, function: str, headers: Any = None, **fields: Any) -> tuple[int, dict[str, Any]]:
        reply = self.client.post(f"/api/{function}", json=fields, headers=headers)
        body = json.loads(reply.data)
        check_reply("Refusal", body)
        return reply.status_code, body["error"]


def serving(settings: Settings) -> Iterator[Caller]:
    host = Host(function_app.build_app(lambda: settings))
    yield Caller(Client(host))
    host.close()


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    """With the local models, where they are installed."""
    yield from serving(Settings(data_dir=None))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Without models, and with a platform in front that says who calls."""
    no_models = tmp_path_factory.mktemp("no-models")
    yield from serving(Settings(data_dir=None, models_dir=no_models, trust_principal=True))


@pytest.fixture(scope="module", autouse=True)
def documents(call: Caller) -> None:
    manual = base64.b64encode((EXAMPLES / "tcm-diagnostic-manual.pdf").read_bytes()).decode()
    call.ok("index_document", content_base64=manual, filename="tcm-diagnostic-manual.pdf", document_id="manual")
    call.ok("index_document", content=NOTES, document_id="notes", title="Notes", metadata={"year": 2021})


def test_consult_rag_replies_as_documented(call: Caller) -> None:
    """S1-37 S1-38 S1-39 S1-40 S1-41 S1-42 S1-43 S1-56: the documented fields, by their documented names."""
    reply = call.ok("consult_rag", query="What does P0700 mean?", workflow_id="default", top_k=3)
    assert (reply["pipeline"], reply["count"]) == ("advanced", len(reply["documents"]))
    assert reply["queries_used"] == ["original", "expanded1", "expanded2"]
    assert (reply["reranked"], reply["hyde_used"]) == (True, False)  # no model, and nothing stands in for its answer
    assert "no hypothetical answer" in reply["techniques"]["query_expansion"]
    first = reply["documents"][0]
    assert first["doc_type"] == "chunk"
    assert {"source", "page", "chunk_id"} <= set(first["metadata"])
    assert any(document["metadata"]["page"] for document in reply["documents"])
    assert set(first["captions"][0]) == {"text", "highlights"}
    standard = call.ok("consult_rag", query="What stores P0700?", pipeline="standard")
    assert {"text", "score"} <= set(standard["semantic_answers"][0])


def test_what_is_left_out_of_a_question_has_its_documented_value(call: Caller) -> None:
    """S1-44 S1-45 S1-46 S1-47 S1-48 S1-49: 100 results, hybrid, advanced, every stage on."""
    preset = call.ok("consult_rag", query="P0700")["preset"]
    assert (preset["top_k"], preset["search_type"], preset["pipeline"]) == (100, "hybrid", "advanced")
    assert min(preset["rerank"], preset["rewordings"], preset["imaginings"]) > 0


def test_a_flag_switches_its_stage_off_and_one_without_effect_is_told(call: Caller) -> None:
    """S1-47 S1-48 S1-49: the stages that a pipeline lacks are in the warnings."""
    off = {"enable_rerank": False, "enable_query_expansion": False, "enable_hyde": False}
    reply = call.ok("consult_rag", query="P0700", **off)
    assert (reply["reranked"], reply["hyde_used"], reply["queries_used"]) == (False, False, ["original"])
    advised = call.ok("consult_rag", query="P0700", pipeline="standard", enable_hyde=True)["warnings"]
    assert [advice["code"] for advice in advised] == ["no_effect"]
    [advice] = call.ok("consult_rag", query="P0700", enable_hyde=True)["warnings"]
    assert (advice["code"], "only a chat model" in advice["message"]) == ("no_effect", True)


def test_facets_count_instead_of_finding(call: Caller) -> None:
    reply = call.ok("consult_rag", query="How many unique DTC codes?", pipeline="facets")
    assert (reply["documents"], reply["count"]) == ([], 0)
    assert {bucket["value"] for bucket in reply["facets"]["dtc"]} >= {"P0700", "P0715"}
    assert reply["facet_totals"]["dtc"] == len(reply["facets"]["dtc"])


def test_filters_choose_before_ranking(call: Caller) -> None:
    for said in ({"metadata.year": {"ge": 2020, "lt": 2022}}, {"metadata.year": 2021}, {"document_id": ["notes"]}):
        found = call.ok("consult_rag", query="P0700", pipeline="standard", filters=said)["documents"]
        assert {document["metadata"]["document_id"] for document in found} == {"notes"}


def test_any_column_of_a_table_can_be_counted_and_filtered_by(call: Caller) -> None:
    table = "Model Year,Größe (mm)\n2020,15\n2021,17\n"
    call.ok("index_document", content=table, source="wheels.csv", workflow_id="wheels")
    size, year = "metadata.Größe (mm)", {"metadata.Model Year": "2021"}
    found = call.ok("consult_rag", query="How many?", pipeline="facets", workflow_id="wheels", facets=[size])
    assert found["facet_totals"] == {size: 2}
    filtered = call.ok("consult_rag", query="wheel", pipeline="standard", workflow_id="wheels", filters=year)
    assert [document["metadata"]["Größe (mm)"] for document in filtered["documents"]] == ["17"]


TRICKY = [
    "the of and",
    "🙂🙃",
    "?!…",
    "変速機",
    "x",
    '"*^:(){}~ NEAR AND NOT',
    "x' or 1 eq 1",
    "\u202egnp.exe",
    "a\x01b\x7f",
]


@pytest.mark.parametrize("query", TRICKY)
def test_any_words_may_be_asked(call: Caller, query: str) -> None:
    """C09 C10 C15 F14: words are words, and an empty result has its reason."""
    call.ok("index_document", content="Gear oil.", document_id="oil", workflow_id="tricky")
    reply = call.ok("consult_rag", query=query, pipeline="standard", search_type="keyword", workflow_id="tricky")
    assert (reply["documents"], [advice["code"] for advice in reply["warnings"]]) == ([], ["no_results"])


def test_a_document_indexed_twice_is_one(call: Caller) -> None:
    """S1-57: the second time nothing is new, and a shorter version leaves no tail."""
    long, short = "".join(f"Line {n} about gears.\n\n" for n in range(400)), "Two about valves."
    only_words = {"pipeline": "standard", "search_type": "keyword", "workflow_id": "w"}
    first, again = (call.ok("index_document", content=long, document_id="d", workflow_id="w") for _ in range(2))
    assert first["chunks"] == again["chunks"] > 1
    assert (again["unchanged"], again["embedded"]) == (again["chunks"], 0)
    assert call.ok("index_document", content=short, document_id="d", workflow_id="w")["removed"] > 0
    assert call.ok("consult_rag", query="gears", **only_words)["count"] == 0


def test_chunking_follows_the_request(plain: Caller) -> None:
    """S1-50 S1-51 S1-52 C02: strategy, size, overlap and threshold are the caller's to choose."""
    text = " ".join(f"Sentence number {n} speaks of gear {n}." for n in range(200))
    chunks = {
        name: plain.ok("index_document", content=text, document_id=name, workflow_id="cut", chunking=options)["chunks"]
        for name, options in {
            "usual": {},
            "said": {"strategy": "tokens", "chunk_size": 800, "overlap": 200},
            "small": {"chunk_size": 100},
            "apart": {"chunk_size": 100, "overlap": 0},
            "semantic": {"strategy": "semantic", "threshold": 0.5, "chunk_size": 100},
            "headings": {"strategy": "headings"},
            "blocks": {"strategy": "blocks"},
            "rows": {"strategy": "rows"},
        }.items()
    }
    assert chunks["usual"] == chunks["said"] < chunks["apart"] < chunks["small"]
    status, error = plain.refused("index_document", content=text, chunking={"chunk_size": 100, "overlap": 99})
    assert (status, error["field"]) == (400, "chunking.overlap")


@pytest.mark.parametrize("function", ["consult_rag", "rag/ask"])
def test_a_pipeline_that_the_store_does_not_offer_is_refused_with_those_that_are(call: Caller, function: str) -> None:
    status, error = call.refused(function, query="What does P0700 mean?", pipeline="agentic")
    assert (status, error["field"], error["code"]) == (400, "pipeline", "pipeline_not_offered")
    assert "choose standard, rerank or advanced" in error["message"]


def test_blocks_bring_their_own_place(call: Caller) -> None:
    box = [72.0, 80.0, 300.0, 100.0]
    blocks = [
        {"text": "Pressure is 5 bar.\nIt must not fall.", "page": 3, "bbox": box, "line_start": 7},
        {"text": "The valve opens at 7 bar.", "page": 4, "headings": ["Valves"]},
    ]
    call.ok("index_document", blocks=blocks, source="blocks.json", workflow_id="placed")
    cited = call.ok("extract_citations", text="Pressure is 5 bar. The valve opens at 7 bar.", workflow_id="placed")
    places = [(c["page"], c["lines"], c["bbox"]) for claim in cited["claims"] for c in claim["citations"][:1]]
    assert places == [(3, [7, 7], box), (4, [9, 9], None)]


def test_a_block_s_boxes_and_lines_reach_the_citation_unchanged(call: Caller) -> None:
    """S3-05, S3-06, S3-07, S3-21: page from 1 and as printed, x0 y0 x1 y1 a line, document-wide lines."""
    boxes = [[72.5, 80.0, 300.0, 90.25], [72.5, 92.0, 310.0, 102.0]]
    printed = {"text": "Pressure is 5 bar.\nIt must not fall.", "page": 3, "page_label": "iii", "boxes": boxes}
    joined = {"text": "The valve opens at 7 bar.", "page": 4, "line_start": 20, "line_end": 22, "bbox": boxes[0]}
    chunking = {"strategy": "blocks"}
    done = call.ok("index_document", blocks=[printed, joined], source="b", workflow_id="boxed", chunking=chunking)
    assert (done["chunks"], done["pages"]) == (2, 4)
    cited = call.ok("extract_citations", text="It must not fall. The valve opens at 7 bar.", workflow_id="boxed")
    first, second = (claim["citations"][0] for claim in cited["claims"])
    assert (first["page"], first["page_label"], first["lines"]) == (3, "iii", [2, 2])
    assert (first["bbox"], first["boxes"]) == (boxes[1], [boxes[1]])
    assert (second["page"], second["page_label"], second["lines"], second["bbox"]) == (4, None, [20, 22], boxes[0])


@pytest.mark.parametrize(
    "block", [{"boxes": [[0.0, 0.0, 1.0, 1.0]] * 2}, {"boxes": [[2.0, 0.0, 1.0, 1.0]]}, {"bbox": [0.0, 2.0, 1.0, 1.0]}]
)
def test_boxes_that_are_none_are_refused(plain: Caller, block: dict[str, Any]) -> None:
    """S3-06."""
    status, error = plain.refused("index_document", blocks=[{"text": "One line.", **block}])
    assert (status, error["field"]) == (400, "blocks")


UNREADABLE: list[tuple[dict[str, Any], int]] = [
    ({}, 400),
    ({"content": "x", "blocks": [{"text": "x"}]}, 400),
    ({"content_base64": "eA=="}, 400),
    ({"content_base64": "x", "filename": "a.txt"}, 400),
    ({"content_base64": "é", "filename": "a.txt"}, 400),
    ({"content_base64": "", "filename": "a.txt"}, 422),
    ({"content_base64": "eA==", "filename": "a.exe"}, 415),
    ({"content_base64": "bm90IGEgcGRm", "filename": "a.pdf"}, 422),
    ({"content": " \n "}, 422),
    ({"content": "x" * 2_000_000}, 413),
]


@pytest.mark.parametrize(("upload", "status"), UNREADABLE, ids=lambda x: x if isinstance(x, int) else ",".join(x))
def test_a_document_that_cannot_be_read_is_refused_by_its_reason(upload: dict[str, Any], status: int) -> None:
    """C05: a typed 4xx for whatever is sent."""
    small = Settings(data_dir=None, models_dir=EXAMPLES, max_upload_bytes=1_000_000)
    for caller in serving(small):
        got, error = caller.refused("index_document", **upload)
        assert got == status, error
        assert error["retryable"] is False


def test_a_summary_is_given_by_get_and_post(call: Caller) -> None:
    """S1-58: with entities and origin."""
    posted = call.ok("get_document_summary", document_id="notes")
    got: Any = call.client.get("/api/get_document_summary?document_id=notes&refresh=").get_json()
    assert got["summary"] == posted["summary"] != ""
    assert {"type": "dtc", "value": "P0700"} in posted["entities"]
    assert call.ok("get_document_summary", document_id="manual")["pages"] > 1


def test_sentences_are_held_against_the_documents(call: Caller) -> None:
    """S1-59: a verdict a sentence, and the place of what supports it."""
    reply = call.ok("extract_citations", text="P0700 is stored by the TCM. Cats sleep all day.", run_id="r1")
    first, second = reply["claims"]
    assert first["verdict"] == "verified"
    assert (first["citations"][0]["document_id"], first["citations"][0]["lines"]) == ("notes", [1, 1])
    assert second["verdict"] == "unsupported"
    assert (second["finding"], second["reasons"]) == ("not_stated", ["not stated: no passage has these words"])
    assert (second["explanation"], bool(second["nearest"])) == ("no passage has these words", True)
    assert reply["about_run"] == "r1"
    elsewhere = call.ok("extract_citations", text="P0700 is stored by the TCM.", document_ids=["manual"])
    assert {c["document_id"] for claim in elsewhere["claims"] for c in claim["citations"]} <= {"manual"}


def test_the_graph_can_be_asked(call: Caller) -> None:
    """S1-60: around an entity, between two, and which there are."""
    around = call.ok("graph_query", operation="neighbors", entity="P0700")
    assert {edge["source"] for edge in around["edges"]} == {"P0700"}
    assert all(edge["chunk_ids"] for edge in around["edges"])
    assert call.ok("graph_query", operation="path", entity="P0700", target="P0715")["paths"] == [["P0700", "P0715"]]
    top: Any = call.client.get("/api/graph_query?operation=top&limit=2").get_json()
    assert len(top["nodes"]) == 2
    assert call.refused("graph_query", operation="entity", entity="P9999")[0] == 404


def test_a_workflow_is_not_seen_from_another(call: Caller) -> None:
    """C13 C14: what is another's is answered as what is not there, to the letter."""
    assert call.ok("consult_rag", query="P0700", workflow_id="other")["documents"] == []
    theirs = call.refused("get_document_summary", document_id="notes", workflow_id="other")
    nothing = call.refused("get_document_summary", document_id="never-there", workflow_id="other")
    assert theirs == nothing
    assert theirs[0] == 404


def test_a_users_documents_are_the_users(plain: Caller) -> None:
    """C13 C14: the owner is the platform's principal, and nobody else finds, reads or replaces the document."""
    ann, bob = ({"x-ms-client-principal": principal(name)} for name in ("ann", "bob"))
    plain.ok("index_document", ann, content=NOTES, document_id="private")
    assert plain.ok("consult_rag", ann, query="P0700", pipeline="standard")["count"] == 1
    for other in (bob, {}):
        assert plain.ok("consult_rag", other, query="P0700", pipeline="standard")["count"] == 0
        assert plain.refused("get_document_summary", other, document_id="private")[0] == 404
        assert plain.refused("index_document", other, content="mine now", document_id="private")[0] == 404
        assert plain.ok("graph_query", other, operation="top")["nodes"] == []


def principal(name: str) -> str:
    return base64.b64encode(json.dumps({"claims": [{"typ": "oid", "val": name}]}).encode()).decode()


def test_health_says_what_is_in_use_and_counts_nothing(plain: Caller) -> None:
    reply: Any = plain.client.get("/api/health").get_json()
    check_reply("HealthReply", reply)
    assert reply["parts"] == {
        "store": "embedded",
        "embedder": "none",
        "reranker": "none",
        "llm": "local techniques",
        "enrichment": "none",
        "documents": "tesseract" if find_tesseract() else "local parsers",
        "archive": "SQLite",
    }


def test_a_search_by_meaning_without_an_embedder_is_unavailable(plain: Caller) -> None:
    """A failure is never an empty 200."""
    status, error = plain.refused("consult_rag", query="P0700", pipeline="standard", search_type="vector")
    assert (status, error["retryable"]) == (503, True)


def test_every_example_of_the_page_about_the_api_is_answered(call: Caller) -> None:
    """docs/reference/http-api.md: the commands as they stand, at our address.

    link_schema needs a database, and document_original, which answers with the file, an upload.
    """
    command = r"""^curl -s (-X POST )?"?\$URL([^\s"]+)"?(?:[^\n]*-d '([^']*)')?"""
    examples = re.findall(command, API, re.MULTILINE)
    routes = {f"/{r.path}" for r in ROUTES if r.path.startswith("api/") and "{" not in r.path}
    routes -= {f"/{r.path}" for r in ROUTES if load_operation(r).required_role}
    assert routes - {path.partition("?")[0] for _, path, _ in examples} == {
        "/api/openapi.json",
        "/api/link_schema",
        "/api/document_original",
    }
    for posted, path, body in examples:
        method = "POST" if posted or body else "GET"
        reply = call.client.open(path, method=method, data=body, content_type="application/json")
        assert reply.status_code == 200, path


def test_a_budget_for_a_chat_model_that_nobody_has_is_said_to_be_without_effect(plain: Caller) -> None:
    """The upload is indexed all the same; 0 asks for nothing, so nothing is in vain."""
    for estimate in (True, False):
        reply = plain.ok("index_document", content=NOTES, enrichment_budget_usd=0.5, estimate=estimate)
        (warning,) = [warning for warning in reply["warnings"] if warning["code"] == "no_effect"]
        assert warning["message"] == (
            "enrichment_budget_usd has no effect: only a chat model is paid for entities and summaries, "
            "and none is configured"
        )
    unasked = plain.ok("index_document", content=NOTES, enrichment_budget_usd=0)
    assert "no_effect" not in {warning["code"] for warning in unasked["warnings"]}


def test_a_budget_for_a_layout_service_that_nobody_has_is_said_to_be_without_effect(plain: Caller) -> None:
    for estimate in (True, False):
        reply = plain.ok("index_document", content=NOTES, layout_budget_usd=0.5, estimate=estimate)
        (warning,) = [warning for warning in reply["warnings"] if warning["code"] == "no_effect"]
        assert warning["message"] == (
            "layout_budget_usd has no effect: only Document Intelligence is paid for reading, and none is configured"
        )
    unasked = plain.ok("index_document", content=NOTES, layout_budget_usd=0)
    assert "no_effect" not in {warning["code"] for warning in unasked["warnings"]}


def test_a_budget_that_can_be_spent_is_not_said_to_be_without_effect() -> None:
    """Of a chat model and of a layout service, in an estimate too."""
    for call in serving(replace(PRICED, doc_intelligence_endpoint="http://127.0.0.1:9", doc_intelligence_key="key")):
        budgets = {"enrichment_budget_usd": 0.1, "layout_budget_usd": 0.1}
        assert call.ok("index_document", content=NOTES, estimate=True, **budgets)["warnings"] == []


def test_an_estimate_says_the_price_and_indexes_nothing() -> None:
    """S1-31: what entities and summaries would cost is known before anything is spent; the upload may set less or 0."""
    for call in serving(PRICED):
        reply = call.ok("index_document", content=NOTES, document_id="notes", estimate=True)
        enrichment = reply["estimate"]["enrichment"]
        assert (reply["estimate"]["action"], reply["chunks"], reply["embedded"]) == ("add", 1, 0)
        assert (enrichment["model"], enrichment["passages"], enrichment["calls"]) == ("gpt-5.4-mini", 1, 1)
        assert enrichment["budget_usd"] == 0.5
        expected = (enrichment["input_tokens"] * 0.75 + enrichment["output_tokens"] * 4.5) / 1e6
        assert reply["estimate"]["usd"] == pytest.approx(expected)
        unpaid = call.ok("index_document", content=NOTES, estimate=True, enrichment_budget_usd=0)
        assert (unpaid["estimate"]["enrichment"], unpaid["estimate"]["usd"]) == (None, 0.0)
        assert call.ok("consult_rag", query="P0700", preset="standard")["documents"] == []
        assert json.loads(call.client.get("/api/health").data)["parts"]["enrichment"] == "gpt-5.4-mini"


def test_an_estimate_says_the_pages_for_document_intelligence_and_a_ceiling_of_nothing_sends_none() -> None:
    """S1-31: a scan has no text yet, and its price is known all the same."""
    paid = Settings(data_dir=None, doc_intelligence_endpoint="http://127.0.0.1:9", doc_intelligence_key="key")
    scan = {"content_base64": base64.b64encode(make_picture("Drain plug")).decode(), "filename": "plug.png"}
    for call in serving(paid):
        reply = call.ok("index_document", estimate=True, **scan)
        layout = reply["estimate"]["layout"]
        assert (layout["pages"], layout["usd"], layout["budget_usd"]) == (1, 0.01, 5.0)
        assert layout["reader"].startswith("Document Intelligence")
        assert reply["estimate"]["usd"] == pytest.approx(0.01)
        assert call.ok("index_document", content=NOTES, estimate=True)["estimate"]["layout"] is None
        status, refused = call.refused("index_document", layout_budget_usd=0, **scan)
        assert status == 422
        assert "may be paid nothing" in refused["message"]


def test_a_count_says_its_condition_and_where_each_value_stands(call: Caller) -> None:
    """S1-10: under the condition that the question names, each value with a passage that has it."""
    table = "product,supplier\nValve,Acme\nPump,Acme\nHose,Globex\n"
    call.ok("index_document", content=table, filename=None, document_id="supplies", source="s.csv", workflow_id="count")
    reply = call.ok("consult_rag", query="How many products does Acme supply?", pipeline="facets", workflow_id="count")
    assert reply["facet_totals"] == {"metadata.product": 2}
    cited = [(bucket["value"], bucket["cited"]["text"]) for bucket in reply["facets"]["metadata.product"]]
    assert [("Pump" in text, "Acme" in text) for _, text in cited] == [(True, True), (False, True)]
    assert [
        "metadata.supplier is Acme" in w["message"] for w in reply["warnings"] if w["code"] == "facet_condition"
    ] == [True]

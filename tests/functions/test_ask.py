"""Questions that want an answer, over HTTP and on the real parts."""

import base64
from collections.abc import Iterator

import pytest

from rag_core.core.settings import Settings
from tests.functions.test_functions import EXAMPLES, NOTES, Caller, principal, serving

BOX = [72.0, 80.0, 300.0, 100.0]
PLACE = {"document_id", "title", "source", "page", "page_label", "bbox", "boxes", "lines", "section"}


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    """With the local models, where they are installed."""
    for caller in serving(Settings(data_dir=None)):
        manual = base64.b64encode((EXAMPLES / "tcm-diagnostic-manual.pdf").read_bytes()).decode()
        caller.ok("index_document", content_base64=manual, filename="tcm.pdf", document_id="manual")
        caller.ok("index_document", content=NOTES, document_id="notes", title="Notes", metadata={"stage": "draft"})
        yield caller


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Without models, and with a platform in front that says who calls."""
    no_models = tmp_path_factory.mktemp("no-models")
    yield from serving(Settings(data_dir=None, models_dir=no_models, trust_principal=True))


def test_an_answer_points_at_the_words_that_bear_it_out(call: Caller) -> None:
    """S3-20, S2-42, C31: every sentence has citations, and every citation its whole place and a verdict."""
    reply = call.ok("rag/ask", query="What does P0700 mean?", pipeline="standard")
    assert (reply["status"], reply["origin"], reply["pipeline"]) == ("answered", "extractive", "standard")
    assert "transmission control module" in reply["answer"]
    assert all(claim["citations"] for claim in reply["claims"])
    for claim in reply["claims"]:
        assert reply["answer"][claim["start"] : claim["end"]] == claim["text"]
        assert {citation["verdict"] for citation in claim["citations"]} == {claim["verdict"]}
    first = reply["citations"][0]
    assert set(first) >= PLACE | {"quote", "verdict", "chunk_id", "score"}
    assert (first["number"], first["document_id"], first["verdict"]) == (1, "manual", "verified")
    assert first["page"] == 2
    assert first["lines"]
    assert "[1]" in reply["cited_answer"]


def test_a_confidence_comes_with_what_it_was_made_of(call: Caller) -> None:
    """S4-25, C38."""
    confidence = call.ok("rag/ask", query="What does P0700 mean?", pipeline="standard")["confidence"]
    assert 0 < confidence["value"] <= 1
    assert confidence["inputs"]
    assert confidence["formula"]


STORES = """# Stores of the region

The region has several stores, and each store is listed with its city and its revenue in 2025.

| Store | City | Revenue 2025 (EUR) | Opened |
|---|---|---|---|
| Alpha | Oslo | 210,000 | 2011 |
| Beta | Oslo | 190,000 | 2015 |
| Gamma | Bergen | 330,000 | 2009 |
"""
COUNTED = "| City | Stores in the city | Opened |\n|---|---|---|\n| Oslo | 12 | 2011 |\n| Bergen | 7 | 2009 |\n"


@pytest.mark.parametrize(
    ("workflow", "question", "answer"),
    [
        ("stores", "How many stores are in Oslo?", None),  # one of two rows was quoted
        ("stores", "What is the total revenue of the stores in 2025?", None),
        ("stores", "Which store had the highest revenue in 2025?", None),
        ("stores", "How many stores opened before 2012?", None),  # refused by the small model
        ("stores", "What was the revenue of Gamma in 2025?", "330,000"),
        ("counted", "How many stores are in the city of Oslo?", "12"),  # the row states it
        ("stores", "How many moons does Jupiter have?", ""),  # not for want of computing
    ],
)
def test_the_classical_pipeline_computes_nothing_and_says_so(
    workflow: str, question: str, answer: str | None, call: Caller
) -> None:
    """Rows over which something is to be computed are no answer."""
    content = STORES if workflow == "stores" else COUNTED
    call.ok("index_document", content=content, document_id="s", source="s.md", filename="s.md", workflow_id=workflow)
    reply = call.ok("rag/ask", query=question, pipeline="classical", workflow_id=workflow)
    codes = {warning["code"] for warning in reply["warnings"]}
    assert ("not_computed" in codes) is (answer is None)
    assert (reply["status"] == "answered") is bool(answer)
    assert ("computes nothing over tables" if answer is None else answer) in reply["answer"]


def test_what_nobody_wrote_is_not_known_and_that_is_an_answer(call: Caller) -> None:
    """S2-42: with the nearest passages, and nothing that passes for a claim."""
    reply = call.ok("rag/ask", query="Who painted the ceiling of the Sistine Chapel?", pipeline="standard")
    assert (reply["status"], reply["claims"], reply["citations"]) == ("unknown", [], [])
    assert reply["contexts"]
    empty = call.ok("rag/ask", query="What does P0700 mean?", workflow_id="empty")
    assert (empty["status"], empty["contexts"]) == ("unknown", [])
    assert "nothing_indexed" in [advice["code"] for advice in empty["warnings"]]


@pytest.mark.parametrize("said", [{"pipeline": "facets"}, {"preset": "facets"}])
def test_a_pipeline_that_counts_does_not_answer(call: Caller, said: dict[str, str]) -> None:
    status, error = call.refused("rag/ask", query="How many unique DTC codes?", **said)
    assert (status, error["code"]) == (400, "invalid_request")
    assert "facets" in error["message"]


def test_documents_and_filters_narrow_what_is_answered_from(call: Caller) -> None:
    """S3-20, S1-46: one document, by id or by a condition."""
    for narrow in ({"document_ids": ["notes"]}, {"filters": {"metadata.stage": "draft"}}):
        reply = call.ok("rag/ask", query="What stores P0700?", pipeline="standard", **narrow)
        assert {context["document_id"] for context in reply["contexts"]} == {"notes"}
        assert {citation["document_id"] for citation in reply["citations"]} == {"notes"}


def test_the_numbers_of_a_preset_may_be_replaced(call: Caller) -> None:
    """S0-27, C01: top_k is what is found, top_n what is answered from."""
    reply = call.ok("rag/ask", query="P0700", pipeline="standard", top_k=5, top_n=1, enable_hyde=True)
    assert (reply["preset"]["top_k"], reply["preset"]["top_n"]) == (5, 1)
    assert len(reply["contexts"]) == 1
    assert [advice["code"] for advice in reply["warnings"]] == ["no_effect"]


@pytest.mark.parametrize(
    ("style", "label"),
    [
        ("numbers", "[1]"),
        ("pages", "[Source: Page 3, Lines 7-7]"),
        ("sections", "[Valves, Section Relief]"),
        ("badges", "(snapshot) Valves: “The relief valve opens at 7 bar.” <https://a.example/7>"),
    ],
)
def test_a_citation_is_labelled_in_the_style_asked_for(call: Caller, style: str, label: str) -> None:
    """C31: S3-18, S4-22 and S2-44 from one record, the same for any text; the boxes come along."""
    block = {"text": "The relief valve opens at 7 bar.", "page": 3, "bbox": BOX, "line_start": 7}
    blocks = [{**block, "headings": ["Pump", "Relief"]}]
    metadata = {"stage": "snapshot", "url": "https://a.example/7"}
    call.ok("index_document", blocks=blocks, title="Valves", document_id="v", workflow_id="v", metadata=metadata)
    question = {"query": "When does the relief valve open?", "pipeline": "standard", "workflow_id": "v"}
    asked = call.ok("rag/ask", **question, style=style)
    [cited] = asked["citations"]
    checked = call.ok("extract_citations", text=block["text"], workflow_id="v", style=style)
    for citation in (cited, checked["claims"][0]["citations"][0]):
        assert (citation["label"], citation["bbox"], citation["boxes"]) == (label, BOX, [BOX])
    assert label in asked["cited_answer"]


def test_without_models_the_answer_is_lesser_and_says_so(plain: Caller) -> None:
    """C38: words alone find, answer and verify what is quoted, and each missing part is named."""
    plain.ok("index_document", content=NOTES, document_id="notes", title="Notes")
    reply = plain.ok("rag/ask", query="What stores P0700?", pipeline="standard")
    assert reply["degraded"]
    assert {claim["verdict"] for claim in reply["claims"]} == {"verified"}
    assert {"relevance", "verify"} <= {step["step"] for step in reply["degraded"]}
    assert plain.refused("rag/ask", query="P0700", preset="pages")[0] == 503


def test_a_users_documents_answer_that_user_only(plain: Caller) -> None:
    """S3-15, C13."""
    ann, bob = ({"x-ms-client-principal": principal(name)} for name in ("ann", "bob"))
    words = {"query": "What stores P0700?", "pipeline": "standard", "workflow_id": "users"}
    plain.ok("index_document", ann, content=NOTES, document_id="private", workflow_id="users")
    assert plain.ok("rag/ask", ann, **words)["contexts"]
    for other in (bob, {}):
        reply = plain.ok("rag/ask", other, **words)
        assert (reply["status"], reply["contexts"]) == ("unknown", [])


def test_the_classical_pipeline_answers_over_http_in_its_own_words(call: Caller) -> None:
    """S4-16, S4-19, S4-22, S4-32, S4-44, S4-51, S4-52, C01, C27: answer, citations, chunks, and who reranked."""
    reply = call.ok("rag/ask", query="What does P0700 mean?", preset="classical", max_results=2)
    assert (reply["status"], reply["pipeline"], reply["style"]) == ("answered", "classical", "sections")
    assert reply["preset"]["top_k"] == 2
    assert 1 <= len(reply["chunks"]) <= 2
    assert all(len(chunk["content"]) <= 400 for chunk in reply["chunks"])
    assert {chunk["source"] for chunk in reply["chunks"]} <= {"bm25", "vector", "hybrid"}
    names = {chunk["document_id"]: chunk["document_name"] for chunk in reply["chunks"]}
    assert names["manual"] == "tcm.pdf"
    assert f"[{reply['citations'][0]['title']}, Section" in reply["cited_answer"]
    assert "MiniLM" in reply["techniques"]["ranker"]
    again = call.ok("rag/ask", query="what does p0700 MEAN?", preset="classical", max_results=2)
    assert again["techniques"]["cache"]
    assert {name: again[name] for name in ("answer", "chunks")} == {name: reply[name] for name in ("answer", "chunks")}


def test_the_classical_evidence_has_the_cross_encoders_score(call: Caller) -> None:
    """C08: beside the fused one."""
    reply = call.ok("consult_rag", query="What does P0700 mean?", pipeline="classical")
    assert 1 <= len(reply["documents"]) <= 3
    assert all(0 <= found["rerank_score"] <= 1 and 0 <= found["score"] <= 1 for found in reply["documents"])


def test_a_question_that_cannot_be_embedded_has_a_confidence_of_nought(plain: Caller) -> None:
    """S4-50, C25: an error, where other pipelines would answer by words."""
    status, error = plain.refused("rag/ask", query="What does P0700 mean?", preset="classical")
    assert (status, error["details"]) == (503, {"confidence": 0.0})
    assert plain.ok("rag/ask", query="What does P0700 mean?", preset="standard")["status"] == "unknown"

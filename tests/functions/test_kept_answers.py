"""What is said of an answer, and the pages that it cites, over HTTP."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter

from rag_core.cli import main
from rag_core.evaluation import labelled_answers
from rag_core.workbench.rated_answers import mark_cited_passages
from tests.evaluation.test_labelled_claims import kit
from tests.functions.test_jobs import signed_in
from tests.functions.test_workbench import Caller, served

QUESTION = {"query": "What does P0700 mean?", "pipeline": "standard", "keep": True}
EXAMPLE = Path(__file__).parents[2] / "examples" / "tcm-diagnostic-manual.pdf"


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Without RAG_KEEP_RUNS: only what asks for it is kept."""
    with served(tmp_path_factory.mktemp("kept")) as caller:
        yield caller


def ask(call: Caller, **fields: Any) -> Any:
    return call.ok("POST", "/api/rag/ask", {**QUESTION, **fields})


def read_details(call: Caller, id: int) -> Any:
    (result,) = call.ok("GET", f"/rag/queries/{id}/results")["results"]
    return call.ok("GET", f"/rag/queries/{id}/results/{result['id']}")["details"]


def test_an_answer_is_kept_when_asked_for_with_all_that_is_shown_of_it(call: Caller) -> None:
    assert "kept" not in ask(call, keep=False)
    first = ask(call)
    second = ask(call, query="And P0715?", follows=first["kept"], history=[{"role": "user", "content": "P0700?"}])
    details = read_details(call, second["kept"])
    assert (details["asked"], details["follows"]) == ("And P0715?", first["kept"])
    for name in ("question", "answer", "status", "claims", "citations", "contexts", "missing_words", "style"):
        assert details["reply"][name] == second[name]


def test_a_rating_is_kept_with_the_answer_and_can_be_changed(call: Caller) -> None:
    id = ask(call)["kept"]
    said = {"rating": "down", "comment": "The page is wrong."}
    assert call.ok("PUT", f"/rag/queries/{id}/feedback", said)["feedback"] == said
    assert read_details(call, id)["feedback"] == said
    call.ok("PUT", f"/rag/queries/{id}/feedback", {"rating": "up"})
    assert read_details(call, id)["feedback"] == {"rating": "up", "comment": ""}


def test_a_rating_of_what_is_not_there_or_not_seen_is_not_found(call: Caller) -> None:
    id = ask(call)["kept"]
    for path in (f"/rag/queries/{id + 99}/feedback", f"/rag/queries/{id}/feedback"):
        status, error = call.refused("PUT", path, {"rating": "up", "workflow_id": "other"})
        assert (status, error["code"]) == (404, "query_not_found")
    assert read_details(call, id).get("feedback") is None
    assert call.refused("PUT", f"/rag/queries/{id}/feedback", {"rating": "maybe"})[0] == 400


def test_a_purged_document_takes_the_kept_answers_that_quote_it_along(call: Caller) -> None:
    """Nothing of its text stays in the reply that is kept."""
    document = {"document_id": "gone", "content": "Zanzibar is the code word of the vault.", "workflow_id": "purged"}
    call.ok("POST", "/api/index_document", document)
    reply = ask(call, query="What is the code word of the vault?", workflow_id="purged")
    assert "Zanzibar" in reply["answer"] or "Zanzibar" in str(reply["contexts"])
    call.ok("POST", "/api/delete_document", {"document_id": "gone", "purge": True, "workflow_id": "purged"})
    results = call.ok("GET", f"/rag/queries/{reply['kept']}/results?workflow_id=purged")
    assert results["results"] == []


def test_the_cited_pages_come_as_one_pdf_with_highlights(call: Caller) -> None:
    content = b64encode(EXAMPLE.read_bytes()).decode()
    call.ok("POST", "/api/index_document", {"document_id": "pdf", "content_base64": content, "filename": "manual.pdf"})
    reply = ask(call, document_ids=["pdf"])
    evidence = call.ok("GET", f"/rag/queries/{reply['kept']}/evidence")
    pages = PdfReader(BytesIO(b64decode(evidence["pdf_base64"]))).pages
    cited = {citation["page"] for citation in reply["citations"]}
    boxes = {tuple(box) for citation in reply["citations"] for box in citation["boxes"]}
    assert len(pages) == len(cited)
    assert sum(len(page["/Annots"]) for page in pages) >= len(boxes) > 0  # type: ignore[arg-type]


def test_pages_of_another_version_than_was_cited_are_left_out(call: Caller) -> None:
    """The boxes are those of the version that was read: in the next one other lines stand there, or another page."""
    with_cover = PdfWriter()
    with_cover.add_blank_page(595, 842)
    with_cover.append(PdfReader(EXAMPLE))
    with_cover.write(buffer := BytesIO())
    kept = []
    for data in (EXAMPLE.read_bytes(), buffer.getvalue()):
        content = b64encode(data).decode()
        document = {"document_id": "renewed", "content_base64": content, "filename": "manual.pdf"}
        call.ok("POST", "/api/index_document", document)
        kept.append(ask(call, document_ids=["renewed"])["kept"])
    status, error = call.refused("GET", f"/rag/queries/{kept[0]}/evidence")
    assert (status, error["code"]) == (404, "original_not_kept")
    assert "changed or removed since" in error["message"]
    assert "document renewed was" in error["details"]["warnings"][0]["message"]
    assert call.ok("GET", f"/rag/queries/{kept[1]}/evidence")["warnings"] == []


def test_an_answer_without_pages_says_so(call: Caller) -> None:
    call.ok("POST", "/api/index_document", {"document_id": "t", "content": "P0700 is a code.", "workflow_id": "t"})
    id = ask(call, workflow_id="t")["kept"]
    status, error = call.refused("GET", f"/rag/queries/{id}/evidence?workflow_id=t")
    assert (status, error["code"]) == (404, "original_not_kept")


def test_a_user_s_answer_is_not_rated_by_another(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("users"), trust_principal=True) as call:
        reply = Caller(call.url, signed_in("ann")).ok("POST", "/api/rag/ask", QUESTION)
        path = f"/rag/queries/{reply['kept']}/feedback"
        status, error = Caller(call.url, signed_in("ben")).refused("PUT", path, {"rating": "up"})
        assert (status, error["code"]) == (404, "query_not_found")


def test_what_was_rated_goes_out_as_the_set_that_the_evaluation_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The round trip: rated over HTTP, listed over HTTP and by the command, read and given by `rag eval answers`."""
    with served(tmp_path) as call:
        for rating, comment in (("up", ""), ("down", "The code has another meaning.")):
            id = ask(call)["kept"]
            call.ok("PUT", f"/rag/queries/{id}/feedback", {"rating": rating, "comment": comment})
        refused = ask(call, query="Who painted the Sistine Chapel?")["kept"]
        call.ok("PUT", f"/rag/queries/{refused}/feedback", {"rating": "down"})
        ask(call)  # nobody says anything of it
        listed = call.ok("GET", "/rag/ratings")
        assert call.ok("GET", "/rag/ratings?workflow_id=other")["answers"] == []
    assert [(row["id"], row["right"], row["comment"]) for row in listed["answers"]] == [
        (2, False, "The code has another meaning."),
        (1, True, ""),
    ]
    assert listed["left_out"] == 1
    assert listed["answers"][1]["answer"].endswith("[1]")
    assert main(["eval", "ratings", "--data", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line) for line in printed.out.splitlines()] == listed["answers"]
    assert "2 rated answers; 1 rated refusals are left out" in printed.err
    (file := tmp_path / "rated.jsonl").write_text(printed.out, "utf-8")
    answers = labelled_answers.load_labelled_answers(file)
    assert [(one.question, one.right) for one in answers] == [(QUESTION["query"], False), (QUESTION["query"], True)]
    assert main(["eval", "answers", str(file)]) == 0
    assert "2 answers, AUC 0.500" in capsys.readouterr().out  # the same answer, called right once and wrong once


async def test_an_answer_of_the_set_is_given_with_the_citations_that_it_had(call: Caller, tmp_path: Path) -> None:
    id = ask(call)["kept"]
    call.ok("PUT", f"/rag/queries/{id}/feedback", {"rating": "up"})
    (file := tmp_path / "rated.jsonl").write_text(json.dumps(call.ok("GET", "/rag/ratings?limit=1")["answers"][0]))
    (given,) = await labelled_answers.give_labelled_answers(labelled_answers.load_labelled_answers(file), kit())
    before = read_details(call, id)["reply"]
    assert given.kept
    texts = [claim.text.removesuffix(" [1]") for claim in given.answer.claims]
    assert texts == [claim["text"] for claim in before["claims"]]
    assert given.answer.claims[0].citations[0].quote == before["citations"][0]["quote"]


def test_marks_name_passages_within_rows_and_text_has_none_of_its_own() -> None:
    text = "See [9].\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    start = text.index("| 1")
    contexts = [{"chunk_id": "x", "content": "one"}, {"chunk_id": "y", "content": "rows: 1 2"}]
    claims = [
        {"start": 0, "end": 8, "citations": [{"chunk_id": "gone", "quote": "one"}]},
        {"start": start, "end": len(text), "citations": [{"chunk_id": "y", "quote": "1 2"}]},
    ]
    assert mark_cited_passages(text, claims, contexts) == "See (9).\n\n| a | b |\n| --- | --- |\n| 1 | 2 [2] |"


def test_what_runs_have_used_is_summed_by_day_pipeline_and_model(tmp_path: Path) -> None:
    with served(tmp_path) as call:
        for pipeline in ("standard", "standard", "rerank"):
            ask(call, pipeline=pipeline)
        ask(call, workflow_id="other")
        used = call.ok("GET", "/rag/usage?days=2")
        assert (used["total"]["runs"], used["total"]["runs_of_unknown_price"]) == (3, 0)
        assert [group["runs"] for group in used["by_day"]] == [3]
        assert {group["name"]: group["runs"] for group in used["by_pipeline"]} == {"standard": 2, "rerank": 1}
        assert sum(group["runs"] for group in used["by_model"]) == 3
        assert call.ok("GET", "/rag/usage?workflow_id=other")["total"]["runs"] == 1
        assert call.refused("GET", "/rag/usage?days=0")[1]["field"] == "days"

"""A document goes, comes back, and goes for good, by the functions that everybody calls."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.routes import ROUTES
from rag_core.core.settings import Settings
from tests.functions.test_functions import NOTES, Caller, principal, serving


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    for made in serving(Settings(data_dir=None, models_dir=tmp_path, trust_principal=True)):
        made.ok("index_document", content=NOTES, document_id="notes", title="Notes")
        yield made


def told(call: Caller) -> dict[str, Any]:
    """What each way of asking says of the notes."""
    asked = {"query": "What stores P0700?", "pipeline": "standard"}
    counted = {"facets": ["entity_codes"]} if graph(call) else {}
    return {
        "consult": [passage["id"] for passage in call.ok("consult_rag", **asked)["documents"]],
        "ask": call.ok("rag/ask", **asked)["contexts"],
        "facets": call.ok("consult_rag", **asked, **counted)["facets"],
        "graph": graph(call),
        "citations": call.ok("extract_citations", text="The TCM stores P0700.")["claims"][0]["citations"],
    }


def graph(call: Caller) -> list[str]:
    return [node["id"] for node in call.ok("graph_query", operation="top")["nodes"]]


def test_a_deleted_document_is_gone_from_every_reply_until_it_is_restored(call: Caller) -> None:
    """S3-16, (RELIABILITY C21)."""
    before = told(call)
    assert all(before.values()), before
    reply = call.ok("delete_document", document_id="notes")
    assert (reply["deleted"], reply["purged"]) == (True, False)
    assert not any(told(call).values())
    assert call.refused("get_document_summary", document_id="notes")[0] == 404
    assert call.ok("restore_document", document_id="notes")["restored"] is True
    assert told(call) == before


def test_what_is_purged_is_gone_for_good(call: Caller) -> None:
    assert call.ok("delete_document", document_id="notes", purge=True)["purged"] is True
    for function in ("restore_document", "delete_document"):
        status, error = call.refused(function, document_id="notes")
        assert (status, error["code"], error["field"]) == (404, "document_not_found", "document_id")


def test_a_document_that_is_there_is_not_restored_over(call: Caller) -> None:
    status, error = call.refused("restore_document", document_id="notes")
    assert (status, error["code"]) == (409, "document_exists")


def test_what_is_anothers_is_refused_in_the_words_for_what_is_not_there(call: Caller) -> None:
    """S3-15, (RELIABILITY C14): status and body say nothing that tells the two apart."""
    ann, bob = ({"x-ms-client-principal": principal(name)} for name in ("ann", "bob"))
    call.ok("index_document", headers=ann, content=NOTES, document_id="diary")
    for function in ("delete_document", "restore_document", "get_document_summary"):
        theirs = call.refused(function, headers=bob, document_id="diary")
        assert theirs == call.refused(function, headers=bob, document_id="absent")
        assert theirs[0] == 404
    call.ok("delete_document", headers=ann, document_id="diary")
    assert call.refused("restore_document", headers=bob, document_id="diary")[0] == 404
    assert call.ok("restore_document", headers=ann, document_id="diary")


def test_an_administrator_tidies_what_nobody_owns_and_nothing_that_somebody_does(call: Caller) -> None:
    """S2-51, S3-15, S3-16: by the role of the credential, in the workflow and the words of everybody else."""
    admin, ann = credential(("oid", "root"), ("roles", "admin")), credential(("oid", "ann"), ("roles", "reader"))
    call.ok("index_document", headers=ann, content=NOTES, document_id="diary")
    for function in ("delete_document", "restore_document"):
        refused = call.refused(function, headers=admin, document_id="diary")
        assert refused == call.refused(function, headers=admin, document_id="absent")
        assert call.refused(function, headers=ann, document_id="notes")[0] == 404
    assert call.refused("index_document", headers=admin, content="Other.", document_id="notes")[0] == 404
    call.ok("delete_document", headers=admin, document_id="notes")
    assert [one["document_id"] for one in listed(call, admin)] == ["notes"]
    assert listed(call, ann) == []  # what is listed as deleted can be restored
    assert call.refused("restore_document", headers=ann, document_id="notes")[0] == 404
    call.ok("restore_document", headers=admin, document_id="notes")
    assert call.refused("restore_document", headers=admin, document_id="notes")[0] == 409
    call.ok("delete_document", headers=admin, document_id="notes", purge=True)
    assert call.refused("restore_document", document_id="notes")[0] == 404
    elsewhere = {"headers": admin, "document_id": "notes", "workflow_id": "elsewhere"}
    assert call.refused("delete_document", **elsewhere)[0] == 404


def listed(call: Caller, headers: dict[str, str]) -> list[dict[str, Any]]:
    """The deleted documents that a caller is shown."""
    return list(call.ok("documents", headers=headers)["deleted"])


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Caller]:
    chosen = Settings(data_dir=None, models_dir=tmp_path, trust_principal=True, workflow_claim="tenant")
    yield from serving(chosen)


def credential(*claims: tuple[str, str]) -> dict[str, str]:
    told = json.dumps({"claims": [{"typ": typ, "val": value} for typ, value in claims]})
    return {"x-ms-client-principal": base64.b64encode(told.encode()).decode()}


ASKED: dict[str, dict[str, Any]] = {
    "consult_rag": {"query": "What stores P0700?"},
    "rag/ask": {"query": "What stores P0700?"},
    "rag/answer_events": {"progress_id": "c0b7d9f1e86a4b52a1f3d84e9b6c7a05"},
    "index_document": {"content": NOTES},
    "get_document_summary": {"document_id": "notes"},
    "delete_document": {"document_id": "notes"},
    "restore_document": {"document_id": "notes"},
    "documents": {},
    "document": {"document_id": "notes"},
    "document_page": {"document_id": "notes", "page": 1},
    "document_original": {"document_id": "notes"},
    "extract_citations": {"text": "The TCM stores P0700."},
    "graph_query": {"operation": "top"},
    "link_schema": {"query": "What stores P0700?"},
}


def test_where_the_credential_names_the_workflows_no_other_can_be_named(bound: Caller) -> None:
    """(RELIABILITY C13), (RELIABILITY C17): nor any by who bears no such claim."""
    here, nowhere = credential(("oid", "ann"), ("tenant", "north")), credential(("oid", "ann"))
    bound.ok("index_document", headers=here, content=NOTES, document_id="notes", workflow_id="north")
    elsewhere = (
        "functions.proposals",
        "functions.jobs",
        "functions.workbench_steps",
        "functions.saved",
        "functions.kept_answers",
        "functions.preset_and_prompt_edits",
        "functions.usage",
    )
    named = {r.path for r in ROUTES if not r.anonymous and not r.module.startswith(elsewhere)}
    assert {f"api/{name}" for name in ASKED} == named
    for function, fields in ASKED.items():
        for headers, workflow in ((here, "south"), (nowhere, "north"), ({}, "north"), (here, "default")):
            status, error = bound.refused(function, headers=headers, workflow_id=workflow, **fields)
            assert (status, error["code"]) == (404, "workflow_not_found"), function
    assert bound.ok("get_document_summary", headers=here, document_id="notes", workflow_id="north")["chunks"] == 1

"""One cell of the degradation matrix: an operation, asked over HTTP's handlers, while one neighbour fails one way."""

import asyncio
import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import azure.functions as func

from functions.http import Service, make_handler
from functions.principal import PRINCIPAL_HEADER
from functions.routes import ROUTES, Route
from local_emulator.search_service import SearchService
from rag_core.core.settings import Settings
from tests.faults.neighbours import SAID, SCOPE, broken, proposals_source
from tests.ingestion.pictures import make_picture

DEADLINE_S, HUNG_S = 20.0, 4.0  # of a request; of one that nothing but its deadline ends
SCAN = make_picture("Torque of the drain plug")
WORD = (Path(__file__).parents[2] / "examples" / "service-bulletin.docx").read_bytes()
CLAIMS = {"claims": [{"typ": "oid", "val": "ada"}, {"typ": "roles", "val": "admin"}]}
ADMIN = {PRINCIPAL_HEADER: base64.b64encode(json.dumps(CLAIMS).encode()).decode()}

QUESTION = {"query": "What stores P0700?"}
CONSULTED = ("consult standard", "consult rerank", "consult advanced", "consult facets", "consult classical")
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    **{name: {**QUESTION, "pipeline": name.split()[1], "top_k": 5} for name in CONSULTED},
    "ask": {**QUESTION, "pipeline": "standard"},
    "ask classical": {**QUESTION, "pipeline": "classical"},
    "ask classical (web)": {"query": "Who invented the saxophone?", "pipeline": "classical"},
    "rag_query": QUESTION,
    "rag_ingest": {},
    "rag_ingest (clear)": {"clear": True},
    "index_document": {"content": f"{SAID}\n\nThe gearbox is hot.", "document_id": "notes"},
    "index_document (docx)": {"content_base64": base64.b64encode(WORD).decode(), "filename": "bulletin.docx"},
    "index_document (scan)": {
        "content_base64": base64.b64encode(SCAN).decode(),
        "filename": "s.png",
    },
    "get_document_summary": {"document_id": "manual", "refresh": True},
    "extract_citations": {"text": SAID},
    "graph_query": {"operation": "top"},
    "documents": {},
    "document": {"document_id": "manual"},
    "document_page": {"document_id": "brakes", "page": 1},
    "run_expansion": {"original_query": "What stores P0700?", "use_full_model": False},
    **{name: {"id": "1"} for name in ("embed_query", "retrieve_query", "consolidate_query", "run_augmented")},
    **{name: {"id": "1"} for name in ("get_query", "list_results")},
    "list_queries": {},
}


@dataclass(frozen=True, slots=True)
class Cell:
    operation: str
    dependency: str
    fault: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is told of the fault, in codes, and what the reply has all the same."""

    status: int
    codes: tuple[str, ...]
    keeps: tuple[str, ...]


async def outcome(cell: Cell, services: SearchService) -> Outcome:
    """Run the cell. Raises TimeoutError when it outlasts its deadline."""
    name = "consult_rag" if cell.operation.startswith("consult") else cell.operation.split()[0]
    route = next(route for route in ROUTES if route.name == name)
    request = _request(route, REQUESTS[cell.operation])
    ends_s = HUNG_S if cell.fault == "latency beyond" and cell.dependency == "store" else DEADLINE_S
    dao = "dao" if name == "rag_ingest" else SCOPE.workflow_id  # what is ingested is not what the others ask about
    async with broken(cell.dependency, cell.fault, services) as parts:
        with proposals_source(cell.dependency, cell.fault) as source:
            said = Settings(request_timeout_s=ends_s, trust_principal=True, collection=dao, proposals_source=source)
            handle = make_handler(route, Service(lambda: said, lambda: parts))
            async with asyncio.timeout(1.1 * DEADLINE_S):
                answer = await handle(request)
    return _read(answer.status_code, json.loads(answer.get_body()))


def _request(route: Route, asked: Mapping[str, Any]) -> func.HttpRequest:
    """What is in the address goes there, the rest into the body; a GET has none."""
    addressed = {name: value for name, value in asked.items() if f"{{{name}}}" in route.path}
    said = {name: value for name, value in asked.items() if name not in addressed}
    gets = route.methods == ("GET",)
    body = b"" if gets and not said else json.dumps(said).encode()
    headers = {"content-type": "application/json", **(ADMIN if route.name == "rag_ingest" else {})}
    method = "GET" if gets and not said else "POST"
    return func.HttpRequest(method, f"/{route.path}", headers=headers, route_params=addressed, body=body)


def _read(status: int, told: Mapping[str, Any]) -> Outcome:
    if not told["success"]:
        return Outcome(status, (told["error"]["code"],), ())
    codes = sorted({lesser["code"] for lesser in told["degraded"]})
    parts = {
        "answer": told.get("status") == "answered",
        "a refusal": told.get("status") == "unknown",
        "chunks": told.get("chunks") if "extractor" in told else 0,
        "a job": "status_url" in told,
        "found by words": told.get("words_only"),
        "lines": told.get("lines"),
        "a page": "image_base64" in told,
        "wordings": told.get("expanded_queries"),
        "vectors": told.get("vector_status") == "vec" and "message" in told,
        "passages": told.get("chunks_retrieved"),
        "groups": told.get("consolidated_count"),
        "a response": told.get("response_text"),
        "the question": told.get("original_query"),
        "a list": "total" in told,
    }
    kept = [part for part in ("documents", "facets", "claims", "summary", "nodes") if told.get(part)]
    return Outcome(status, tuple(codes), (*kept, *(part for part, there in parts.items() if there)))

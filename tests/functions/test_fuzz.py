"""Requests made from our own description of the HTTP surface, right and wrong ones, against the app in process."""

import math
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
import schemathesis
from azure.functions import FunctionApp
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from werkzeug.test import Client

from functions import http
from functions.operations import load_operation
from functions.routes import ROUTES
from local_emulator.host import Host
from rag_core.composition import assembly
from rag_core.core.model import Vector
from rag_core.core.settings import Settings
from tests.functions.contract import EXAMPLES, ROUTES_BY_NAME
from tests.ingestion.pdf_files import lines, pdf

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
CASES = {GenerationMode.POSITIVE: 32, GenerationMode.NEGATIVE: 24}  # an operation and method: more than 300 in all
PAGES = {"document_page", "document_page_get", "document_original", "document_original_get"}
OF_AN_ANSWER = {"cited_pages", "answer_prompt"}  # that a call has kept; `test_kept_answers` has some
ONE_DOCUMENT = {"delete_document", "restore_document", *PAGES}  # rightly answer 404 to almost every id


@dataclass
class Replies:
    """How many cases an operation answered with which status."""

    by_operation: dict[str, Counter[int]] = field(default_factory=dict)

    def note(self, case: Case) -> None:
        response = case.call()
        name = case.operation.definition.raw["operationId"]
        self.by_operation.setdefault(name, Counter())[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)


def _take_through(client: Client) -> None:
    """The kept question that the examples ask for, through all steps and with a result; guessed ids come before it."""
    pasted, id = ROUTES_BY_NAME["paste_expansion"], EXAMPLES["get_query"]["id"]
    for _ in range(id):
        assert client.post(f"/{pasted.path}", json=EXAMPLES["paste_expansion"]).status_code == 200
    for step in ("embed", "retrieve", "consolidate", "augment/run"):
        assert client.post(f"/rag/queries/{id}/{step}").status_code == 200


class Letters:
    """An embedder quick enough to be asked hundreds of times: how often each letter stands in a text."""

    space, dimensions = "letters", 26

    async def embed_query(self, text: str) -> Vector:
        counts = [1.0 + text.lower().count(chr(letter)) for letter in range(ord("a"), ord("z") + 1)]
        return [count / math.hypot(*counts) for count in counts]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self.embed_query(text) for text in texts]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The app without model files, holding a text, a PDF and an empty database."""
    chosen = Settings(data_dir=None, models_dir=tmp_path_factory.mktemp("no-models"))
    kit = assembly.build_kit(chosen)
    kit = replace(kit, index=replace(kit.index, embedder=Letters()))
    app = FunctionApp()
    http.mount_operations(app, ROUTES, http.Service(lambda: chosen, lambda: kit))
    served = Host(app)
    index, page = ROUTES_BY_NAME["index_document"], EXAMPLES["document_page"]
    drawn = b64encode(pdf(lines("A page"))).decode()
    manual = {"content_base64": drawn, "filename": "a.pdf", "document_id": page["document_id"]}
    database = {"content": "A database without a table.", "document_id": "shop", "source": "database:shop"}
    for document in (EXAMPLES["index_document"], manual, database):
        assert Client(served).post(f"/{index.path}", json=document).status_code == 200
    _take_through(Client(served))
    yield served
    served.close()


def test_nothing_that_is_sent_breaks_it_or_is_answered_as_undescribed(host: Host) -> None:
    """C06 C08 F15: no 5xx, no status or body that the description lacks, and much of it is really answered."""
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", host)
    replies = Replies()
    for found in schema.get_all_operations():
        operation = found.ok()
        for example in operation.get_strategies_from_examples():
            _drive(example, replies, cases=1)
        for mode, cases in CASES.items():
            if mode is GenerationMode.POSITIVE or operation.body or operation.query or operation.path_parameters:
                few = cases // 4 if "{" in operation.path else cases  # hardly one of its ids is somebody's
                _drive(operation.as_strategy(generation_mode=mode), replies, cases=few)

    answering = [
        r for r in ROUTES if load_operation(r).required_role is None and "{" not in r.path
    ]  # nobody guesses the id of a job
    named = {f"{r.name}{'' if m == r.methods[-1] else '_get'}" for r in answering for m in r.methods}
    statuses: Counter[int] = sum((replies.by_operation.get(n, Counter()) for n in named - ONE_DOCUMENT), Counter())
    assert statuses.total() >= 300
    assert statuses[200] >= 0.3 * statuses.total(), statuses
    answered = {name for name, counted in replies.by_operation.items() if counted[200]}
    stepped = {r.name for r in ROUTES if r.path.startswith("rag/queries/{id}")} - OF_AN_ANSWER  # by their examples
    assert (named | stepped) - {"openapi"} <= answered, "and that was read"


def _drive(strategy: object, replies: Replies, *, cases: int) -> None:
    @settings(
        max_examples=cases,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def drive(case: Case) -> None:
        replies.note(case)

    drive()

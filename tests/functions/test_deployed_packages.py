"""The app with the packages of requirements.txt alone, as it is deployed: it starts, answers and verifies.

Microsoft's worker library serves it over the emulated Azure services.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals import environments
from tests.faults.server import FaultServer, failing, reply
from tests.functions.deployed import (
    INSTRUMENTATION_KEY,
    WATCHED,
    list_spans,
    post,
    serve_deployed_app,
    told,
    wait_for_spans,
)
from tests.functions.test_real_worker import worker_python

__all__ = ["worker_python"]  # the fixture that makes the environment

FACT = "P0700 means that the transmission control module has stored a fault of its own."


@pytest.fixture(scope="module")
def insights() -> Iterator[FaultServer]:
    """What takes the place of Application Insights."""
    with failing(reply(200, {"itemsReceived": 1, "itemsAccepted": 1, "errors": []})) as server:
        yield server


@pytest.fixture(scope="module")
def deployed(worker_python: Path, insights: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app in the worker, with the emulated Azure services as its neighbours."""
    named = f"InstrumentationKey={INSTRUMENTATION_KEY};IngestionEndpoint={insights.url}"
    watched = {**WATCHED, "APPLICATIONINSIGHTS_CONNECTION_STRING": named}
    with serve_deployed_app(worker_python, tmp_path_factory.mktemp("deployed"), **watched) as url:
        yield url


def test_what_is_deployed_verifies_what_a_document_says(deployed: str) -> None:
    """S1-59, C40: no request needs a package of the laptop, and no reply advises a caller to install one.

    The chat model judges, so that nothing is missing: nothing is degraded.
    """
    post(deployed, "index_document", {"content": FACT, "document_id": "notes", "source": "notes.txt"})
    answer = post(deployed, "rag/ask", {"query": "What does P0700 mean?"})
    assert (answer["answer"], [claim["verdict"] for claim in answer["claims"]]) == (FACT, ["verified"])
    cited = post(deployed, "extract_citations", {"text": f"{FACT} P0700 means that the engine has stored a fault."})
    assert [claim["verdict"] for claim in cited["claims"]] == ["verified", "partial"]
    found = post(deployed, "consult_rag", {"query": "What does P0700 mean?"})
    assert found["documents"][0]["title"]
    assert "make install" not in json.dumps([answer, cited, found])
    assert [reply["degraded"] for reply in (answer, cited, found)] == [[], [], []]
    assert "citations by the words of the passages alone" in cited["techniques"].values()


def test_the_example_of_the_readme_gets_the_same_verdicts_on_a_laptop_and_deployed(
    deployed: str, tmp_path: Path
) -> None:
    """Also beside a chat model that says it in other words. More examples: `python -m evals.environments`."""
    question = environments.QUESTIONS[0]
    replies = {"deployed": environments.run_examples(deployed, [question])}
    for serve in (environments.serve_laptop, environments.serve_laptop_with_stub):
        with serve(tmp_path) as url:
            replies[serve.__name__] = environments.run_examples(url, [question])
    assert environments.find_differences(replies) == []
    answers = [found[question] for found in replies.values()]
    assert {(answer.status, answer.verdicts) for answer in answers} == {("answered", ("verified",))}
    assert {told for found in replies.values() for reply in found.values() for told in reply.degraded} == set()
    texts = [answer.sentences[0][0] for answer in answers]
    assert texts[0] == texts[1] != texts[2]  # the stub has said it in other words


def test_a_question_is_one_trace_within_that_of_the_host(deployed: str, insights: FaultServer) -> None:
    """The worker has the host's span as the current one, and the request's own is its child."""
    run_id = post(deployed, "rag/ask", {"query": "What does P0700 mean?"})["run_id"]
    (root,) = wait_for_spans(insights, lambda found: [e for e in found if told(e).get("rag.run.id") == run_id])
    trace_id = root["tags"]["ai.operation.id"]
    mine = [envelope for envelope in list_spans(insights) if envelope["tags"]["ai.operation.id"] == trace_id]
    assert root["data"]["baseData"]["name"] == "POST /api/rag/ask"
    assert root["tags"]["ai.operation.parentId"]
    names = {envelope["data"]["baseData"]["name"] for envelope in mine}
    assert {"embed", "search", "search chunks"} <= names
    assert [name for name in names if name.startswith("chat ")]
    assert "control module" not in json.dumps(mine)

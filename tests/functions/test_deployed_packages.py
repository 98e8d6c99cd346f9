"""The app with the packages of requirements.txt alone, as it is deployed: it starts, answers and verifies.

Microsoft's worker library serves it over the emulated Azure services.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from evals import environments
from tests.functions.deployed import serve_deployed_app
from tests.functions.test_real_worker import worker_python

__all__ = ["worker_python"]  # the fixture that makes the environment

FACT = "P0700 means that the transmission control module has stored a fault of its own."


@pytest.fixture(scope="module")
def deployed(worker_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app in the worker, with the emulated Azure services as its neighbours."""
    with serve_deployed_app(worker_python, tmp_path_factory.mktemp("deployed")) as url:
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


def post(url: str, route: str, body: dict[str, Any]) -> Any:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=60)) as connection:
        connection.request("POST", f"/api/{route}", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        reply = json.load(response)
        assert response.status == 200, reply
        return reply

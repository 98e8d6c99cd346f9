"""The search emulator as others install it: a wheel of its own, with nothing of this repository in it."""

import ssl
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from shutil import copytree, ignore_patterns

import httpx2
import pytest

from tests.test_package import build_wheel, isolate, unpack_wheel

FOLDER = Path(__file__).parents[2] / "local_emulator" / "search_service"
NAME = "azure_ai_search_emulator"
USER_TEST = """
from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import SearchIndex, SimpleField


def test_a_user(azure_ai_search_emulator):
    at, trusted = azure_ai_search_emulator, {"connection_verify": str(azure_ai_search_emulator.certificate)}
    key = AzureKeyCredential(at.key)
    index = SearchIndex(name="books", fields=[SimpleField(name="id", type="Edm.String", key=True)])
    SearchIndexClient(at.endpoint, key, **trusted).create_index(index)
    with SearchClient(at.endpoint, "books", key, **trusted) as client:
        client.upload_documents([{"id": "1"}])
        assert [hit["id"] for hit in client.search("*")] == ["1"]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "emulator"
    copytree(FOLDER, source, ignore=ignore_patterns("__pycache__", "build", "*.egg-info"))
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_wheel(wheel, tmp_path_factory.mktemp("site"))


@pytest.fixture
def served(installed: Path, tmp_path: Path) -> Iterator[list[str]]:
    """What the installed command says of itself, while it runs."""
    arguments = ["--port", "0", "--https", "--data", str(tmp_path / "data"), "--key", "mine"]
    code = f"from {NAME}.command import main; sys.exit(main({arguments!r}))"
    with subprocess.Popen(isolate(installed, code), stdout=subprocess.PIPE, text=True, cwd=tmp_path) as child:
        try:
            assert child.stdout
            yield list(takewhile(lambda line: line != "Press Ctrl-C to stop.\n", child.stdout))
        finally:
            child.terminate()


def test_the_wheel_has_every_module_one_command_and_no_other_name(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {NAME}
    held = {path.name for path in (installed / NAME).glob("*.py")}
    assert held == {path.name for path in FOLDER.glob("*.py")}
    (told,) = installed.glob("*.dist-info/entry_points.txt")
    assert f"azure-ai-search-emulator = {NAME}.command:main" in told.read_text("utf-8")


def test_the_package_asks_for_what_it_imports_and_nothing_more() -> None:
    asked = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {one.partition(">")[0].lower() for one in asked}
    assert names == {"werkzeug", "apsw", "cryptography", "numpy", "tantivy"}


def test_the_installed_command_serves_by_https_and_says_whom_to_trust(served: list[str]) -> None:
    said = dict(line.split(maxsplit=1) for line in served if line.split(maxsplit=1)[0].endswith(":"))
    url, certificate = said["Endpoint:"].strip(), Path(said["Certificate:"].strip())
    assert certificate.read_text("ascii") in "".join(served)
    trusted = ssl.create_default_context(cafile=certificate)
    with httpx2.Client(verify=trusted, headers={"authorization": "Bearer mine"}) as client:
        assert client.get(f"{url}/indexes?api-version=2026-04-01").json()["value"] == []


def test_the_fixture_is_found_and_gives_a_user_an_emulator(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(USER_TEST)
    options = ["-q", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)]
    code = f"import pytest; sys.exit(pytest.main({options!r}))"
    done = subprocess.run(isolate(installed, code), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_tells_what_it_does_and_what_it_refuses() -> None:
    told = (FOLDER / "README.md").read_text("utf-8")
    for word in ("501", "--https", "azure_ai_search_emulator", "knowledge bases", "indexers", "Lucene", "scoring"):
        assert word in told
    assert (FOLDER / "Dockerfile").read_text("utf-8").count("azure-ai-search-emulator") >= 1

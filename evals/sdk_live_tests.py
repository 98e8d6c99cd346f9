"""The Azure SDK's own live tests against the emulated search service: `python -m evals.sdk_live_tests`.

They come with the source distribution of azure-search-documents, and are run with that version of it, so this needs a
package index and is no part of CI.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from local_emulator.search_service import SearchService, WordRanker, run_search_service

SDK = "azure-search-documents"
VERSION = "12.0.0"
HOTELS = Path(__file__).parents[1] / "tests" / "data" / "search_recordings" / "hotels.json"
KEY = "local"
LARGE = 60  # documents that test_search_client_large expects of hotel_large.json

# what the SDK's tests need of Microsoft's test tools, which are not on PyPI; nothing here needs time to settle
SHIM = """
import asyncio, functools, inspect, time
from azure.core.credentials import AzureKeyCredential
import pytest

time.sleep = lambda seconds: None
AzureTestError = RuntimeError

class AzureRecordedTestCase:
    is_live = True
    def get_resource_name(self, name): return name
    create_random_name = get_resource_name

def recorded_by_proxy(test): return test
recorded_by_proxy_async = recorded_by_proxy
def get_credential(**options): return AzureKeyCredential("{key}")
def nothing(*args, **options): return None
add_remove_header_sanitizer = add_general_regex_sanitizer = remove_batch_sanitizers = nothing
trim_kwargs_from_test_function = nothing

@pytest.fixture(scope="session")
def test_proxy(): return None

class EnvironmentVariableLoader:
    def __init__(self, directory, **variables):
        self.given = variables | {{"search_service_endpoint": "{url}"}}
    def __call__(self, test):
        @functools.wraps(test)
        def run(case):
            wanted = inspect.signature(test).parameters
            every = any(p.kind is p.VAR_KEYWORD for p in wanted.values()) or hasattr(test, "__wrapped__")
            given = self.given if every else {{k: v for k, v in self.given.items() if k in wanted}}
            result = test(case, **given)
            return asyncio.run(result) if inspect.iscoroutine(result) else result
        run.__signature__ = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
        return run
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--version", default=VERSION, help="of the SDK (default: %(default)s)")
    options.add_argument("--sdist", type=Path, help="a downloaded source distribution, instead of asking the index")
    with tempfile.TemporaryDirectory() as folder:
        given = options.parse_args()
        sdist = given.sdist or _download_sdist(Path(folder), given.version)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (tests,) = Path(folder).glob("azure_search_documents-*/tests")
        _install_sdk(tests.parent, Path(folder) / "sdk")
        with run_search_service(SearchService(None, keys={KEY}, reranker=WordRanker())) as url:
            _prepare_tests(tests, url)
            report = sorted(_run_tests(tests, Path(folder) / "sdk"))
    _print_outcomes(report)


def _download_sdist(folder: Path, version: str) -> Path:
    options = ["-q", "--no-deps", "--no-binary", SDK, "-d", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, f"{SDK}=={version}"]
    subprocess.run(command, check=True)
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


def _install_sdk(source: Path, folder: Path) -> None:
    """Install the version whose tests are run: with another one, tests skip what it does not have."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), str(source)]
    subprocess.run(command, check=True)


def _prepare_tests(tests: Path, url: str) -> None:
    """Put beside the tests what they import and read."""
    tools = tests / "devtools_testutils"
    tools.mkdir()
    (tools / "__init__.py").write_text(SHIM.format(key=KEY, url=url))
    for part in ("aio", "sanitizers"):
        (tools / f"{part}.py").write_text("from devtools_testutils import *\n")
    hotels = json.loads(HOTELS.read_text("utf-8"))
    (tests / "hotel_schema.json").write_text(json.dumps(hotels["index"] | {"name": "drgqefsg"}))
    (tests / "hotel_small.json").write_text(json.dumps({"value": hotels["documents"]}))
    large = [{"hotelId": str(number), "hotelName": f"Hotel {number}"} for number in range(1, LARGE + 1)]
    (tests / "hotel_large.json").write_text(json.dumps({"value": large}))


def _run_tests(tests: Path, sdk: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, outcome and the first line of the reason of each live test, run with the SDK in that folder."""
    files = [path.name for path in tests.glob("test_*live*.py")]
    options = [
        "-c",
        "/dev/null",
        "--rootdir",
        ".",
        "-p",
        "no:asyncio",
        "-p",
        "no:cacheprovider",
        "--junitxml",
        "out.xml",
    ]
    command = [sys.executable, "-m", "pytest", *options, *sorted(files)]
    own = {**os.environ, "PYTHONPATH": str(sdk)}
    # some fail: that is what it is run for
    subprocess.run(command, cwd=tests, env=own, stdout=subprocess.DEVNULL, check=False)
    for case in ET.parse(tests / "out.xml").iter("testcase"):  # noqa: S314
        problem = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        outcome = "passed" if problem is None else "skipped" if problem.tag == "skipped" else "failed"
        reason = "" if problem is None else problem.get("message", "").split("\n")[0][:160]
        yield f"{case.get('classname')}.{case.get('name')}", outcome, reason


def _print_outcomes(report: list[tuple[str, str, str]]) -> None:
    for name, outcome, reason in report:
        print(f"{outcome:7} {name}{f'  ({reason})' if reason else ''}")
    counts = Counter(outcome for _, outcome, _ in report)
    print(f"{len(report)} tests: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}")


if __name__ == "__main__":
    main()

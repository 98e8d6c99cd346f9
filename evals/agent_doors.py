"""Each door for agents, called by the real client library of those who use it, and what each printed.

python -m evals.agent_doors [NAME ...]

A client runs in an environment of its own (.cache/bench, made from evals/doors/*.txt when it is not there, 1.3 GB in
all) against a server on loopback that holds examples/. The retrievers' tests run here, beside their library.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import rag_core.cli
from evals.peers.environments import prepare_interpreter
from local_emulator.host import run_service
from rag_core.core.settings import Settings

ROOT = Path(__file__).parents[1]
DOORS = ROOT / "evals" / "doors"
CLIENTS = ("openapi", "foundry", "semantic_kernel", "agent_framework")
RETRIEVERS = ("langchain", "llamaindex", "haystack")


def main() -> int:
    """Run the named clients, by default all, and return 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*CLIENTS, *RETRIEVERS)))
    names = parser.parse_args().names or [*CLIENTS, *RETRIEVERS]
    failed = [name for name in names if name in RETRIEVERS and run_retriever_tests(name)]
    with serve_examples() as url:
        failed += [name for name in names if name in CLIENTS and run_client(name, url)]
    print(f"failed: {', '.join(failed)}" if failed else "every door was opened")
    return 1 if failed else 0


def run_client(name: str, url: str) -> int:
    """Run a client in its environment, print what it prints, and return its exit code."""
    print(f"\n{name}", flush=True)
    return subprocess.run([prepare_interpreter(name, DOORS), DOORS / f"{name}_client.py", url], check=False).returncode


def run_retriever_tests(name: str) -> int:
    """Run the tests of the retrievers with a library in reach, and return the exit code."""
    print(f"\n{name}", flush=True)
    (library,) = (prepare_interpreter(name, DOORS).parents[1] / "lib").glob("python*/site-packages")
    environment = {**os.environ, "PYTHONPATH": str(library)}
    options = ["-p", "no:langsmith_plugin", "-n", "0", "-rs", str(ROOT / "tests" / "retrievers")]
    return subprocess.run([sys.executable, "-m", "pytest", *options], env=environment, check=False).returncode


@contextmanager
def serve_examples() -> Iterator[str]:
    """Index the examples into a folder of its own and yield the address of a server that holds them."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        rag_core.cli.main(["index", "--data", str(data), str(ROOT / "examples")])
        with run_service(Settings(data_dir=data)) as url:
            yield url


if __name__ == "__main__":
    sys.exit(main())

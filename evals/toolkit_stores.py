"""The Azure stores of LangChain and LlamaIndex against the emulated search service: `python -m evals.toolkit_stores`.

They are asked over HTTPS, with azure-search-documents 11.6.0, from an environment of their own; it needs a package
index and is no part of CI.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from local_emulator.search_service import SearchService, WordRanker
from local_emulator.search_service.certificates import write_certificate
from local_emulator.search_service.serving import serve_wsgi

PACKAGES = (
    "langchain-community==0.4.2",
    "llama-index-vector-stores-azureaisearch==0.6.0",
    "azure-search-documents==11.6.0",
    "azure-identity==1.27.0",
    "aiohttp",
)
STEPS = Path(__file__).with_name("toolkit_steps.py")
KEY = "local"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--python", type=Path, help="of an environment that has the packages, instead of a new one")
    python = options.parse_args().python
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = python or _make_environment(folder / "venv")
        certificate = write_certificate(folder / "certificate")
        service = SearchService(None, keys={KEY}, reranker=WordRanker())
        with serve_wsgi(service, certificate=certificate) as url:
            print(f"{', '.join(PACKAGES)} against {url}", flush=True)
            trusting = {name: str(certificate[0]) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")}
            command = [str(python), "-W", "ignore", str(STEPS), url, KEY]
            return subprocess.run(command, env={**os.environ, **trusting}, check=False).returncode


def _make_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


if __name__ == "__main__":
    sys.exit(main())

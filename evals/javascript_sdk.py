"""Microsoft's SDK for JavaScript against the emulated search service over HTTPS: `python -m evals.javascript_sdk`.

It comes from npm, so this needs Node.js and that registry, and is no part of CI.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from local_emulator.search_service import SearchService, WordRanker
from local_emulator.search_service.certificates import write_certificate
from local_emulator.search_service.serving import serve_wsgi

SDK = "@azure/search-documents"
VERSION = "13.0.0"
STEPS = Path(__file__).with_suffix(".mjs")
KEY = "local"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--version", default=VERSION, help="of the SDK (default: %(default)s)")
    version = options.parse_args().version
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _install_sdk(folder, version)
        shutil.copy(STEPS, folder)
        certificate = write_certificate(folder / "certificate")
        service = SearchService(None, keys={KEY}, reranker=WordRanker())
        with serve_wsgi(service, certificate=certificate) as url:
            print(f"{SDK} {version} against {url}", flush=True)
            trusting = {**os.environ, "NODE_EXTRA_CA_CERTS": str(certificate[0])}
            return subprocess.run(["node", STEPS.name, url, KEY], cwd=folder, env=trusting, check=False).returncode


def _install_sdk(folder: Path, version: str) -> None:
    (folder / "package.json").write_text("{}", "utf-8")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", f"{SDK}@{version}"]
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main())

"""openapi-python-client generates a package from openapi.json?for=agents; the package is imported and called."""

import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen

from openapi_spec_validator import validate

QUESTION = "At what temperature is the fluid level checked?"


def main(url: str) -> None:
    """Validate both descriptions, generate a client of each, and ask by the one for agents."""
    for audience in ("", "?for=agents"):
        description = json.load(urlopen(f"{url}/api/openapi.json{audience}"))  # noqa: S310 - of a loopback server
        validate(description)
        with tempfile.TemporaryDirectory() as folder:
            package = generate(description, Path(folder))
            print(f"{description['openapi']}, {len(description['paths'])} paths: valid; generated {package}")
            if audience:
                ask(url, package, folder)


def generate(description: object, folder: Path) -> str:
    """Return the name of the generated package, which lies in the folder."""
    (folder / "openapi.json").write_text(json.dumps(description))
    output = folder / "rag_api"
    options = ["--path", str(folder / "openapi.json"), "--meta", "none", "--output-path", str(output)]
    command = [sys.executable, "-m", "openapi_python_client", "generate", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout.strip() or "no warnings")
    return output.name


def ask(url: str, package: str, folder: str) -> None:
    sys.path.insert(0, folder)
    client = importlib.import_module(f"{package}.client").Client(base_url=url)
    models = importlib.import_module(f"{package}.models")
    operation = importlib.import_module(f"{package}.api.default.ask")
    body = models.AskBody.from_dict({"query": QUESTION, "format": "compact"})
    reply = operation.sync(client=client, body=body)
    print(f"{type(reply).__name__}: {reply.status}: {reply.answer}")
    listing = importlib.import_module(f"{package}.api.default.list_documents")
    listed = listing.sync(client=client, body=models.ListDocumentsBody.from_dict({"format": "compact"}))
    print(f"{type(listed).__name__}: {listed.total} documents")


if __name__ == "__main__":
    main(sys.argv[1])

"""Microsoft's own emulator of Azure Storage, brought by npm: one a process, in memory, gone with it."""

import atexit
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import TableClient
from azure.storage.blob import ContainerClient
from fasteners import InterProcessLock

from rag_core.jobs.azure_storage import JOB_CONTAINER_NAME, JOB_TABLE_NAME
from rag_core.stores.azure_answer_log import ANSWER_LOG_CONTAINER_NAME

LOCK = Path(__file__).with_name("package-lock.json")
CACHE = Path(__file__).parents[2] / ".cache"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # Azurite's, public
SERVICES = ("Blob", "Queue", "Table")
SAID = ("--inMemoryPersistence", "--disableTelemetry", "--silent")
ANY_PORT = [word for service in SERVICES for word in (f"--{service.lower()}Port", "0")]


def storage() -> str:
    """The connection string of its account. Skips the test where it cannot be had."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are needed, to run Azurite")
    return started()


def emptied() -> str:
    """The same, without the table and the blobs of long work, and without answer logs."""
    address = storage()
    with TableClient.from_connection_string(address, JOB_TABLE_NAME) as table:
        table.delete_table()
    for name in (JOB_CONTAINER_NAME, ANSWER_LOG_CONTAINER_NAME):
        with ContainerClient.from_connection_string(address, name) as blobs, suppress(ResourceNotFoundError):
            blobs.delete_container()
    return address


@functools.cache
def started() -> str:
    main = installed() / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
    # the SDKs may speak a newer version of the protocol than it knows
    command = ["node", str(main), *SAID, *ANY_PORT, "--skipApiVersionCheck"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tempfile.mkdtemp(prefix="azurite-"))
    atexit.register(child.kill)
    assert child.stdout
    heard = (re.search(r"Azurite (\w+) service is successfully listening at (\S+)", line) for line in child.stdout)
    found: dict[str, str] = {}
    while len(found) < len(SERVICES):
        if said := next(heard):
            found[said[1]] = said[2]
    return account(found)


def account(addresses: dict[str, str]) -> str:
    ends = "".join(f"{service}Endpoint={address}/devstoreaccount1;" for service, address in addresses.items())
    return f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};{ends}"


@functools.cache
def installed() -> Path:
    """Its folder: once for each lock file, whole or not at all, and by one of the processes that ask for it at once."""
    home = CACHE / name_folder()
    with InterProcessLock(CACHE / "azurite.lock"):  # makes the folder
        if not home.exists():
            _install(home)
    return home


def name_folder() -> str:
    return f"azurite-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:8]}"


def _install(home: Path) -> None:
    making = Path(tempfile.mkdtemp(prefix="azurite-", dir=CACHE))
    shutil.copytree(LOCK.parent, making, ignore=shutil.ignore_patterns("*.py", "__pycache__"), dirs_exist_ok=True)
    how = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(how, cwd=making, capture_output=True).returncode:
        shutil.rmtree(making)
        pytest.skip("npm could not install Azurite (63 MB) into .cache; is the registry within reach?")
    making.rename(home)

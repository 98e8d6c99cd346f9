"""Two servers on one data folder under fifty clients: all are answered, nothing is lost, and memory stays flat.

LOAD_S=3600 .venv/bin/python -m pytest -m soak tests/faults/test_load.py -s
"""

import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

CLIENTS, SERVERS = 50, 2
DOCUMENTS = 20  # of each client, replaced in turn: an index that grows needs more memory, and flat means no leak then
LOAD_S = float(os.environ.get("LOAD_S", "60"))
MEMORY_SETTLES_S = 600.0
QUESTION = "What stores P0700 when the gearbox is hot?"
LEXICAL = "a lexical search"
REQUESTS: dict[str, tuple[int, str, dict[str, Any]]] = {  # how many of a hundred, the operation, and its fields
    LEXICAL: (60, "consult_rag", {"query": "P0700", "preset": "pages", "search_type": "keyword", "top_k": 5}),
    "a hybrid search": (15, "consult_rag", {"query": QUESTION, "preset": "pages", "top_k": 5}),
    "standard": (10, "consult_rag", {"query": QUESTION, "pipeline": "standard", "top_k": 5}),
    "ask": (5, "rag/ask", {"query": QUESTION, "pipeline": "standard"}),
    "index": (10, "index_document", {}),
}
SERVER = """
import sys
from pathlib import Path
from local_emulator.host import run_service
from rag_core.core.settings import Settings

with run_service(Settings(data_dir=Path(sys.argv[1]))) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@dataclass
class Load:
    """What the clients were answered: statuses and seconds by kind, acknowledged documents, and the servers' memory."""

    addresses: list[str]
    until: float
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in REQUESTS})
    acknowledged: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run_client(self, number: int) -> None:
        draw, turn = random.Random(number), 0
        while time.monotonic() < self.until:
            (kind,) = draw.choices(list(REQUESTS), [share for share, _, _ in REQUESTS.values()])
            turn += 1
            self._send(kind, draw.choice(self.addresses), f"load-{number}-{turn % DOCUMENTS}", turn)

    def _send(self, kind: str, address: str, document_id: str, turn: int) -> None:
        _, operation, fields = REQUESTS[kind]
        if kind == "index":
            fields = {"content": f"P0700 is stored by the TCM of car {turn}.", "document_id": document_id}
        began = time.perf_counter()
        status = post(address, operation, fields)
        with self.lock:
            self.statuses[kind, status] += 1
            if status != 429:
                self.seconds[kind].append(time.perf_counter() - began)
            if kind == "index" and status in (200, 202):
                self.acknowledged.append(document_id)


def post(address: str, operation: str, fields: dict[str, Any]) -> int:
    """The status of the reply, whose body must be JSON; -1 when there is no answer."""
    connection = HTTPConnection(address, timeout=240)
    try:
        connection.request("POST", f"/api/{operation}", json.dumps(fields), {"content-type": "application/json"})
        reply = connection.getresponse()
        json.loads(reply.read())
        return reply.status
    except OSError:
        return -1
    finally:
        connection.close()


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-c", SERVER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip().removeprefix("http://"), process.pid
        process.terminate()


@pytest.mark.soak
def test_fifty_clients_are_all_answered_and_nothing_is_lost(tmp_path: Path) -> None:
    """The slowest lexical search in a hundred takes at most ten times the median; nothing but 429 is refused."""
    with ExitStack() as stack:
        servers = [stack.enter_context(server(tmp_path)) for _ in range(SERVERS)]
        for address, _ in servers:  # the first request loads the models
            assert post(address, "index_document", {"content": "P0700.", "document_id": "first"}) == 200
            assert post(address, "rag/ask", {"query": QUESTION}) == 200
        load = Load([address for address, _ in servers], time.monotonic() + LOAD_S)
        clients = [threading.Thread(target=load.run_client, args=(number,)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        memory = list(_sample_memory([pid for _, pid in servers], clients))
        found = _list_documents(servers[0][0])
    lexical = statistics.quantiles(load.seconds[LEXICAL], n=100)
    print(
        dict(load.statuses),
        f"p50 {lexical[49]:.3f} s, p99 {lexical[98]:.3f} s",
        f"memory {memory[:: len(memory) // 12 + 1]}",
    )
    assert {status for _, status in load.statuses} <= {200, 202, 429}, load.statuses
    assert not load.statuses[LEXICAL, 429]
    assert set(load.acknowledged) <= found
    assert lexical[98] <= 10 * lexical[49]
    if LOAD_S > 2 * MEMORY_SETTLES_S:
        settled = [mib for at, mib in memory if at > MEMORY_SETTLES_S]
        assert max(settled) <= 1.1 * settled[0], memory


def _sample_memory(pids: list[int], clients: list[threading.Thread]) -> Iterator[tuple[int, int]]:
    """Seconds since the start and the MiB of all servers, until the clients have ended."""
    began = time.monotonic()
    while any(client.is_alive() for client in clients):
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
        yield round(time.monotonic() - began), pages * os.sysconf("SC_PAGE_SIZE") // 2**20
        time.sleep(5.0)


def _list_documents(address: str) -> set[str]:
    connection = HTTPConnection(address, timeout=240)
    connection.request("GET", "/api/documents")
    documents = json.loads(connection.getresponse().read())["documents"]
    connection.close()
    return {document["document_id"] for document in documents}

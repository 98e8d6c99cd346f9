"""A server that fails as told: each request gets the next fault, the last one ever after."""

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Fault = Callable[["FaultServer", socket.socket], None]


@dataclass
class FaultServer:
    faults: tuple[Fault, ...]
    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)

    def serve(self, listening: socket.socket) -> None:
        while not self.closed.is_set():
            with suppress(OSError):
                connection, _ = listening.accept()
                threading.Thread(target=self._answer, args=(connection,)).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client may be gone
            request = _read(connection)
            self.requests.append(request)
            self.faults[min(len(self.requests), len(self.faults)) - 1](self, connection)


@contextmanager
def failing(*faults: Fault) -> Iterator[FaultServer]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = FaultServer(faults, f"http://127.0.0.1:{listening.getsockname()[1]}")
        accepting = threading.Thread(target=server.serve, args=(listening,))
        accepting.start()
        try:
            yield server
        finally:
            server.closed.set()
            socket.create_connection(listening.getsockname()).close()  # wakes `accept`
            accepting.join()


def reply(status: int = 200, body: object = b"", *, kind: str = "application/json", **headers: str) -> Fault:
    """An answer as it should be sent, whatever is in it; names of headers are written with underscores."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": kind, "content-length": str(len(content)), "connection": "close"}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in (given | headers).items()]
    whole = "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + content
    return lambda _, connection: connection.sendall(whole)


def late(by_s: float, then: Fault) -> Fault:
    def fault(server: FaultServer, connection: socket.socket) -> None:
        server.closed.wait(by_s)
        then(server, connection)

    return fault


def black_hole(server: FaultServer, _: socket.socket) -> None:
    server.closed.wait()


def reset(_: FaultServer, connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close sends RST


def reset_within(server: FaultServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
    reset(server, connection)


def drip(server: FaultServer, connection: socket.socket) -> None:
    """A byte now and then: each read succeeds, so that a timeout of reads alone never ends it."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
    while not server.closed.wait(0.02):
        connection.sendall(b" ")


def _read(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or _gone()
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    while length and len(body) < int(length[1]):
        body += connection.recv(65536) or _gone()
    return head + b"\r\n\r\n" + body


def _gone() -> bytes:
    raise ConnectionError("the client left")

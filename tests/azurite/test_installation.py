"""Azurite is installed once, however many processes of tests ask for it at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import azurite

# has the lock, as one that runs npm has, and makes the folder in the end
OTHER = """
import fcntl, pathlib, sys, time
with open(sys.argv[1], "a") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    print("installing", flush=True)
    time.sleep(0.5)
    pathlib.Path(sys.argv[2]).mkdir()
"""


def test_who_comes_while_another_installs_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(azurite, "CACHE", tmp_path)
    monkeypatch.setattr(azurite, "_install", lambda _: pytest.fail("installed twice"))
    home = tmp_path / azurite.name_folder()
    command = [sys.executable, "-c", OTHER, str(tmp_path / "azurite.lock"), str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "installing\n"
        assert azurite.installed.__wrapped__() == home

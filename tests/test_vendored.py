"""The libraries of the pages are those of the lock, as they came."""

import hashlib
import json

import pytest

from tests import vendored
from tests.vendored import VENDOR


def test_what_is_vendored_is_of_the_packages_of_the_lock_and_unchanged() -> None:
    """`make vendor` writes files.json beside the files: a file edited by hand, or a lock without one, is seen."""
    assert json.loads((VENDOR / "files.json").read_text("utf-8")) == vendored.inventory()


def test_the_lock_is_of_the_pinned_versions_with_their_integrity() -> None:
    lock = json.loads((VENDOR / "package-lock.json").read_text("utf-8"))["packages"]
    pinned = json.loads((VENDOR / "package.json").read_text("utf-8"))["dependencies"]
    assert {name: lock[f"node_modules/{name}"]["version"] for name in pinned} == pinned
    assert all(package["integrity"].startswith("sha512-") for name, package in lock.items() if name)


def test_nothing_else_is_there() -> None:
    beside = {"package.json", "package-lock.json", "files.json"}
    assert {path.name for path in VENDOR.iterdir()} == {*vendored.FILES, *beside}


def test_each_library_has_its_licence_beside_it() -> None:
    packages = {there.partition("/")[0] for here, there in vendored.FILES.items() if here.endswith(".js")}
    licensed = {there.partition("/")[0] for here, there in vendored.FILES.items() if here.endswith(".LICENSE.txt")}
    assert packages == licensed


@pytest.mark.soak
def test_the_registry_gives_the_same_files() -> None:
    """With a network: `make vendor` changes nothing."""
    before = {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in vendored.FILES}
    vendored.vendor()
    assert before == {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in vendored.FILES}

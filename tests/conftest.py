"""What every test has: the local models loaded, and the tables of the archive made, once a process."""

import gc
from collections.abc import Generator, Iterator

import pytest

from rag_core.providers import bert
from rag_core.stores.archive import database
from tests.remembered_archive import remember_tables
from tests.remembered_models import remember_models


@pytest.fixture(scope="session", autouse=True)
def what_is_made_alike_is_made_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bert, "_load_bert", remember_models(bert._load_bert))
        patch.setattr(database, "_upgrade_archive_schema", remember_tables(database._upgrade_archive_schema))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while the tests are collected, and never look at them again: a tenth of the time of that."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A soak takes as long as whoever starts it says: the limit of a test that hangs is not for it."""
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.timeout(0))

"""What every test has: the local models, loaded once a process."""

from collections.abc import Iterator

import pytest

from rag_core.providers import bert
from tests.remembered_models import remember_models


@pytest.fixture(scope="session", autouse=True)
def models_are_remembered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bert, "_load_bert", remember_models(bert._load_bert))
        yield

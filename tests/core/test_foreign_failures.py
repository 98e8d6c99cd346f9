"""The translation of what libraries raise without a class that can be caught."""

import pytest

from rag_core.core.errors import Misconfigured
from rag_core.core.foreign_failures import ForeignFailures


class Panic(BaseException):
    """As pyo3's, which is no Exception and cannot be imported."""


def translate(failure: BaseException) -> Misconfigured | None:
    return Misconfigured("broken") if isinstance(failure, Panic) else None


def test_a_failure_that_is_known_becomes_the_error_and_stays_its_cause() -> None:
    with pytest.raises(Misconfigured) as raised, ForeignFailures(translate):
        raise Panic
    assert isinstance(raised.value.__cause__, Panic)


@pytest.mark.parametrize("failure", [ValueError(), KeyboardInterrupt(), GeneratorExit()])
def test_another_failure_goes_on_as_it_is(failure: BaseException) -> None:
    with pytest.raises(type(failure)) as raised, ForeignFailures(translate):
        raise failure
    assert raised.value is failure

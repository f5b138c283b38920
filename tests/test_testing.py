import pytest

from regard.testing import LAW_NAMES, check_law
from tests.audit.mutants import added_mask, attention


def test_a_law_that_holds_passes() -> None:
    assert "forbidden" in LAW_NAMES
    check_law("forbidden", attention, examples=5)


def test_a_broken_law_is_an_assertion_with_its_example() -> None:
    with pytest.raises(AssertionError, match=r"exactly nothing.*No: .*batch 1"):
        check_law("forbidden", added_mask)


def test_a_law_that_does_not_apply_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="no cache"):
        check_law("caching", attention)

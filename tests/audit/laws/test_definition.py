import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("definition"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["definition"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_no_formula_is_known_where_there_are_positions() -> None:
    (verdict,) = audit(attention, laws=["definition"], positions="absolute").verdicts
    assert (verdict.outcome, "give a reference" in verdict.detail) == ("does not apply", True)


def test_an_output_of_another_shape_is_told() -> None:
    (verdict,) = audit(lambda query, key, value, keep: query[..., :1], laws=["definition"]).verdicts
    assert "has the shape (1, 2, 1, 1) instead of (1, 2, 1, 4)" in verdict.detail

import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("blindness"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["blindness"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_zeros_are_right() -> None:
    assert audit(attention, laws=["blindness"], examples=10).is_sound


def test_the_kind_of_fault_is_told() -> None:
    told = {name_of(mutant): audit(mutant, laws=["blindness"]).verdicts[0].detail for mutant in found_by("blindness")}
    assert "the output is nan" in told["infinite_mask"]
    assert "reads from keys that it may not see" in told["uniform_when_blind"]

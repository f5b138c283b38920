import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("padding"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["padding"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_it_holds_for_a_correct_one() -> None:
    assert audit(attention, laws=["padding"], examples=10).is_sound

import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("company"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["company"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_it_holds_for_a_correct_one() -> None:
    assert audit(attention, laws=["company"], examples=10).is_sound

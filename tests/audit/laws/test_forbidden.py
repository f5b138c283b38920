import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("forbidden"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["forbidden"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_it_needs_a_mask() -> None:
    (verdict,) = audit(attention, laws=["forbidden"], masks="none").verdicts
    assert (verdict.outcome, verdict.detail) == ("does not apply", "it takes no mask")

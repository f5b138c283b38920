import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("permutation"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["permutation"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_order_matters_where_positions_are_claimed() -> None:
    assert audit(attention, laws=["permutation"], examples=10).verdicts[0].outcome == "holds"
    assert audit(attention, laws=["permutation"], positions="absolute").verdicts[0].outcome == "does not apply"
    assert audit(attention, laws=["permutation"], causal=True).verdicts[0].outcome == "does not apply"

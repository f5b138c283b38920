import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import LayerUnderAudit, attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("causality"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["causality"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_a_causal_layer_holds_and_others_are_exempt() -> None:
    assert audit(LayerUnderAudit(), laws=["causality"], examples=5).verdicts[0].outcome == "holds"
    assert audit(attention, laws=["causality"]).verdicts[0].outcome == "does not apply"


def test_without_a_mask_of_its_own_it_is_not_causal() -> None:
    (verdict,) = audit(attention, laws=["causality"], causal=True).verdicts
    assert (verdict.outcome, "may not see key 1" in verdict.detail) == ("breaks", True)

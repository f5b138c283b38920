import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import LayerUnderAudit, attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("positioning"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["positioning"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_it_needs_positions() -> None:
    assert audit(LayerUnderAudit(), laws=["positioning"], examples=10).verdicts[0].outcome == "holds"
    assert audit(attention, laws=["positioning"]).verdicts[0].outcome == "does not apply"


def test_relative_positions_are_not_absolute() -> None:
    (verdict,) = audit(LayerUnderAudit(), laws=["positioning"], positions="absolute").verdicts
    assert "nothing changes, though its positions are absolute" in verdict.detail

import pytest

from regard.audit.auditing import audit
from tests.audit.mutants import LayerUnderAudit, attention, found_by, name_of


@pytest.mark.parametrize("mutant", found_by("caching"), ids=name_of)
def test_a_planted_fault_is_found(mutant: object) -> None:
    (verdict,) = audit(mutant, laws=["caching"]).verdicts
    assert verdict.outcome == "breaks", verdict


def test_it_needs_a_cache() -> None:
    assert audit(LayerUnderAudit(), laws=["caching"], examples=5).verdicts[0].outcome == "holds"
    assert audit(attention, laws=["caching"]).verdicts[0].outcome == "does not apply"

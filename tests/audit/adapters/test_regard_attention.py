import pytest

import regard
from regard.audit.auditing import audit, subject_of
from regard.base.errors import UsageError


@pytest.mark.parametrize(
    "settings", [{}, {"mask": "causal"}, {"mask": "causal", "positions": "rotary", "key_heads": 1}]
)
def test_our_own_keeps_all_laws(settings: dict[str, object]) -> None:
    report = audit(regard.Attention(heads=2, **settings), examples=5)  # type: ignore[arg-type]
    assert report.is_sound, str(report)
    outcomes = {verdict.law: verdict.outcome for verdict in report.verdicts}
    assert outcomes["definition"] == ("does not apply" if "positions" in settings else "holds")
    assert outcomes["caching"] == ("holds" if settings else "does not apply")


def test_claims_follow_from_its_parts() -> None:
    claims = subject_of(regard.Attention(heads=2, mask="causal", positions="rotary").build(8)).claims
    assert (claims.causal, claims.positions) == (True, "relative")


def test_a_mask_of_its_own_that_is_not_causal_is_refused() -> None:
    with pytest.raises(UsageError, match="its own mask may be causal or none"):
        subject_of(regard.Attention(heads=2, mask="window(2)"))

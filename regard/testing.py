"""The laws of attention for other people's tests.

>>> import pytest
>>> from regard.testing import LAW_NAMES, check_law
>>> @pytest.mark.parametrize("law", LAW_NAMES)
... def test_my_attention(law):
...     check_law(law, my_attention, causal=True)
"""

from typing import Any

from regard.audit.auditing import audit
from regard.audit.law import LAWS

LAW_NAMES = LAWS.names


def check_law(law: str, target: Any, **how: Any) -> None:
    """Raise an AssertionError with the smallest example if the target breaks the law; skip it if it does not apply.

    The arguments are those of `regard.audit`. Outside of pytest a law that does not apply passes.
    """
    (verdict,) = audit(target, laws=[law], **how).verdicts
    if verdict.outcome == "breaks":
        raise AssertionError(f"{verdict.question} No: {verdict.detail}")
    if verdict.outcome == "does not apply":
        try:
            from pytest import skip
        except ImportError:
            return
        skip(verdict.detail)

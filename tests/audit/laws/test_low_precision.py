import torch
from torch import Tensor

from regard.audit.auditing import audit
from tests.audit.mutants import attention


def test_the_distance_is_told(bfloat16: None) -> None:
    (verdict,) = audit(attention, laws=["low_precision"], examples=5).verdicts
    assert verdict.outcome == "holds"
    assert 0 < float(verdict.detail.split()[0]) < 0.1


def test_what_falls_apart_is_told(bfloat16: None) -> None:
    def fragile(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
        return (
            (value + 1000) - 1000 + 0 * query[..., :1, :1]
            if query.shape == value.shape
            else attention(query, key, value, keep)
        )

    (verdict,) = audit(fragile, laws=["low_precision"]).verdicts
    assert (verdict.outcome, "of the largest number away" in verdict.detail) == ("breaks", True)
    assert fragile(*torch.zeros(3, 1, 1, 1, 1), None).shape == (1, 1, 1, 1)

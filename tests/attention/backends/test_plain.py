import torch

from regard.attention.backends.plain import Plain
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.normalizers.hard import Hard
from regard.attention.scores.cosine import Cosine


def test_is_the_definition_and_serves_everything() -> None:
    query, key, value = (torch.randn(2, 3, 4, 5) for _ in range(3))
    call = Call(
        query,
        key,
        value,
        score=Cosine(),
        normalizer=Hard(),
        keep=Causal(),
        bias=torch.randn(4, 4),
        query_at=None,
        key_at=None,
        dropout=0.0,
    )
    assert Plain().refusal(call) is None
    assert Plain().hesitation(call) is None
    found, expected = Plain()(call), define(call)
    assert torch.equal(found.output, expected.output)
    assert torch.equal(found.weights, expected.weights)

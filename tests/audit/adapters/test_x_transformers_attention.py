import torch
from torch import Tensor, nn

from regard.audit.adapters.x_transformers_attention import XTransformersAttention
from regard.audit.auditing import subject_of
from regard.audit.example import Example


def imitation() -> nn.Module:
    """A module of the name, home and arguments of the library's own."""

    class Attention(nn.Module):
        __module__ = "x_transformers.x_transformers"

        def __init__(self) -> None:
            super().__init__()
            self.causal, self.to_q = True, nn.Linear(6, 6)

        def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Tensor:
            logits = self.to_q(x) @ x.mT
            return (logits if attn_mask is None else logits.masked_fill(~attn_mask[:, 0], -1e30)).softmax(-1) @ x

    return Attention()


def test_it_is_recognized_by_its_home() -> None:
    subject, example = subject_of(imitation()), Example(1, 2, 2, ((0, 1, 0),))
    assert isinstance(subject, XTransformersAttention)
    assert subject.claims.causal
    inputs = subject.inputs(example, example.generator())
    assert inputs["x"].shape == (1, 2, 6)
    torch.testing.assert_close(subject(inputs, example.keep)[0, 1], inputs["x"][0, 1])
    assert not XTransformersAttention.suits(nn.Linear(1, 1))

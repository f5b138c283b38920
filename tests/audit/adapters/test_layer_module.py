import torch
from torch import Tensor, nn

from regard.audit.adapters.layer_module import LayerModule
from regard.audit.example import Example


class Named(nn.Module):
    """A layer that calls its mask as some do."""

    def __init__(self, rounds: bool = False) -> None:
        super().__init__()
        self.dim, self.rounds = 4, rounds
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, *, attention_mask: Tensor | None = None) -> tuple[Tensor, str]:
        logits = x @ x.mT if attention_mask is None else (x @ x.mT).masked_fill(~attention_mask, -1e30)
        weights = logits.float().softmax(-1).to(x) if self.rounds else logits.softmax(-1)
        return self.linear(weights @ x), "more"


def test_width_mask_and_output_are_found() -> None:
    subject, example = LayerModule(Named()), Example(2, 3, 3, ((1, 0, 2),))
    inputs = subject.inputs(example, example.generator())
    output = subject(inputs, example.keep)
    assert output.shape == (2, 3, 4)
    assert not torch.equal(output[1], subject(inputs, None)[1])
    assert torch.equal(output[0], subject(inputs, None)[0])


def test_rounding_to_float32_inside_is_noticed() -> None:
    assert LayerModule(Named()).precision == torch.float64
    assert LayerModule(Named(rounds=True)).precision == torch.float32


def test_the_target_itself_is_left_alone() -> None:
    module = Named()
    LayerModule(module).to(torch.bfloat16)
    assert module.training
    assert module.linear.weight.dtype == torch.float32

import torch
from torch import Tensor, nn

from regard.audit.adapters.pyg_convolution import PygConvolution
from regard.audit.auditing import audit, subject_of


class MessagePassing(nn.Module):
    """The name and home of the library's base class."""

    __module__ = "torch_geometric.nn.conv.message_passing"


class Averaging(MessagePassing):
    """The mean of the neighbors that edges come from; `leak` adds what no edge brings."""

    def __init__(self, leak: float = 0.0) -> None:
        super().__init__()
        self.in_channels, self.add_self_loops, self.leak = 4, True, leak

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        own = torch.arange(len(x))
        pairs = torch.cat([edges[:, edges[0] != edges[1]], torch.stack([own, own])], 1)
        total = torch.zeros_like(x).index_add(0, pairs[1], x[pairs[0]])
        return total / torch.bincount(pairs[1], minlength=len(x))[:, None] + self.leak * x.sum(0)


def test_edges_are_the_pairs_that_may_look() -> None:
    subject = subject_of(Averaging())
    assert isinstance(subject, PygConvolution)
    assert subject.claims.own
    report = audit(subject, laws=["forbidden", "permutation", "company", "blindness"], examples=10)
    assert [verdict.outcome for verdict in report.verdicts] == ["holds", "holds", "holds", "does not apply"], str(
        report
    )


def test_a_leak_is_found() -> None:
    assert {verdict.law for verdict in audit(Averaging(0.1), laws=["forbidden", "company"]).broken} == {
        "forbidden",
        "company",
    }

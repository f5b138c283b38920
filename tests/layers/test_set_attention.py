"""The blocks against the formulas of the paper, one attention head and one set at a time, in float64."""

import torch
from torch import Tensor

from regard.layers.set_attention import AttentionBlock, AttentionPooling, InducedBlock, SelfAttentionBlock

HEADS, WIDTH = 2, 6
X = torch.randn(2, 5, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
KEEP = torch.arange(5) < torch.tensor([5, 3])[:, None]


def attention(block: AttentionBlock, x: Tensor, source: Tensor) -> Tensor:
    """softmax(q kᵀ / √d) v for each head, then the output's projection."""
    layer = block.attention
    query = layer.projections.of_query(x[None])[0]
    key, value = (side[0] for side in layer.projections.of_source(source[None]))
    each = WIDTH // HEADS
    heads = []
    for at in range(HEADS):
        cut = slice(at * each, (at + 1) * each)
        logits = query[:, cut] @ key[:, cut].T / each**0.5
        heads.append(torch.softmax(logits, -1) @ value[:, cut])
    return layer.output(torch.cat(heads, -1))


def mab(block: AttentionBlock, x: Tensor, source: Tensor) -> Tensor:
    hidden = block.norms[0](x + attention(block, x, source))
    return block.norms[1](hidden + torch.relu(block.feed(hidden)))


def test_blocks_are_those_of_the_paper() -> None:
    torch.manual_seed(1)
    self_block, induced = SelfAttentionBlock(WIDTH, HEADS).double(), InducedBlock(WIDTH, HEADS, 3).double()
    pooling, bare = AttentionPooling(WIDTH, HEADS, 2).double(), AttentionBlock(WIDTH, HEADS, "none").double()
    for row, length in enumerate((5, 3)):
        x = X[row, :length]
        torch.testing.assert_close(self_block(X, KEEP)[row, :length], mab(self_block.block, x, x))
        gathered = mab(induced.gather, induced.points, x)
        torch.testing.assert_close(induced(X, KEEP)[row, :length], mab(induced.spread, x, gathered))
        torch.testing.assert_close(pooling(X, KEEP)[row], mab(pooling.block, pooling.seeds, pooling.feed(x).relu()))
        torch.testing.assert_close(bare(X, X, KEEP)[row, :length], mab(bare, x, x))


def test_sigmoid_pools_a_sum_which_tells_a_set_from_the_same_twice_over() -> None:
    torch.manual_seed(1)
    softmax, sigmoid = (AttentionPooling(WIDTH, 1, 1, "none", how).double() for how in ("softmax", "sigmoid"))
    x, twice = X[:1], X[:1].repeat(1, 2, 1)
    torch.testing.assert_close(softmax(x), softmax(twice))
    layer, fed = sigmoid.block.attention, sigmoid.feed(x[0]).relu()
    query = layer.projections.of_query(sigmoid.seeds[None])[0]
    key, value = (side[0] for side in layer.projections.of_source(fed[None]))
    for times, sets in ((1, x), (2, twice)):
        read = times * torch.sigmoid(query @ key.T / WIDTH**0.5) @ value
        hidden = sigmoid.seeds + layer.output(read)
        torch.testing.assert_close(sigmoid(sets)[0], hidden + torch.relu(sigmoid.block.feed(hidden)))

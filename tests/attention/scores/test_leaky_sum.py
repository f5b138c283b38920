import math

import torch

from regard.attention.scores.leaky_sum import LeakySum
from tests.laws.examples import SIZES, build


def test_it_is_the_formula() -> None:
    score = build(LeakySum(slope=0.1))
    query = torch.randn(2, SIZES.heads, 3, SIZES.query_width, dtype=torch.float64)
    key = torch.randn(2, SIZES.heads, 5, SIZES.key_width, dtype=torch.float64)
    logits = score(query, key)
    for at in [(0, 0, 0, 0), (1, 2, 1, 4), (1, 3, 2, 3)]:
        batch, head, i, j = at
        total = float(score.query_weight[head] @ query[batch, head, i] + score.key_weight[head] @ key[batch, head, j])
        assert math.isclose(logits[at].item(), total if total > 0 else 0.1 * total, rel_tol=1e-12)


def test_every_query_ranks_the_keys_alike() -> None:
    """The "static" attention that GATv2 was made to overcome."""
    score = build(LeakySum())
    query, key = torch.randn(1, SIZES.heads, 4, SIZES.query_width).double(), torch.randn(1, SIZES.heads, 6, 4).double()
    orders = score(query, key).argsort(-1)
    assert (orders == orders[:, :, :1]).all()

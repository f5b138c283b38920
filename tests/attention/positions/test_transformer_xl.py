from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.positions.transformer_xl import TransformerXL
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError

SIZES = Sizes(width=6, heads=2, key_heads=2, query_width=4, key_width=4, value_width=3)


def test_is_the_four_terms_of_the_paper() -> None:
    built = TransformerXL().build(SIZES).double()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.normal_()
    query, key = torch.randn(2, 2, 3, 4, dtype=torch.float64), torch.randn(2, 2, 5, 4, dtype=torch.float64)
    query_at, key_at = [9, 3, 4], [0, 5, 3, 4, 12]
    logits = ScaledDot()(query, key) + built(query, key, torch.tensor(query_at), torch.tensor(key_at))
    u, v, weight = (part.detach().numpy() for part in (built.content, built.position, built.weight))
    for batch, head, i, j in np.ndindex(2, 2, 3, 5):
        q, k = query[batch, head, i].numpy(), key[batch, head, j].numpy()
        apart = query_at[i] - key_at[j]
        angles = apart / 10_000 ** (2 * (np.arange(6) // 2) / 6)
        r = np.where(np.arange(6) % 2 == 0, np.sin(angles), np.cos(angles)) @ weight[head]
        content, position, global_content, global_position = q @ k, q @ r, u[head] @ k, v[head] @ r
        expected = (content + position + global_content + global_position) / np.sqrt(4)
        np.testing.assert_allclose(logits[batch, head, i, j].item(), expected, rtol=1e-10)


def test_the_scale_may_be_that_of_another_score() -> None:
    own, plain = TransformerXL(scale=1.0).build(SIZES), TransformerXL().build(SIZES)
    plain.load_state_dict(own.state_dict())
    query, key, at = torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4), torch.arange(5)
    torch.testing.assert_close(own(query, key, at, at), plain(query, key, at, at) * 2)


def test_queries_and_keys_have_one_width() -> None:
    with pytest.raises(ConfigError, match="transformer_xl: queries and keys must have one width, but have 4 and 5"):
        TransformerXL().build(replace(SIZES, key_width=5))


@pytest.mark.parametrize(("queries", "keys", "first"), [(4, 4, 0), (3, 7, 4), (1, 5, 4), (5, 1, 0), (2, 3, -1)])
def test_shifting_runs_of_positions_equals_picking_each(queries: int, keys: int, first: int) -> None:
    built = TransformerXL(waves="halves").build(SIZES).double()
    query, key = torch.randn(2, 2, queries, 4).double(), torch.randn(2, 2, keys, 4).double()
    query_at, key_at = torch.arange(first, first + queries), torch.arange(keys)
    picked = built(query, key, query_at.expand(2, -1), key_at)  # positions with a batch axis are picked one by one
    torch.testing.assert_close(built(query, key, query_at, key_at), picked, rtol=0, atol=1e-12)


def test_halves_are_turns_in_another_order() -> None:
    turns, halves = TransformerXL().build(SIZES).double(), TransformerXL(waves="halves").build(SIZES).double()
    halves.load_state_dict(turns.state_dict() | {"weight": turns.weight[:, [0, 2, 4, 1, 3, 5]]})
    query, key, at = torch.randn(1, 2, 5, 4).double(), torch.randn(1, 2, 5, 4).double(), torch.arange(5)
    torch.testing.assert_close(halves(query, key, at, at), turns(query, key, at, at))

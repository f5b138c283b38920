from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.score import SCORES
from regard.attention.scores.additive import Additive
from regard.base.errors import ConfigError, UsageError

SIZES = Sizes(width=8, heads=3, key_heads=3, query_width=5, key_width=4, value_width=2)


def vectors() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 6, 4, dtype=torch.float64)


def test_split_is_the_formula() -> None:
    score, (query, key) = Additive(hidden=7).build(SIZES).double(), vectors()
    w2, w1, u = (part.detach().numpy() for part in (score.query_weight, score.key_weight, score.readout))
    for_query = np.einsum("bhid,hdm->bhim", query.numpy(), w2)
    for_key = np.einsum("bhjd,hdm->bhjm", key.numpy(), w1)
    expected = np.einsum("bhijm,hm->bhij", np.tanh(for_query[:, :, :, None] + for_key[:, :, None]), u)
    np.testing.assert_allclose(score(query, key).detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_joint_is_the_formula() -> None:
    score, (query, key) = Additive(spelling="joint").build(SIZES).double(), vectors()
    weight, u = score.weight.detach().numpy(), score.readout.detach().numpy()
    for batch, head, i, j in np.ndindex(2, 3, 4, 6):
        side_by_side = np.concatenate([query.numpy()[batch, head, i], key.numpy()[batch, head, j]])
        expected = u[head] @ np.tanh(side_by_side @ weight[head])
        np.testing.assert_allclose(score(query, key)[batch, head, i, j].item(), expected, rtol=1e-12)


def test_both_spellings_are_one_function() -> None:
    split, joint = (Additive(hidden=6, spelling=spelling).build(SIZES).double() for spelling in ("split", "joint"))
    with torch.no_grad():
        joint.weight.copy_(torch.cat([split.query_weight, split.key_weight], dim=1))
        joint.readout.copy_(split.readout)
    query, key = vectors()
    torch.testing.assert_close(joint(query, key), split(query, key), atol=1e-14, rtol=1e-14)


def test_both_spellings_start_alike() -> None:
    spread = []
    for spelling in ("split", "joint"):
        torch.manual_seed(1)
        built = Additive(hidden=200, spelling=spelling).build(SIZES)
        spread.append([part.std().item() for part in built.matrices()])
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.05)


def test_leaky_is_the_score_of_graph_attention() -> None:
    score, (query, key) = Additive(squash="leaky").build(SIZES).double(), vectors()
    w2, w1, u = (part.detach().numpy() for part in (score.query_weight, score.key_weight, score.readout))
    linear = np.einsum("bhid,hdm,hm->bhi", query.numpy(), w2, u)[..., None]
    linear = linear + np.einsum("bhjd,hdm,hm->bhj", key.numpy(), w1, u)[:, :, None]
    expected = np.where(linear > 0, linear, 0.2 * linear)
    np.testing.assert_allclose(score(query, key).detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_leaky_inside_without_matrices_is_the_score_of_gatv2() -> None:
    query, key = vectors()[0], torch.randn(2, 3, 6, 5, dtype=torch.float64)
    score = Additive(spelling="bare", squash="leaky_inside").build(replace(SIZES, key_width=5)).double()
    together = query[1, 2, 0] + key[1, 2, 3]
    expected = (score.readout[2] * torch.where(together > 0, together, 0.2 * together)).sum()
    torch.testing.assert_close(score(query, key)[1, 2, 0, 3], expected)
    assert [name for name, _ in score.named_parameters()] == ["readout"]


def test_without_matrices_the_widths_must_fit() -> None:
    with pytest.raises(ConfigError, match="additive: without matrices, hidden must be the width of a query"):
        Additive(spelling="bare", hidden=SIZES.query_width + 1).build(SIZES)


def test_hidden_is_as_wide_as_a_query_unless_set() -> None:
    assert Additive().build(SIZES).readout.shape == (3, 5)
    assert Additive(hidden=9).build(SIZES).readout.shape == (3, 9)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="additive: hidden must be at least 1, but is 0"):
        Additive(hidden=0)
    with pytest.raises(ConfigError, match=r"score\.additive\.spelling: unknown 'spit' \(did you mean 'split'"):
        SCORES.make("additive(spelling='spit')", "score")


def test_is_built_before_it_works() -> None:
    with pytest.raises(UsageError, match="Additive has weights"):
        Additive()(*vectors())

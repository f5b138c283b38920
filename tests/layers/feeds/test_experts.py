import pytest
import torch
from torch import Tensor, nn

from regard.base.config import from_dict, to_dict
from regard.base.errors import ConfigError
from regard.layers.feeds.experts import Experts, Mixture, balance_losses, idle_weights
from regard.layers.feeds.gated import Gated


def mixture(**settings: object) -> Mixture:
    return Experts(**settings).filled(hidden=6, activation="tanh", dropout=0.0).build(4, 5).double()  # type: ignore[arg-type]


def by_loop(layer: Mixture, x: Tensor, chosen: int) -> Tensor:
    """Position by position, expert by expert."""
    rows = []
    for row in x:
        logits = (layer.gate.map.weight @ row).tolist()
        best = sorted(range(len(logits)), key=lambda e: -logits[e])[:chosen]
        powers = torch.tensor(logits, dtype=torch.float64).exp()
        total = powers.sum() if chosen == 1 else powers[best].sum()
        rows.append(sum(powers[e] / total * layer.experts[e](row) for e in best))
    return torch.stack(rows)


@pytest.mark.parametrize(("count", "chosen"), [(4, 1), (4, 2), (5, 3), (3, 3), (1, 1)])
@pytest.mark.parametrize("expert", ["plain", "gated"])
def test_against_a_loop(count: int, chosen: int, expert: str) -> None:
    layer = mixture(count=count, chosen=chosen, expert=expert)
    x = torch.randn(2, 7, 4, dtype=torch.float64)
    torch.testing.assert_close(layer(x), by_loop(layer, x.flatten(0, 1), chosen).view(2, 7, 5))


def test_all_chosen_is_the_dense_mixture() -> None:
    layer = mixture(count=4, chosen=4).float()
    x = torch.randn(9, 4)
    shares = layer.gate.map(x).softmax(-1)
    dense = sum(shares[:, e, None] * expert(x) for e, expert in enumerate(layer.experts))
    torch.testing.assert_close(layer(x), dense, rtol=0, atol=1e-6)


def test_company_changes_nothing() -> None:
    layer = mixture(count=4, chosen=2)
    x = torch.randn(50, 4, dtype=torch.float64)
    alone = torch.stack([layer(row) for row in x])
    torch.testing.assert_close(layer(x), alone)


@pytest.mark.parametrize("chosen", [1, 2])
def test_gradients_reach_the_gate_and_every_expert(chosen: int) -> None:
    layer = mixture(count=6, chosen=chosen)
    layer(torch.randn(2, 4, dtype=torch.float64)).square().sum().backward()
    assert all(weight.grad is not None for weight in layer.parameters())
    assert layer.gate.map.weight.grad.any()
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, x)


def test_the_balance_loss_is_that_of_the_switch_transformer() -> None:
    layer = mixture(count=4, chosen=2, balance=0.5)
    x = torch.randn(3, 5, 4, dtype=torch.float64)
    with balance_losses(layer) as losses:
        layer(x)
        layer(x[:1])
    assert len(losses) == 2
    for loss, given in zip(losses, (x, x[:1]), strict=True):
        chances = layer.gate.map(given).flatten(0, 1).softmax(-1).detach()
        picked = chances.topk(2).indices.flatten().tolist()
        fallen = [picked.count(e) / len(picked) for e in range(4)]
        expected = 0.5 * 4 * sum(f * float(p) for f, p in zip(fallen, chances.mean(0), strict=True))
        assert loss.item() == pytest.approx(expected)
    sum(losses).backward()
    assert layer.gate.map.weight.grad.any()


def test_even_use_costs_one_and_one_favorite_costs_more() -> None:
    layer = mixture(count=4, chosen=1, balance=1.0)
    x = torch.eye(4, dtype=torch.float64)
    with torch.no_grad():
        layer.gate.map.weight.copy_(20 * torch.eye(4))
    with balance_losses(layer) as even:
        layer(x)
    with torch.no_grad():
        layer.gate.map.weight.zero_()[1] = 20.0
    with balance_losses(layer) as favorite:
        layer(x)
    assert even[0].item() == pytest.approx(1.0, abs=1e-6)
    assert favorite[0].item() == pytest.approx(4.0, abs=1e-6)


def test_nothing_is_collected_outside_nor_without_experts() -> None:
    layer = mixture()
    with balance_losses(layer) as losses:
        pass
    layer(torch.randn(2, 4, dtype=torch.float64))
    assert losses == []
    assert not layer.gate._forward_hooks
    with balance_losses(nn.Linear(2, 2)) as none:
        pass
    assert sum(none) == 0


def test_idle_weights_are_those_that_a_position_does_not_meet() -> None:
    assert idle_weights(mixture(count=4, chosen=1)) == 3 * (4 * 6 + 6 * 5)
    assert idle_weights(nn.Linear(3, 3)) == 0


def test_it_is_written_and_read_back() -> None:
    design = Experts(count=4, chosen=1, expert={"name": "gated", "activation": "silu"})
    assert design.expert == Gated(activation="silu")
    assert from_dict(to_dict(design), Experts) == design


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"count": 2, "chosen": 3}, r"experts: chosen \(3\) must be at most count \(2\)"),
        ({"chosen": 0}, "experts: chosen must be at least 1"),
        ({"balance": -1.0}, "experts: balance must be at least 0"),
        ({"expert": "plan"}, r"experts\.expert: unknown 'plan' \(did you mean 'plain'\?\)"),
    ],
)
def test_settings_out_of_range_are_refused(unchecked: None, settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Experts(**settings)  # type: ignore[arg-type]


def test_it_is_mixtral_s_block() -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers: pip install 'regard[dev]'")
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

    config = transformers.MixtralConfig(
        hidden_size=8, intermediate_size=6, num_local_experts=4, num_experts_per_tok=2, hidden_act="silu"
    )
    theirs = MixtralSparseMoeBlock(config).eval()
    ours = Experts(count=4, chosen=2, expert=Gated(6, "silu", bias=False)).build(8)
    with torch.no_grad():
        theirs.gate.weight.copy_(ours.gate.map.weight)
        for at, expert in enumerate(ours.experts):
            theirs.experts.gate_up_proj[at] = expert.inner.weight
            theirs.experts.down_proj[at] = expert.outer.weight
    x = torch.randn(2, 9, 8)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-5)

import pytest
import torch
from torch import Tensor, nn

from regard.attention.part import Sizes
from regard.attention.score import SCORES
from regard.base.errors import ConfigError
from regard.layers.patching import PatchEmbedding
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon, maps_inside, orthogonal
from tests.training.test_optimizer import learn, model


def by_singular_values(x: Tensor) -> Tensor:
    """The iteration in float64, done to the singular values alone."""
    left, values, right = torch.linalg.svd(x.double(), full_matrices=False)
    values = values / values.square().sum().sqrt()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return left * values @ right


def transformer() -> nn.Module:
    chosen = Transformer.preset("tiny", width=16, heads=2, feedforward=32, encoder_layers=1, decoder_layers=1)
    return chosen.build({"source": 20, "target": 20})


def test_it_follows_its_formula() -> None:
    net = model()
    optimizers = Muon(learning_rate=0.1, momentum=0.8, weight_decay=0.05).build(net)
    layer = net[0]
    assert isinstance(layer, nn.Linear)
    weight, mean = layer.weight.detach().double(), torch.zeros(4, 3, dtype=torch.float64)
    for step in range(1, 5):
        learn(net, optimizers, range(step, step + 1))
        assert layer.weight.grad is not None
        gradient = layer.weight.grad.double()
        mean = 0.8 * mean + 0.2 * gradient
        turn = by_singular_values(0.2 * gradient + 0.8 * mean)
        weight = weight - 0.1 * (0.2 * 4**0.5 * turn + 0.05 * weight)
        torch.testing.assert_close(layer.weight.double(), weight, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("bfloat16")
def test_it_is_torch_muon_up_to_bfloat16() -> None:
    torch.manual_seed(0)
    ours, theirs = nn.Linear(24, 16, bias=False), nn.Linear(24, 16, bias=False)
    theirs.load_state_dict(ours.state_dict())
    steps = [Muon(learning_rate=0.01, weight_decay=0.1).build(ours)]
    steps += [[torch.optim.Muon(theirs.parameters(), lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")]]
    before = ours.weight.detach().clone()
    for _ in range(5):
        gradient = torch.randn(16, 24)
        for net, optimizers in zip((ours, theirs), steps, strict=True):
            net.weight.grad = gradient.clone()
            for optimizer in optimizers:
                optimizer.step()
    way, difference = (theirs.weight - before).norm(), (theirs.weight - ours.weight).norm()
    assert difference < 0.02 * way


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 5, 12)])
def test_what_is_turned_is_nearly_orthogonal(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    x = torch.randn(shape, dtype=torch.float64)
    turned = orthogonal(x)
    for one, before in zip(turned, x, strict=True):
        torch.testing.assert_close(one, by_singular_values(before))
    values = torch.linalg.svdvals(turned)
    assert values.min() > 0.6
    assert values.max() < 1.3


def test_a_gradient_of_zeros_moves_nothing() -> None:
    assert torch.equal(orthogonal(torch.zeros(1, 2, 3)), torch.zeros(1, 2, 3))


def test_maps_that_are_stacked_are_turned_one_by_one() -> None:
    torch.manual_seed(2)
    net = transformer()
    stacked = dict(maps_inside(net))
    joint = net.get_parameter("encoder.layers.0.self_attention.projections.joint.weight")
    source = net.get_parameter("decoder.layers.0.cross.projections.source.weight")
    assert list(stacked[joint]) == [16, 16, 16]
    assert list(stacked[source]) == [16, 16]
    before, gradient = joint.detach().clone(), torch.randn_like(joint)
    joint.grad = gradient
    for optimizer in Muon(learning_rate=0.1).build(net):
        optimizer.step()
    for own, was, part in zip(joint.split(16), before.split(16), gradient.split(16), strict=True):
        turn = by_singular_values(part)
        torch.testing.assert_close(own.double(), was.double() - 0.1 * 0.2 * 4 * turn, rtol=1e-4, atol=1e-5)


def test_embeddings_output_and_vectors_are_left_to_adam() -> None:
    net = transformer()
    turning, adam = Muon().build(net)
    names = {weight: name for name, weight in net.named_parameters()}
    turned = {names[weight] for group in turning.param_groups for weight in group["params"]}
    others = {names[weight] for group in adam.param_groups for weight in group["params"]}
    assert turned | others == set(names.values())
    assert not turned & others
    assert {name for name in others if net.get_parameter(name).dim() > 1} == {
        name for name in names.values() if "table" in name or name == "output.weight"
    }
    assert all(".layers." in name for name in turned)


@pytest.mark.parametrize("convolution", [nn.Conv1d(3, 4, 3), nn.Conv2d(2, 5, 3)])
def test_a_convolution_is_turned_as_a_matrix(convolution: nn.Conv1d | nn.Conv2d) -> None:
    before, gradient = convolution.weight.detach().clone(), torch.randn_like(convolution.weight)
    convolution.weight.grad = gradient
    for optimizer in Muon(learning_rate=0.1).build(convolution):
        optimizer.step()
    turn = by_singular_values(gradient.flatten(1)).view_as(before)
    longer = max(gradient.flatten(1).shape)
    wanted = before.double() - 0.1 * 0.2 * longer**0.5 * turn
    torch.testing.assert_close(convolution.weight.double(), wanted, rtol=1e-4, atol=1e-5)


def test_kernels_of_single_channels_of_patches_and_of_a_norm_are_left_to_adam() -> None:
    single, patches = nn.Conv1d(4, 4, 3, groups=4), PatchEmbedding(3, 8, 2)
    normed = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 3))
    assert not list(maps_inside(nn.ModuleList([single, patches, normed])))


def test_the_gates_of_a_recurrent_network_are_turned_one_by_one() -> None:
    net = Seq2seq.preset("luong", width=8).build({"source": 20, "target": 20})
    lstm = next(part for part in net.modules() if isinstance(part, nn.LSTM))
    rows = dict(maps_inside(net))
    assert [list(rows[weight]) for name, weight in lstm.named_parameters() if name.startswith("weight_hh")] == [
        [lstm.hidden_size] * 4
    ] * (lstm.num_layers * (2 if lstm.bidirectional else 1))


@pytest.mark.parametrize("score", ["bilinear", "additive"])
def test_the_matrices_of_a_score_are_turned_head_by_head(score: str) -> None:
    torch.manual_seed(3)
    sizes = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=3, value_width=3)
    part = SCORES.make(score, "score").build(sizes)
    matrices = {name: weight for name, weight in part.named_parameters() if weight.ndim == 3}
    before = {name: weight.detach().clone() for name, weight in matrices.items()}
    for weight in part.parameters():
        weight.grad = torch.randn_like(weight)
    for optimizer in Muon(learning_rate=0.1).build(part):
        optimizer.step()
    assert matrices
    for name, weight in matrices.items():
        for own, was, gradient in zip(weight, before[name], weight.grad, strict=True):
            wanted = was.double() - 0.1 * 0.2 * max(own.shape) ** 0.5 * by_singular_values(gradient)
            torch.testing.assert_close(own.double(), wanted, rtol=1e-4, atol=1e-5)


def test_a_model_without_maps_is_left_to_adam() -> None:
    optimizers = Muon(learning_rate=0.5, betas=(0.1, 0.2)).build(nn.Embedding(3, 2))
    (ours,), (theirs,) = optimizers, Adam(learning_rate=0.5, betas=(0.1, 0.2)).build(nn.Embedding(3, 2))
    assert ours.param_groups[0]["betas"] == theirs.param_groups[0]["betas"]


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match="momentum must be at least 0 and below 1, but is 1"):
        Muon(momentum=1.0)

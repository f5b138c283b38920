from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.masks.causal import Causal
from regard.attention.masks.matrix import Matrix
from regard.attention.multihead import Attention, MultiHead
from regard.attention.reading import Reading
from regard.attention.record import attention_layers, record, watch
from regard.base.errors import UsageError

HEADS, WIDTH, LENGTH = 4, 8, 5


class Block(nn.Module):
    """Self- and cross-attention."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.own = Attention(heads=HEADS, mask="causal", **settings).build(WIDTH)
        self.cross = Attention(heads=HEADS, **settings).build(WIDTH, 6)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        x = x + self.own(x)
        return x + self.cross(x, source)


class Model(nn.Module):
    """Two blocks, and a layer that does not attend."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.decoder = nn.ModuleList([Block(**settings), Block(**settings)])
        self.out = nn.Linear(WIDTH, 3)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        for block in self.decoder:
            x = block(x, source)
        return self.out(x)


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    return torch.randn(2, LENGTH, WIDTH), torch.randn(2, 7, 6)


def expected_weights(layer: MultiHead, x: Tensor) -> Tensor:
    """The formula, from the layer's own projections."""
    query, key, _ = (side.unflatten(-1, (HEADS, -1)).transpose(1, 2) for side in layer.projections.of_both(x))
    logits = query @ key.mT / (WIDTH / HEADS) ** 0.5
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    return logits.masked_fill(hidden, -torch.inf).softmax(-1)


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


def test_layers_are_called_by_their_names() -> None:
    names = ["decoder.0.own", "decoder.0.cross", "decoder.1.own", "decoder.1.cross"]
    assert list(attention_layers(Model())) == names
    assert list(attention_layers(Attention(heads=2).build(8))) == [""]
    assert attention_layers(nn.Linear(2, 2)) == {}
    assert all(isinstance(reading, Reading) for reading in attention_layers(Model()).values())


def test_the_output_is_the_same_with_and_without(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    before = model(*batch)
    with record(model):
        during = model(*batch)
    assert torch.equal(before, during)


def test_weights_are_those_of_the_formula(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model, "decoder.0.own") as seen:
        model(*batch)
    torch.testing.assert_close(seen.only(), expected_weights(model.decoder[0].own, batch[0]))


@pytest.mark.parametrize("backend", ["plain", "fused", "blockwise(block_bytes=200)"])
def test_weights_are_the_plain_paths_whichever_backend_serves(backend: str) -> None:
    layer = Attention(heads=HEADS, mask="causal & window(3)", positions="alibi", backend=backend).build(WIDTH)
    x = torch.randn(2, LENGTH, WIDTH)
    with record(layer) as seen:
        layer(x)
    plain = Attention(heads=HEADS, mask="causal & window(3)", positions="alibi", backend="plain").build(WIDTH)
    plain.load_state_dict(layer.state_dict())
    with record(plain) as wanted:
        plain(x)
    torch.testing.assert_close(seen.only(), wanted.only())
    assert layer.backend_choice(x).chosen == backend.partition("(")[0]


def test_weights_give_the_output_again(batch: tuple[Tensor, Tensor]) -> None:
    layer = Attention(heads=HEADS).build(WIDTH, 6)
    with record(layer) as seen:
        output = layer(*batch)
    value = layer.projections.of_source(batch[1])[1].unflatten(-1, (HEADS, -1)).transpose(1, 2)
    torch.testing.assert_close(layer.output((seen.only() @ value).transpose(1, 2).flatten(2)), output)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*", {"decoder.0.own", "decoder.0.cross", "decoder.1.own", "decoder.1.cross"}),
        ("decoder.*.cross", {"decoder.0.cross", "decoder.1.cross"}),
        ("decoder.1.*", {"decoder.1.own", "decoder.1.cross"}),
        ("decoder.[0].own", {"decoder.0.own"}),
        ("decoder.1.cross", {"decoder.1.cross"}),
    ],
)
def test_patterns_choose_layers(batch: tuple[Tensor, Tensor], pattern: str, names: set[str]) -> None:
    model = Model()
    with record(model, pattern) as seen:
        model(*batch)
    assert set(seen) == names
    assert all(len(calls) == 1 for calls in seen.values())


def test_only_the_asked_heads_and_rows(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model, "*.cross") as whole:
        model(*batch)
    with record(model, "*.cross", heads=[3, 0], rows=[4, 1]) as some:
        model(*batch)
    with record(model, "*.cross", heads=[-1], rows=slice(2)) as few:
        model(*batch)
    for name, (weights,) in whole.items():
        torch.testing.assert_close(some[name][0], weights[:, [3, 0]][:, :, [4, 1]])
        torch.testing.assert_close(few[name][0], weights[:, [3], :2])


def test_every_call_is_kept(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model, "decoder.0.own") as seen:
        model(*batch)
        model(batch[0][:1, :2], batch[1][:1])
    assert [weights.shape for weights in seen["decoder.0.own"]] == [(2, HEADS, LENGTH, LENGTH), (1, HEADS, 2, 2)]


def test_weights_are_detached(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model) as seen:
        model(*batch).sum().backward()
    assert not any(weights.requires_grad for calls in seen.values() for weights in calls)
    assert model.out.weight.grad is not None


def test_nothing_is_left_behind(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model) as seen:
        assert hooks(model) == 4
        model(*batch)
    assert hooks(model) == 0
    model(*batch)
    assert all(len(calls) == 1 for calls in seen.values())


def test_nothing_is_left_behind_after_an_exception(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with pytest.raises(RuntimeError, match="in between"), record(model):
        raise RuntimeError("in between")
    assert hooks(model) == 0
    with pytest.raises(UsageError), record(model, heads=[9]):
        model(*batch)
    assert hooks(model) == 0


def test_recordings_may_be_nested(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model, "*.own") as outer:
        with record(model, "*.cross", heads=[0]) as inner:
            model(*batch)
        model(*batch)
    assert [len(calls) for calls in outer.values()] == [2, 2]
    assert [len(calls) for calls in inner.values()] == [1, 1]


def test_decoding_step_by_step_gives_the_rows_of_the_whole() -> None:
    layer, x = Attention(heads=HEADS, mask="causal").build(WIDTH), torch.randn(2, LENGTH, WIDTH)
    with record(layer) as whole:
        layer(x)
    with torch.no_grad(), record(layer) as steps:
        memory = layer.start()
        for step in range(LENGTH):
            _, memory = layer.advance(x[:, step : step + 1], memory)
    assert len(steps[""]) == LENGTH
    for step, weights in enumerate(steps[""]):
        assert weights.shape == (2, HEADS, 1, step + 1)
        torch.testing.assert_close(weights[:, :, 0], whole.only()[:, :, step, : step + 1])


def test_reading_from_what_was_remembered(batch: tuple[Tensor, Tensor]) -> None:
    layer, (x, source) = Attention(heads=HEADS).build(WIDTH, 6), batch
    keep = torch.arange(7) < torch.tensor([7, 3])[:, None]
    with record(layer) as whole:
        layer(x, source, keep=keep[:, None, None])
    with record(layer) as remembered:
        layer.read(x, layer.remember(source, keep))
    torch.testing.assert_close(remembered.only(), whole.only())
    assert not whole.only()[1, :, :, 3:].any()


def test_dropout_in_training_leaves_the_weights_whole(batch: tuple[Tensor, Tensor]) -> None:
    layer = Attention(heads=HEADS, dropout=0.6, mask=Causal()).build(WIDTH).train()
    torch.manual_seed(1)
    before = layer(batch[0])
    torch.manual_seed(1)
    with record(layer) as seen:
        during = layer(batch[0])
    assert torch.equal(before, during)
    torch.testing.assert_close(seen.only(), expected_weights(layer, batch[0]))


def test_a_mask_for_each_head_is_cut_to_the_asked_heads() -> None:
    matrix = torch.rand(2, HEADS, LENGTH, LENGTH) < 0.5
    layer, x = Attention(heads=HEADS, mask=Matrix(matrix)).build(WIDTH), torch.randn(2, LENGTH, WIDTH)
    with record(layer) as whole, record(layer, heads=[2, 1]) as some:
        layer(x)
    torch.testing.assert_close(some.only(), whole.only()[:, [2, 1]])


def test_only_wants_one_call_of_one_layer(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model, "*.own") as seen:
        model(*batch)
    with pytest.raises(UsageError, match="record: 2 layers were recorded in 2 calls; choose one by name"):
        seen.only()
    with record(model, "decoder.0.own") as seen:
        pass
    with pytest.raises(UsageError, match="record: 1 layers were recorded in 0 calls"):
        seen.only()


def test_a_pattern_that_matches_nothing_is_told() -> None:
    with (
        pytest.raises(
            UsageError, match=r"record: no layer matches 'encoder\.\*'; the model's are: decoder\.0\.own, decoder"
        ),
        record(Model(), "encoder.*"),
    ):
        pass
    with (
        pytest.raises(
            UsageError, match=r"record: no layer matches .*; the model's are: none: it has no attention layer"
        ),
        record(nn.Linear(2, 2)),
    ):
        pass


@pytest.mark.parametrize("head", [4, -5])
def test_a_head_that_is_not_there_is_told(batch: tuple[Tensor, Tensor], head: int) -> None:
    model = Model()
    with (
        pytest.raises(UsageError, match=f"attention: there is no head {head}; the layer has heads 0 … 3"),
        record(model, heads=[0, head]),
    ):
        model(*batch)


def test_a_row_that_is_not_there_is_told(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with (
        pytest.raises(UsageError, match="attention: there is no row 5; the layer has rows 0 … 4"),
        record(model, rows=[0, 5]),
    ):
        model(*batch)


def test_asking_for_no_rows_gives_none(batch: tuple[Tensor, Tensor]) -> None:
    model = Model()
    with record(model, "decoder.0.cross", rows=[]) as seen:
        model(*batch)
    assert seen.only().shape == (2, HEADS, 0, 7)


# Weights with their gradients


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (Attention(heads=2).build(8) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x), x)


def by_hand(model: Two, x: torch.Tensor, head: int) -> torch.Tensor:
    """softmax(Q Kᵀ / √d) of the second layer, from its projections alone."""
    query = model.second.projections.of_query(model.first(x)).unflatten(-1, (2, 4))[:, :, head]
    key = model.second.projections.of_source(x)[0].unflatten(-1, (2, 4))[:, :, head]
    return (query @ key.transpose(1, 2) / 2).softmax(-1)


def test_weights_and_their_gradients_are_those_of_the_definition() -> None:
    model, x = Two().double(), torch.randn(3, 5, 8, dtype=torch.float64)
    wanted = torch.randn(3, 5, 5, dtype=torch.float64)
    with watch(model, {"second": [1]}) as seen:
        model(x)
    (weights,) = seen["second"]
    assert weights.shape == (3, 1, 5, 5)
    right = by_hand(model, x, 1)
    torch.testing.assert_close(weights[:, 0], right)
    names = [name for name, _ in model.named_parameters()]
    ours, theirs = (
        torch.autograd.grad((made * wanted).sum(), list(model.parameters()), allow_unused=True)
        for made in (weights[:, 0], right)
    )
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert (one is None) == (other is None), name
        if one is not None and other is not None:
            torch.testing.assert_close(one, other)
    assert any(one is not None and one.abs().sum() > 0 for one in ours)


def test_nothing_stays_behind_and_every_call_is_seen() -> None:
    model, x = Two(), torch.randn(1, 3, 8)
    with watch(model, {"first": None}, within=torch.no_grad) as seen:
        model(x)
        model(x)
    model(x)
    assert [weights.shape for weights in seen["first"]] == [(1, 2, 3, 3)] * 2
    assert not any(weights.requires_grad for weights in seen["first"])
    assert not any(reading._forward_hooks for reading in attention_layers(model).values())


def test_a_layer_that_is_not_there_is_told() -> None:
    sentence = r"unknown 'frist' \(did you mean 'first'\?\); the model's attention layers are: first, second"
    with pytest.raises(UsageError, match=sentence), watch(Two(), {"frist": None}):
        pass

"""Heads that are taught links: the loss by its formula, what is learned, and that a guided run resumes exactly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.attention.record import watch
from regard.base.errors import ConfigError, UsageError
from regard.data.pairs import Batch, collate
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS
from regard.models.gpt import Gpt
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.models.writer import Writer
from regard.runs.artifact import Artifact
from regard.runs.folder import RunFolder
from regard.training.guide import Guide, Guided, distance
from regard.training.loss import LIKELIHOOD, CrossEntropy
from regard.training.optimizers.adam import Adam
from regard.training.schedules.constant import Constant
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer
from tests.training import examples

VOCABULARY, LENGTH = 14, 5
DESIGNS: dict[str, Any] = {
    "transformer": Transformer(
        encoder_layers=1, decoder_layers=2, width=16, feedforward=16, heads=2, dropout=0.0, tie="none"
    ),
    "luong": Seq2seq(width=16, dropout=0.1),
    "bahdanau": Seq2seq.preset("bahdanau", width=16, embedding=16, encoder_width=16),
}
LAYERS = {"transformer": "decoder.layers.0.cross", "luong": "decoder.cross", "bahdanau": "decoder.cross"}


def guide(**changes: Any) -> Guide:
    return Guide(**({"links": Path("links")} | changes))


def model(name: str) -> Writer:
    torch.manual_seed(1)
    built: Writer = DESIGNS[name].build(dict.fromkeys(DESIGNS[name].needs, VOCABULARY))
    return built


def batch(*numbers: int) -> Batch:
    """Random numbers, the target their reverse; linked is not what is equal, but what stands at the same place."""
    draw = np.random.default_rng(numbers)
    sources = [np.append(draw.integers(4, VOCABULARY, size=LENGTH), EOS) for _ in range(8)]
    targets = [np.append(source[-2::-1], EOS) for source in sources]
    return collate(sources, targets, [np.array([[at, at] for at in range(LENGTH)])] * 8)


def dense(weights: np.ndarray, links: np.ndarray, shift: int) -> float:
    """-Σ G log A with G as a matrix whose rows sum to 1, in float64."""
    total = 0.0
    for pair in range(len(weights)):
        given = np.zeros(weights.shape[2:])
        for _, target, source in links[links[:, 0] == pair]:
            given[target, source] = 1
        sums = given.sum(1, keepdims=True)
        given = np.divide(given, sums, out=np.zeros_like(given), where=sums > 0)
        for head in range(weights.shape[1]):
            moved = weights[pair, head, shift:]
            total -= (given[: len(moved)] * np.log(moved)).sum() / weights.shape[1]
    return total


LINKS = torch.tensor([[0, 0, 1], [0, 0, 3], [0, 2, 0], [2, 1, 1], [2, 1, 2], [2, 1, 3], [2, 3, 0]])


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("heads", [1, 3])
def test_the_loss_is_the_formula(shift: int, heads: int) -> None:
    weights = torch.randn(3, heads, 5, 4, dtype=torch.float64).softmax(-1)
    found = distance(weights, LINKS, shift)
    assert found.item() == pytest.approx(dense(weights.numpy(), LINKS.numpy(), shift), rel=1e-6)
    assert distance(weights, LINKS[:0], shift).item() == 0


@pytest.mark.parametrize("shift", [0, 1])
def test_the_gradient_is_that_of_cross_entropy(shift: int) -> None:
    """d/dlogit of -Σ G log softmax is, for a row whose G sums to 1, softmax - G; for another row, 0."""
    logits = torch.randn(3, 1, 5, 4, dtype=torch.float64, requires_grad=True)
    distance(logits.softmax(-1), LINKS, shift).backward()
    given = torch.zeros(3, 5, 4, dtype=torch.float64)
    for pair, target, source in LINKS.tolist():
        given[pair, target + shift, source] = 1
    sums = given.sum(-1, keepdim=True)
    given = given / sums.clamp(min=1)
    expected = torch.where(sums > 0, logits.detach()[:, 0].softmax(-1) - given, 0.0)
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad[:, 0], expected, atol=1e-6, rtol=1e-5)


def test_a_weight_of_zero_is_no_catastrophe() -> None:
    weights = torch.tensor([[[[1.0, 0.0]]]], requires_grad=True)
    found = distance(weights, torch.tensor([[0, 0, 1]]))
    found.backward()
    assert torch.isfinite(found)
    assert weights.grad is not None
    assert torch.isfinite(weights.grad).all()


@pytest.mark.parametrize("name", DESIGNS)
def test_the_total_is_both_losses(name: str) -> None:
    made, item, settings = model(name).eval(), batch(3), guide(weight=0.3)
    plain = examples.measured()
    loss = Guided(plain, settings)(made, item)
    with watch(made, {LAYERS[name]: [0]}) as seen:
        alone = plain(made, item)
    weights = torch.cat(seen[LAYERS[name]], 2)
    assert item.links is not None
    added = 0.3 * dense(weights.detach().double().numpy(), item.links.numpy(), 1)
    assert loss.total.item() == pytest.approx(alone.total.item() + added, rel=1e-5)
    assert loss.parts[LIKELIHOOD].item() == alone.parts[LIKELIHOOD].item()
    assert loss.count == alone.count


def test_without_links_it_is_the_plain_loss() -> None:
    made, item = model("transformer").eval(), batch(3)
    bare = collate([row[row != 0].numpy() for row in item.source], [row[row != 0].numpy() for row in item.target_out])
    plain = examples.measured()
    assert Guided(plain, guide())(made, bare).total.item() == plain(made, item).total.item()


def test_which_layer_learns() -> None:
    made = model("transformer")
    assert guide().layer_of(made) == "decoder.layers.0.cross"
    assert guide(layer="decoder.layers.1.cross").layer_of(made) == "decoder.layers.1.cross"
    assert guide().layer_of(model("luong")) == "decoder.cross"
    with pytest.raises(ConfigError, match=r"training\.guide\.layer: unknown 'decoder'; .* are: decoder\.layers\.0"):
        guide(layer="decoder").layer_of(made)
    with pytest.raises(UsageError, match=r"training\.guide: the model has no cross-attention"):
        guide().layer_of(Gpt(layers=1, width=8, heads=2).build({"text": 9}))
    said = guide(heads=(1, 0), shift=0).alignment(made)
    heads = [["decoder.layers.0.cross", 1], ["decoder.layers.0.cross", 0]]
    assert said == {"heads": heads, "shift": 0, "measure": "guided"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"heads": ()}, r"guide: heads must be the numbers of one head or more, but are \[\]"),
        ({"heads": (1, 1)}, r"but are \[1, 1\]"),
        ({"heads": (-1,)}, r"but are \[-1\]"),
        ({"weight": 0.0}, r"guide: weight must be more than 0, but is 0.0"),
    ],
)
def test_settings_that_make_no_sense(changes: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        guide(**changes)


# Learning


class Made:
    """Four batches an epoch."""

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Batch]]:
        position = position or BatchPosition()
        while True:
            yield position, batch(position.epoch, position.index)
            position = position.next(4)


def settings(steps: int) -> TrainingSettings:
    return TrainingSettings(
        steps=steps,
        optimizer=Adam(learning_rate=0.01),
        schedule=Constant(),
        validate_every=steps,
        checkpoint_every=7 if steps < 20 else steps,
    )


def train(folder: Path, name: str, steps: int, guided: Guide | None, until: int | None = None) -> Writer:
    made = model(name)
    artifact = Artifact(config={"model": {"name": "tiny"}}, task="translate", sizes={})
    place = examples.run_folder(folder)
    plain = examples.measured(CrossEntropy())
    objective = plain if guided is None else Guided(plain, guided)
    Trainer(made, Made(), settings(until or steps), place, objective=objective, artifact=artifact).run()
    return made


def agreement(made: Writer, name: str, shift: int) -> float:
    """The share of target tokens whose row looks most at the linked source token."""
    item = batch(99)
    with torch.no_grad(), watch(made.eval(), {LAYERS[name]: [0]}) as seen:
        made.hidden(item.source, item.source_lengths, item.target_in)
    weights = torch.cat(seen[LAYERS[name]], 2)[:, 0, shift : LENGTH + shift]
    return (weights.argmax(-1) == torch.arange(LENGTH)).float().mean().item()


@pytest.mark.parametrize(("name", "shift"), [("transformer", 1), ("luong", 0)])
def test_a_head_looks_where_it_is_told(name: str, shift: int, tmp_path: Path) -> None:
    guided = train(tmp_path / "guided", name, 100, guide(weight=1.0, shift=shift))
    free = train(tmp_path / "free", name, 100, None)
    assert agreement(guided, name, shift) > 0.9
    assert agreement(free, name, shift) < 0.6


def test_a_guided_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    one = guide(weight=0.5, shift=1)
    train(tmp_path / "whole", "transformer", 11, one)
    train(tmp_path / "parts", "transformer", 11, one, until=4)
    train(tmp_path / "parts", "transformer", 11, one)
    states = [RunFolder(tmp_path / name).checkpoints.read(11) for name in ("whole", "parts")]
    assert states[0].tensors.keys() == states[1].tensors.keys()
    assert all(torch.equal(tensor, states[1].tensors[name]) for name, tensor in states[0].tensors.items())

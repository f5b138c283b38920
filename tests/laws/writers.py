"""What holds for every model that writes tokens, whatever it is made of, and the sentences to try it on."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.layers.pointer_generator import PointerGenerator
from regard.models.model import Design
from regard.models.writer import Transducer, Writer

VOCABULARY = 20
SIZES = {"source": VOCABULARY, "target": VOCABULARY}
SOURCE_LENGTHS, TARGET_LENGTHS = torch.tensor([6, 2, 4]), torch.tensor([3, 5, 4])


def padded(lengths: Tensor, seed: int) -> Tensor:
    """Random sentences of these lengths, side by side."""
    tokens = torch.randint(4, VOCABULARY, (len(lengths), int(lengths.max())), generator=_generator(seed))
    return tokens.masked_fill(torch.arange(tokens.shape[1]) >= lengths[:, None], 0)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


SOURCE, TARGET = padded(SOURCE_LENGTHS, 1), padded(TARGET_LENGTHS, 2)


def made(design: Design, dtype: torch.dtype = torch.float64) -> Writer:
    """The model, nothing dropped."""
    return design.build(dict.fromkeys(design.needs, VOCABULARY)).to(dtype).eval()


def stirred(design: Design, dtype: torch.dtype = torch.float64) -> Writer:
    """The same with every weight away from where it starts, so that none of them is without effect."""
    return stir(made(design, dtype))


def stir(model: Writer) -> Writer:
    """Move every weight away from where it starts."""
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return model


def sources(model: Writer, rows: slice | Tensor = slice(None), room: int = 0) -> tuple[Tensor | None, Tensor | None]:
    """Some of the sources, with more padding than needed; nothing for a model without a source."""
    if not isinstance(model, Transducer):
        return None, None
    lengths = SOURCE_LENGTHS[rows]
    return F.pad(SOURCE[rows, : int(lengths.max())], (0, room)), lengths


def close(got: Tensor, expected: Tensor, tolerance: float | None = None) -> None:
    """Equal but for rounding: some thousands of the last bits of the largest number that is compared."""
    tolerance = 4096 * torch.finfo(expected.dtype).eps if tolerance is None else tolerance
    size = max(1.0, float(expected.detach().abs().max()))
    torch.testing.assert_close(got, expected, atol=tolerance * size, rtol=0)


def steps_are_all_at_once(model: Writer, beams: int = 2) -> None:
    """Token by token, in several rows a sentence that each go their own way, as teacher forcing has it."""
    targets = torch.stack([padded(TARGET_LENGTHS, seed) for seed in range(beams)], dim=1)
    source, lengths = sources(model)
    with torch.no_grad():
        expected = torch.stack([model(source, lengths, target) for target in targets.unbind(1)], dim=1)
        state = model.start(source, lengths, rows=len(TARGET)).spread(beams)
        for t in range(TARGET.shape[1]):
            logits, state = model.step(targets[:, :, t].flatten(), state)
            close(logits.unflatten(0, (-1, beams)), expected[:, :, t])


def rows_can_be_moved(model: Writer) -> None:
    """Picking rows and sentences gives what a search that had only those would have; a state stays as it was."""
    source, lengths = sources(model)
    first, second, third = TARGET[:, 0], TARGET[:, 1], TARGET[:, 2]
    with torch.no_grad():
        _, before = model.step(first, model.start(source, lengths, rows=3))
        spread = before.spread(2)
        assert (spread.sentences, spread.beams) == (3, 2)
        _, state = model.step(torch.stack([second, third], dim=1).flatten(), spread)
        swapped = state.reorder(torch.tensor([1, 1, 3, 2, 5, 4])).keep(torch.tensor([2, 0]))
        assert (swapped.sentences, swapped.beams) == (2, 2)
        logits, _ = model.step(torch.tensor([7, 8, 9, 10]), swapped)
        paths = [(2, third, 7), (2, second, 8), (0, third, 9), (0, third, 10)]
        for got, (row, then, last) in zip(logits, paths, strict=True):
            text = torch.stack([first[row], then[row], torch.tensor(last)])[None]
            close(got, model(*sources(model, slice(row, row + 1)), text)[0, -1])
        again, _ = model.step(torch.stack([second, third], dim=1).flatten(), spread)
        once, _ = model.step(second, before)
        close(again[::2], once)


def company_changes_nothing(model: Writer) -> None:
    """A sentence alone, in a batch, in another order, or with more padding, whatever that holds: the same states."""
    order = torch.tensor([2, 0, 1])
    with torch.no_grad():
        together = _states(model, *sources(model), TARGET)
        moved = _states(model, *sources(model, order), TARGET[order])[order.argsort()]
        filled = _states(model, *_filled(model), noisy(F.pad(TARGET, (0, 2)), TARGET_LENGTHS))
        for row, length in enumerate(TARGET_LENGTHS.tolist()):
            here = slice(row, row + 1)
            alone = _states(model, *sources(model, here), TARGET[here, :length])
            for other in (together, moved, filled):
                close(other[here, :length], alone)


def _states(model: Writer, *given: Tensor | None) -> Tensor:
    """The hidden states; what a pointer-generator gathers is as wide as the source, so its log-probabilities."""
    return model(*given) if isinstance(model.output, PointerGenerator) else model.hidden(*given)


def _filled(model: Writer) -> tuple[Tensor | None, Tensor | None]:
    source, lengths = sources(model, room=3)
    return (None, None) if source is None or lengths is None else (noisy(source, lengths), lengths)


def noisy(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Other tokens where there is padding."""
    padding = torch.arange(tokens.shape[1]) >= lengths[:, None]
    return torch.where(padding, torch.randint_like(tokens, 4, VOCABULARY), tokens)


def nothing_forbidden_is_seen(model: Writer, reach: Tensor | None = None) -> None:
    """Logits depend on no later token, on no padding and on no other sentence, and on the token just read.

    `reach` [target, target] says more narrowly which tokens may be seen from which.
    """
    source, lengths = sources(model, room=1)
    target = noisy(F.pad(TARGET, (0, 1)), TARGET_LENGTHS)
    with vectors_of(model) as seen:
        logits = model(source, lengths, target)
    read = [] if source is None else seen(source)
    written = seen(target)
    places = range(target.shape[1])
    reach = torch.ones(len(places), len(places)).tril().bool() if reach is None else reach
    for t in places:
        ways = gradients(logits[:, t], read + written)
        for gradient in ways[len(read) :]:
            assert not gradient[:, ~reach[t]].any(), f"token {t} sees what it may not"
            assert gradient[:, t].any(-1).all(), f"token {t} does not see itself"
        for gradient in ways[: len(read)]:
            assert lengths is not None
            padding = torch.arange(gradient.shape[1]) >= lengths[:, None]
            assert not gradient[padding].any(), "padding of the source is seen"
            assert gradient.any(-1).any(-1).all(), "nothing of the source is seen"
    for gradient in gradients(logits[1], read + written):
        assert not gradient[[0, 2]].any(), "another sentence is seen"


def gradients(outputs: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Of a sum in which nothing cancels by chance."""
    total = (outputs * torch.randn_like(outputs)).sum()
    return list(torch.autograd.grad(total, inputs, retain_graph=True))


@contextmanager
def vectors_of(model: nn.Module) -> Iterator["Seen"]:
    """The vectors that embeddings give for tokens while the model computes, so that gradients can be asked for."""
    seen = Seen()
    hooks = [part.register_forward_hook(seen.hook) for part in model.modules() if isinstance(part, nn.Embedding)]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


class Seen:
    """The outputs of embeddings, by the tokens that went in."""

    def __init__(self) -> None:
        self._calls: list[tuple[Tensor, Tensor]] = []

    def hook(self, part: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        """Called by torch after each embedding."""
        self._calls.append((given[0], output))

    def __call__(self, tokens: Tensor) -> list[Tensor]:
        """The vectors of these tokens, one tensor for each embedding that they went through."""
        found = [output for given, output in self._calls if torch.equal(given, tokens)]
        assert found, "the tokens went through no nn.Embedding"
        return found


def loss(model: Writer) -> Tensor:
    """Mean cross-entropy of the tokens that follow."""
    logits = model(*sources(model), TARGET[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), TARGET[:, 1:].flatten(), ignore_index=0)


def every_weight_learns(model: Writer) -> None:
    """No parameter is left without a gradient; save of experts, to whom none of so few tokens may be sent."""
    loss(model.train()).backward()
    idle = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert [name for name in idle if ".experts." not in name] == []


def a_few_sentences_are_learned(design: Design, rate: float = 0.01, steps: int = 40) -> None:
    """The loss falls to a fraction in a few steps."""
    model = made(design, torch.float32).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()
        if step % 10 == 9 and loss(model.eval()).item() < 0.3:
            return
        model.train()
    assert loss(model.eval()).item() < 0.3

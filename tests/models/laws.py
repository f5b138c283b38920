"""What every model must keep to, whatever it is made of."""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.model import Design, Model

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


def made(design: Design, dtype: torch.dtype = torch.float64) -> Model:
    """The model, nothing dropped."""
    return design.build(dict.fromkeys(design.needs, VOCABULARY)).to(dtype).eval()


def sources(model: Model, rows: slice = slice(None), room: int = 0) -> tuple[Tensor | None, Tensor | None]:
    """Some of the sources, with more padding than needed; nothing for a model without a source."""
    if not model.has_source:
        return None, None
    lengths = SOURCE_LENGTHS[rows]
    return F.pad(SOURCE[rows, : int(lengths.max())], (0, room)), lengths


def steps_are_all_at_once(model: Model, tolerance: float = 1e-10, beams: int = 2) -> None:
    """Token by token, in several rows a sentence that each go their own way, as teacher forcing has it."""
    targets = torch.stack([padded(TARGET_LENGTHS, seed) for seed in range(beams)], dim=1)
    source, lengths = sources(model)
    expected = torch.stack([model(source, lengths, target) for target in targets.unbind(1)], dim=1)
    with torch.no_grad():
        state = model.start(source, lengths, rows=len(TARGET)).spread(beams)
        for t in range(TARGET.shape[1]):
            logits, state = model.step(targets[:, :, t].flatten(), state)
            got = logits.unflatten(0, (-1, beams))
            torch.testing.assert_close(got, expected[:, :, t], atol=tolerance, rtol=tolerance)


def rows_can_be_moved(model: Model) -> None:
    """Picking rows and sentences gives what a search that had only those would have."""
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
            alone = model(*sources(model, slice(row, row + 1)), text)[0, -1]
            torch.testing.assert_close(got, alone, atol=1e-10, rtol=1e-10)
        again, _ = model.step(torch.stack([second, third], dim=1).flatten(), spread)
        once, _ = model.step(second, before)
        torch.testing.assert_close(again[::2], once, atol=1e-10, rtol=1e-10)


def company_changes_nothing(model: Model, tolerance: float = 1e-10) -> None:
    """A sentence alone, in a batch, or with more padding: the same hidden states."""
    together = model.hidden(*sources(model), TARGET)
    roomy = model.hidden(*sources(model, room=3), F.pad(TARGET, (0, 2)))
    for row, length in enumerate(TARGET_LENGTHS.tolist()):
        here = slice(row, row + 1)
        alone = model.hidden(*sources(model, here), TARGET[here, :length])
        for other in (together, roomy):
            torch.testing.assert_close(other[here, :length], alone, atol=tolerance, rtol=tolerance)


def the_past_alone_is_seen(model: Model) -> None:
    """A token changes nothing before it, and something after it."""
    before = model(*sources(model), TARGET)
    changed = TARGET.clone()
    changed[:, 2] = (changed[:, 2] - 4 + 1) % (VOCABULARY - 4) + 4
    after = model(*sources(model), changed)
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert (after[:, 2] - before[:, 2]).abs().max() > 1e-6


def every_weight_learns(model: Model) -> None:
    """No parameter is left without a gradient."""
    loss(model.train()).backward()
    idle = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert idle == []


def loss(model: Model) -> Tensor:
    """Mean cross-entropy of the tokens that follow."""
    logits = model(*sources(model), TARGET[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), TARGET[:, 1:].flatten(), ignore_index=0)


def a_few_sentences_are_learned(design: Design, rate: float = 0.01, steps: int = 40) -> None:
    """The loss falls to a fraction in a few steps."""
    model = made(design, torch.float32).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()
    assert loss(model).item() < 0.3

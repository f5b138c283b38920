"""What holds for every model that gives features of texts, whatever it is made of."""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.model import Encoder
from regard.models.pictured import PictureModel

from .writers import SOURCE, SOURCE_LENGTHS, VOCABULARY, close, gradients, noisy, vectors_of


def company_changes_nothing(model: Encoder) -> None:
    """A text alone, in a batch, in another order, or with more padding, whatever that holds: the same features."""
    order = torch.tensor([2, 0, 1])
    with torch.no_grad():
        together, keep = model.encode(SOURCE, SOURCE_LENGTHS)
        assert torch.equal(keep, _real(SOURCE))
        moved = model.encode(SOURCE[order], SOURCE_LENGTHS[order])[0][order.argsort()]
        filled, keep = model.encode(noisy(F.pad(SOURCE, (0, 2)), SOURCE_LENGTHS), SOURCE_LENGTHS)
        assert torch.equal(keep, _real(F.pad(SOURCE, (0, 2))))
        for row, length in enumerate(SOURCE_LENGTHS.tolist()):
            here = slice(row, row + 1)
            alone, _ = model.encode(SOURCE[here, :length], SOURCE_LENGTHS[here])
            for other in (together, moved, filled):
                close(other[here, :length], alone)


def nothing_forbidden_is_seen(model: Encoder) -> None:
    """Features depend on no padding and on no other text, and on their own token."""
    source = noisy(F.pad(SOURCE, (0, 1)), SOURCE_LENGTHS)
    with vectors_of(model) as seen:
        features, _ = model.encode(source, SOURCE_LENGTHS)
    keep = _real(source)
    for at in range(int(SOURCE_LENGTHS.max())):
        rows = keep[:, at]
        for gradient in gradients(features[rows, at], seen(source)):
            assert not gradient[~keep].any(), "padding is seen"
            assert gradient[rows, at].any(-1).all(), f"token {at} does not see itself"
    for gradient in gradients(features[1, : SOURCE_LENGTHS[1]], seen(source)):
        assert not gradient[[0, 2]].any(), "another text is seen"


def other_pictures_change_nothing(model: PictureModel, sees: str = "all") -> None:
    """A picture alone, in a batch, or in another order: the same logits, and no gradient from another picture.

    A model without a mask sees all of a picture; with one, its class token may see some of it or nothing.
    """
    pictures = torch.randn(3, VOCABULARY, VOCABULARY, VOCABULARY).double().requires_grad_()
    together, order = model(pictures), torch.tensor([2, 0, 1])
    close(model(pictures[order]), together[order])
    for row in range(3):
        close(model(pictures[row : row + 1]), together[row : row + 1])
    (gradient,) = torch.autograd.grad(together[1].sum(), pictures)
    assert not gradient[[0, 2]].any(), "another picture is seen"
    assert sees != "all" or gradient[1].any((0, 1)).all(), "a column of the picture is not seen"


def _real(tokens: Tensor) -> Tensor:
    return torch.arange(tokens.shape[1]) < SOURCE_LENGTHS[:, None]

"""The parts of a model as ONNX can have them: as they are, as the same formula in other operations, or refused."""

import torch
from torch import Tensor, nn

from regard.attention.positions.transformer_xl import DistanceWeights
from regard.attention.reading import Reading
from regard.base.errors import UsageError
from regard.layers.feeds.experts import Mixture
from regard.layers.rms_norm import RmsNorm
from regard.models.writer import Writer

_UNTRACED: dict[type[nn.Module], tuple[str, str]] = {
    Mixture: ("feed", "experts"),
    DistanceWeights: ("positions", "transformer_xl"),
}
"""parts whose operations depend on the values or the lengths that they are traced with, and their settings"""


class SpelledRms(nn.Module):
    """RMSNorm in operations that ONNX has: x / √(mean(x²) + ε) · weight."""

    def __init__(self, norm: nn.RMSNorm) -> None:
        super().__init__()
        self.weight, self.eps = norm.weight, norm.eps

    def forward(self, x: Tensor) -> Tensor:
        """The formula."""
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        normed = x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
        return normed if self.weight is None else normed * self.weight


def prepare(model: Writer, where: str) -> None:
    """Change the model so that it can be traced; a part that cannot be is refused by the name of its setting."""
    for part in list(model.modules()):
        if type(part) in _UNTRACED:
            setting, chosen = _UNTRACED[type(part)]
            raise UsageError(f"{where}: model.{setting} is '{chosen}', which ONNX cannot compute at every length")
        if isinstance(part, Reading):
            part.backend = "plain"  # the definition: whatever the sizes are, the same operations
        for name, child in part.named_children():
            if type(child) is RmsNorm:
                setattr(part, name, SpelledRms(child).train(child.training))

"""The precision of large matrix products at inference: float32, or int8 quantization."""

from torch import nn

from regard.base.errors import UsageError, unknown
from regard.layers.inference.int8 import Int8Linear
from regard.layers.inference.prepacked import Prepacked
from regard.layers.output import LinearOutput, ScaledOutput

PRECISIONS: dict[str, type[Prepacked | Int8Linear]] = {"float32": Prepacked, "int8": Int8Linear}

_KNOWN: dict[str, tuple[type, ...]] = {
    "float32": (nn.Linear, LinearOutput, ScaledOutput),
    "int8": (nn.Linear, LinearOutput),
}

LEAST = 500_000
"""matrices with fewer weights stay as they are, which is faster for them"""


def in_precision(model: nn.Module, precision: str) -> nn.Module:
    """Replace the model's large linear layers by ones that compute in this precision."""
    if precision not in PRECISIONS:
        raise UsageError(unknown("precision", precision, PRECISIONS, "precisions"))
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and type(child) in _KNOWN[precision] and child.weight.numel() >= LEAST:
                setattr(module, name, PRECISIONS[precision](child))
    return model

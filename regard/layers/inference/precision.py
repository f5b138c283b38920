"""How a model that no longer learns computes its large products: in float32, or in whole numbers of 8 bits."""

from torch import nn

from regard.base.errors import UsageError, unknown
from regard.layers.inference.int8 import Int8Linear
from regard.layers.inference.prepacked import Prepacked
from regard.layers.output import LinearOutput

PRECISIONS: dict[str, type[Prepacked | Int8Linear]] = {"float32": Prepacked, "int8": Int8Linear}

_KNOWN = (nn.Linear, LinearOutput)

LEAST = 500_000
"""smaller matrices stay as they are, which is faster for them"""


def in_precision(model: nn.Module, precision: str) -> nn.Module:
    """The model with its large linear maps replaced by ones that compute in this precision."""
    if precision not in PRECISIONS:
        raise UsageError(unknown("precision", precision, PRECISIONS, "precisions"))
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and type(child) in _KNOWN and child.weight.numel() >= LEAST:
                setattr(module, name, PRECISIONS[precision](child))
    return model

"""The structures of the compiled decoder (`products.h`, `decoder.c`, `search.c`), and weights packed for it."""

import ctypes

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

_POINTER, _COUNT, _FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float


class LinearWeights(ctypes.Structure):
    """`Linear`."""

    _fields_ = (("weight", _POINTER), ("bias", _POINTER), ("inputs", _COUNT), ("outputs", _COUNT))


class NormWeights(ctypes.Structure):
    """`Norm`."""

    _fields_ = (("gain", _POINTER), ("shift", _POINTER), ("epsilon", _FLOAT))


class AttentionWeights(ctypes.Structure):
    """`Attention`."""

    _fields_ = (
        *((name, LinearWeights) for name in ("query", "pair", "merge")),
        ("norm", NormWeights),
        ("scale", _FLOAT),
    )


class LayerWeights(ctypes.Structure):
    """`Layer`."""

    _fields_ = (
        ("own", AttentionWeights),
        ("source", AttentionWeights),
        ("inner", LinearWeights),
        ("outer", LinearWeights),
        ("norm", NormWeights),
    )


class StackWeights(ctypes.Structure):
    """`Stack`."""

    _fields_ = (
        ("layers", ctypes.POINTER(LayerWeights)),
        ("table", _POINTER),
        *((name, _COUNT) for name in ("count", "width", "heads", "hidden", "reads", "before", "activation")),
        *((name, _COUNT) for name in ("pair", "rms", "gated", "turned")),
        ("scale", _FLOAT),
        ("last", NormWeights),
    )


class BeamState(ctypes.Structure):
    """`Beam`."""

    _fields_ = (
        *((name, _COUNT) for name in ("size", "count", "best", "enough", "end")),
        *((name, _POINTER) for name in ("most", "ceiling", "bar", "ranks", "ended", "sentences", "score")),
    )


ACTIVATION_CODES = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3}
"""as `decoder.c` numbers them"""
FINISHED = np.dtype([("sentence", "i4"), ("row", "i4"), ("value", "f4"), ("score", "f4"), ("rank", "f4")])
"""`Finished`"""
CANDIDATE_BYTES = 16
"""of a `Candidate`"""


class Packer:
    """Packs weights into panels of as many outputs as two vectors hold, and keeps what the structures point to."""

    def __init__(self, lanes: int) -> None:
        self.wide = 2 * lanes
        self.kept: list[Tensor] = []

    def pointer(self, tensor: Tensor) -> int:
        """The address of a tensor that is kept."""
        self.kept.append(tensor)
        return tensor.data_ptr()

    def linear(self, weight: Float[Tensor, "outputs inputs"], bias: Tensor | None) -> LinearWeights:
        """W and b, as `products.h` describes; zeros fill up the last panel, and stand for a bias that is not there."""
        outputs, inputs = weight.shape
        more = -outputs % self.wide
        bias = weight.new_zeros(outputs) if bias is None else bias
        panels = pad(weight.detach(), (0, 0, 0, more)).view(-1, self.wide, inputs).transpose(1, 2)
        packed = self.pointer(panels.clone(memory_format=torch.contiguous_format))
        return LinearWeights(packed, self.pointer(pad(bias.detach(), (0, more)).clone()), inputs, outputs)

    def norm(self, width: int, gain: Tensor | None, shift: Tensor | None, epsilon: float) -> NormWeights:
        """The weights of a LayerNorm or, without a shift, of an RMSNorm."""
        sides = (torch.ones(width) if gain is None else gain, torch.zeros(width) if shift is None else shift)
        return NormWeights(*(self.pointer(side.detach().clone()) for side in sides), epsilon)

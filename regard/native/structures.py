"""The structures of the compiled decoder (`products.h`, `decoder.c`, `search.c`), and weights packed for it."""

import ctypes

import numpy as np
from jaxtyping import Float

from regard.native.library import address

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
        *((name, _COUNT) for name in ("pair", "rms", "gated", "turned", "biased")),
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
        self.kept: list[np.ndarray] = []

    def pointer(self, array: np.ndarray) -> int:
        """The address of an array that is kept."""
        self.kept.append(array)
        return address(array)

    def linear(self, weight: Float[np.ndarray, "outputs inputs"], bias: np.ndarray | None) -> LinearWeights:
        """W and b, as `products.h` describes; zeros fill up the last panel, and stand for a bias that is not there."""
        outputs, inputs = weight.shape
        more = -outputs % self.wide
        shift = np.zeros(outputs + more, np.float32)
        if bias is not None:
            shift[:outputs] = bias
        panels = np.pad(weight, ((0, more), (0, 0))).reshape(-1, self.wide, inputs).transpose(0, 2, 1)
        return LinearWeights(self.pointer(panels.copy()), self.pointer(shift), inputs, outputs)

    def norm(self, width: int, gain: np.ndarray | None, shift: np.ndarray | None, epsilon: float) -> NormWeights:
        """The weights of a LayerNorm or, without a shift, of an RMSNorm."""
        sides = (np.ones(width) if gain is None else gain, np.zeros(width) if shift is None else shift)
        return NormWeights(*(self.pointer(side.astype(np.float32)) for side in sides), epsilon)

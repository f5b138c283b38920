"""The structures of the compiled decoder (`products.h`, `decoder.c`, `search.c`), and weights packed for it."""

import ctypes

import numpy as np
from jaxtyping import Float, Int8

from regard.native.library import address

_POINTER, _COUNT, _FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float


class LinearWeights(ctypes.Structure):
    """`Linear`."""

    _fields_ = (
        *(("weight", _POINTER), ("bias", _POINTER), ("inputs", _COUNT), ("outputs", _COUNT)),
        *((name, _POINTER) for name in ("bytes", "scale", "start")),
    )


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


class SearchState(ctypes.Structure):
    """`Search`."""

    _fields_ = (
        *((name, _POINTER) for name in ("stack", "output", "own", "ids", "banned", "places", "steps", "counts")),
        *((name, _POINTER) for name in ("ancestry", "after", "source", "all_first", "all_length", "first", "length")),
        *((name, _POINTER) for name in ("space", "x", "block", "norm", "ending", "logits", "found", "made", "next")),
        *((name, _POINTER) for name in ("newest", "tokens", "parents", "values", "finished", "most", "ceiling")),
        *((name, _POINTER) for name in ("bar", "ranks", "ended", "going", "score")),
        *((name, _COUNT) for name in ("words", "banned_count", "place_step", "room", "source_rows", "keys", "rows")),
        *((name, _COUNT) for name in ("size", "count", "best", "enough", "end", "sentences", "beams", "step", "ends")),
        ("penalty", ctypes.c_double),
    )


ACTIVATION_CODES = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3}
"""as `decoder.c` numbers them"""
FINISHED = np.dtype(
    [*((name, "i4") for name in ("sentence", "step", "row")), *((name, "f4") for name in ("value", "score", "rank"))]
)
"""`Finished`"""
LARGEST_BYTE, MIDDLE_BYTE = 127, 128
"""inputs that meet quantized weights are whole numbers up to the first, shifted by the second"""
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
        panels = self._filled(weight).reshape(-1, self.wide, inputs).transpose(0, 2, 1)
        return LinearWeights(self.pointer(panels.copy()), self._bias(outputs, bias), inputs, outputs)

    def quantized(
        self, weight: Int8[np.ndarray, "outputs inputs"], scale: Float[np.ndarray, "outputs"], bias: np.ndarray | None
    ) -> LinearWeights:
        """W8, at most 63, its scale for each output, and b."""
        outputs, inputs = weight.shape
        fours = np.pad(self._filled(weight), ((0, 0), (0, -inputs % 4))).reshape(-1, self.wide, -(-inputs // 4), 4)
        return LinearWeights(
            bias=self._bias(outputs, bias),
            inputs=inputs,
            outputs=outputs,
            bytes=self.pointer(fours.transpose(0, 2, 1, 3).copy()),
            scale=self.pointer(self._filled(scale / np.float32(LARGEST_BYTE)).astype(np.float32)),
            start=self.pointer(self._filled(weight.sum(1, dtype=np.int32) * np.int32(-MIDDLE_BYTE))),
        )

    def _filled(self, array: np.ndarray) -> np.ndarray:
        """With zeros for the missing outputs of the last panel."""
        return np.pad(array, ((0, -len(array) % self.wide), *[(0, 0)] * (array.ndim - 1)))

    def _bias(self, outputs: int, bias: np.ndarray | None) -> int:
        return self.pointer(self._filled(np.zeros(outputs, np.float32) if bias is None else bias.astype(np.float32)))

    def norm(self, width: int, gain: np.ndarray | None, shift: np.ndarray | None, epsilon: float) -> NormWeights:
        """The weights of a LayerNorm or, without a shift, of an RMSNorm."""
        sides = (np.ones(width) if gain is None else gain, np.zeros(width) if shift is None else shift)
        return NormWeights(*(self.pointer(side.astype(np.float32)) for side in sides), epsilon)

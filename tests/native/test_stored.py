"""Structures come back with the same numbers, and point to the arrays that came back with them."""

import ctypes

import numpy as np

from regard.native.library import address
from regard.native.stored import described, restored
from regard.native.structures import AttentionWeights, LayerWeights, LinearWeights, NormWeights, Packer, StackWeights


def test_a_stack_comes_back() -> None:
    packer, random = Packer(4), np.random.default_rng(0)

    def linear(outputs: int, inputs: int) -> LinearWeights:
        return packer.linear(random.standard_normal((outputs, inputs), np.float32), None)

    def attention() -> AttentionWeights:
        norm = packer.norm(8, None, None, 1e-5)
        return AttentionWeights(query=linear(8, 8), pair=linear(16, 8), merge=linear(8, 8), norm=norm, scale=0.5)

    layers = (LayerWeights * 2)(*(LayerWeights(own=attention(), inner=linear(12, 8)) for _ in range(2)))
    stack = StackWeights(layers=layers, count=2, width=8, scale=1.5, last=NormWeights())
    table = described(stack, {address(one): at for at, one in enumerate(packer.kept)})
    copies = [one.copy() for one in packer.kept]
    again = restored(StackWeights, table, copies)
    assert (again.count, again.width, again.scale, again.table) == (2, 8, 1.5, None)
    assert described(again, {address(one): at for at, one in enumerate(copies)}) == table
    inner = again.layers[1].inner
    panels = np.ctypeslib.as_array(ctypes.cast(inner.weight, ctypes.POINTER(ctypes.c_float)), (2 * 8 * 8,))
    assert np.array_equal(panels, packer.kept[table["layers"][1]["inner"]["weight"]].ravel())
    assert again.layers[0].source.merge.weight is None

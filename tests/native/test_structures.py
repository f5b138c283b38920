"""Weights are packed as `products.h` describes."""

import ctypes

import numpy as np

from regard.native.library import address
from regard.native.structures import FINISHED, Packer


def test_panels_have_the_outputs_side_by_side_and_zeros_behind_the_last() -> None:
    random = np.random.default_rng(0)
    weight, bias = random.standard_normal((10, 3), np.float32), random.standard_normal(10, np.float32)
    packer = Packer(lanes=4)
    made = packer.linear(weight, bias)
    panels, biases = packer.kept
    assert (made.inputs, made.outputs, made.weight, made.bias) == (3, 10, address(panels), address(biases))
    assert panels.shape == (2, 3, 8)
    assert np.array_equal(panels[1, :, 1], weight[9])
    assert not panels[1, :, 2:].any()
    assert np.array_equal(biases[:10], bias)
    assert not biases[10:].any()


def test_bytes_stand_in_fours_with_zeros_behind_the_last_input() -> None:
    weight = np.random.default_rng(0).integers(-63, 64, (10, 6), np.int8)
    packer = Packer(lanes=4)
    made = packer.quantized(weight, np.arange(1, 11, dtype=np.float32), None)
    bias, panels, scale, start = packer.kept
    assert (made.inputs, made.outputs, made.weight, made.bytes) == (6, 10, None, address(panels))
    assert panels.shape == (2, 2, 8, 4)
    assert panels[1, :, 1].flatten().tolist() == [*weight[9].tolist(), 0, 0]
    assert not panels[1, :, 2:].any() and not bias.any()
    assert scale[:10].tolist() == [np.float32(at) / np.float32(127) for at in range(1, 11)]
    assert start[:10].tolist() == (-128 * weight.astype(int).sum(1)).tolist()


def test_what_is_not_there_adds_nothing() -> None:
    packer = Packer(lanes=4)
    packer.linear(np.ones((8, 3), np.float32), None)
    assert not packer.kept[1].any()
    norm = packer.norm(3, None, None, 0.5)
    assert packer.kept[2].tolist() == [1, 1, 1]
    assert packer.kept[3].tolist() == [0, 0, 0]
    assert norm.epsilon == 0.5


def test_a_finished_hypothesis_is_as_large_as_in_c() -> None:
    assert FINISHED.itemsize == 6 * ctypes.sizeof(ctypes.c_int32)

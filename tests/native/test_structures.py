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


def test_what_is_not_there_adds_nothing() -> None:
    packer = Packer(lanes=4)
    packer.linear(np.ones((8, 3), np.float32), None)
    assert not packer.kept[1].any()
    norm = packer.norm(3, None, None, 0.5)
    assert packer.kept[2].tolist() == [1, 1, 1]
    assert packer.kept[3].tolist() == [0, 0, 0]
    assert norm.epsilon == 0.5


def test_a_finished_hypothesis_is_as_large_as_in_c() -> None:
    assert FINISHED.itemsize == 5 * ctypes.sizeof(ctypes.c_int32)

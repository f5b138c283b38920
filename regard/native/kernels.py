"""Compiled kernels for decoding on a CPU, with torch as the fallback that gives the same answers up to rounding.

`kernels()` gives the kernels of this processor, or None: without a compiler, with `REGARD_NATIVE=0`, or where they fail
their own test. torch says which instructions the processor has, so `ATEN_CPU_CAPABILITY` limits both.
"""

import ctypes
import os
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.processor import held_below
from regard.native.library import Library, announced

NATIVE_SWITCH = "REGARD_NATIVE"
_CAPABILITIES = {"AVX512": "avx512", "AVX2": "avx2"}
_VNNI = "AVX512_CORE_VNNI"
_COUNT = ctypes.c_int64
_FEW = 16
"""queries of a sentence; for more of them, torch's product of matrices is faster"""


class Kernels(Library):
    """The functions of a compiled library for tensors; the caller checks with `fits` that these are what they take."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        found = self.library
        self._log_sum_exp, self._best, self._attend = found.log_sum_exp, found.best_of_all, found.attend

    def log_sum_exp(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows"]:
        """log Σ exp of each row."""
        made = logits.new_empty(len(logits))
        self._log_sum_exp(logits.data_ptr(), *logits.shape, made.data_ptr())
        return made

    def best_of_all(
        self, logits: Float[Tensor, "rows vocabulary"], shift: Float[Tensor, "groups beams"], count: int
    ) -> tuple[
        Float[Tensor, "groups count"],
        Float[Tensor, "groups count"],
        Int[Tensor, "groups count"],
        Int[Tensor, "groups count"],
    ]:
        """As `top_of_all`: of logits + shift, the `count` largest of each group, their logits, beams and tokens."""
        groups, beams = shift.shape
        sums, values = logits.new_empty(2, groups, count).unbind()
        beam, token = torch.empty(2, groups, count, dtype=torch.long).unbind()
        made = [one.data_ptr() for one in (sums, values, beam, token)]
        self._best(logits.data_ptr(), shift.data_ptr(), groups, beams, logits.shape[1], count, *made)
        return sums, values, beam, token

    def attend(
        self,
        query: Float[Tensor, "sentences heads beams width"],
        key: Float[Tensor, "sentences key_heads keys width"],
        value: Float[Tensor, "sentences key_heads keys width"],
        bias: Float[Tensor, "sentences head_masks masks keys"],
        scale: float,
    ) -> Float[Tensor, "rows merged"]:
        """softmax(query keyᵀ · scale + bias) value; the bias is for all beams or heads, or each has its own.

        A key that one head does not see, where the bias is -∞, is seen by none. Several query heads may share a key
        head.
        """
        sentences, heads, beams, width = query.shape
        keys, shared = key.shape[2], heads // key.shape[1]
        made, space = query.new_empty(sentences * beams, heads * width), query.new_empty(2 * keys)
        apart = (bias.stride(axis) if bias.shape[axis] > 1 else 0 for axis in (2, 1))
        places = (bias.stride(0), *apart)
        self._attend(
            *(query.data_ptr(), _steps(query.stride()), key.data_ptr(), _steps(key.stride())),
            *(value.data_ptr(), _steps(value.stride()), bias.data_ptr(), _steps(places)),
            *(sentences, heads, shared, beams, keys, width, scale, space.data_ptr(), made.data_ptr()),
        )
        return made

    def can_attend(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> bool:
        """Whether `attend` takes these."""
        small = 0 < query.shape[2] <= _FEW and key.shape[2] > 0 and query.shape[3] % self.lanes == 0
        return small and all(is_plain_float(one) and one.stride(-1) == 1 for one in (query, key, value, bias))


def is_plain_float(tensor: Tensor) -> bool:
    """Whether a tensor holds float32 on the CPU, with no gradient to follow."""
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and not torch.is_grad_enabled()


@cache
def kernels() -> Kernels | None:
    """The kernels for this processor; None where torch computes."""
    if os.environ.get(NATIVE_SWITCH) == "0" or os.name != "posix":
        return None
    try:
        made = Kernels(best_kind())
    except RegardError:
        return None
    return made if works(made) else None


def best_kind() -> str:
    """The best instruction set that torch finds here; bytes are multiplied by VNNI unless oneDNN is held to less."""
    kind = _CAPABILITIES.get(torch.backends.cpu.get_cpu_capability(), "plain")
    return "avx512vnni" if kind == "avx512" and announced("avx512vnni") and not held_below(_VNNI) else kind


def works(made: Kernels) -> bool:
    """Whether the kernels compute what torch computes: a compiler may be wrong."""
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        x = torch.arange(4 * 70, dtype=torch.float32).mul_(0.37).sin_().mul_(9).view(4, 70)
        shift = x[:2, :2].contiguous()
        sums = (x.view(2, 2, 70) + shift[:, :, None]).view(2, -1).topk(3)
        found = made.best_of_all(x, shift, 3)
        picked = torch.equal(found[0], sums.values) and torch.equal(found[2] * 70 + found[3], sums.indices)
        query, key, value = x[:3, :64].reshape(3, 2, 1, 2, 16).unbind()
        bias = x.new_zeros(2, 1, 1, 2)
        bias[1, 0, 0, 0] = -torch.inf
        read = torch.nn.functional.scaled_dot_product_attention(query, key, value, bias, scale=0.1)
        attended = made.attend(query, key, value, bias, 0.1)
        near = torch.allclose(attended, read.transpose(1, 2).reshape(4, -1), atol=1e-4)
        near = near and _shares_keys(made, query, key, value)
        return picked and near and torch.allclose(made.log_sum_exp(x), x.logsumexp(1), atol=1e-4)


def _shares_keys(made: Kernels, query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether heads that share keys, each with a bias of its own, read what torch reads."""
    heads = query.repeat(1, 2, 1, 1)
    bias = key.new_tensor([0.5, -0.3, 0.1, 0.9]).view(1, 2, 1, 2).expand(2, -1, -1, -1)
    keys, values = (side.repeat_interleave(2, 1) for side in (key, value))
    read = torch.nn.functional.scaled_dot_product_attention(heads, keys, values, bias, scale=0.1)
    return torch.allclose(made.attend(heads, key, value, bias, 0.1), read.transpose(1, 2).reshape(4, -1), atol=1e-4)


def _steps(steps: tuple[int, ...]) -> ctypes.Array[ctypes.c_int64]:
    return (_COUNT * len(steps))(*steps)

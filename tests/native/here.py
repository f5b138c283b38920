"""The instruction sets whose kernels run on this machine, as far as ATEN_CPU_CAPABILITY allows."""

import torch

from regard.native.library import announced

_SETS = {"AVX512": ("avx512vnni", "avx512", "avx2", "plain"), "AVX2": ("avx2", "plain")}
HERE = tuple(
    kind
    for kind in _SETS.get(torch.backends.cpu.get_cpu_capability(), ("plain",))
    if kind != "avx512vnni" or announced(kind)
)

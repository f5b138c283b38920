"""The program of a child process that tests int8 and bfloat16 instructions: python probe.py int8 bfloat16

It prints one line per kind of matrix product, as soon as it is known: `int8 works`, or `int8 fails: …`. A kind without
a line crashed the child, and the child alone. Nothing of Regard is imported, so that the file runs by itself.
"""

import sys
from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_SHAPES = ((1, 64, 64), (7, 512, 1536), (320, 256, 640))
"""rows, width, outputs: libraries choose other instructions for small products than for large ones"""
_LARGEST_ERROR = 0.05
"""relative error of bfloat16 against float32; 8 bits of precision lose less than 0.01 here"""


def int8() -> None:
    """Test the products of unsigned and signed bytes that `Int8Linear` computes; they must be exact."""
    for rows, width, outputs in _SHAPES:
        whole = torch.randint(0, 256, (rows, width), dtype=torch.uint8)
        weight = torch.randint(-63, 64, (outputs, width), dtype=torch.int8)
        packed = torch.ops.onednn.qlinear_prepack(weight, None)
        scale, middle = torch.ones(outputs), torch.zeros(outputs, dtype=torch.int64)
        made = torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, 128, packed, scale, middle, None, 1.0, 0, torch.float32, "none", [], ""
        )
        if not torch.equal(made.double(), (whole.double() - 128) @ weight.double().T):
            raise ArithmeticError(f"a product of {rows} × {width} and {width} × {outputs} bytes is wrong")


def bfloat16() -> None:
    """Test the operations of training in mixed precision: products, attention, convolution, recurrence."""
    for rows, width, outputs in _SHAPES:
        _compare(nn.Linear(width, outputs), torch.randn(rows, width))
    _compare(lambda x: x @ x.mT, torch.randn(4, 48, 64))
    _compare(lambda x: F.scaled_dot_product_attention(x, x, x), torch.randn(2, 4, 48, 64))
    for layer, shape in (
        (nn.Conv1d(64, 64, 3), (2, 64, 9)),
        (nn.LSTM(64, 64), (9, 4, 64)),
        (nn.GRU(64, 64), (9, 4, 64)),
    ):
        with suppress(RuntimeError):  # torch raises where it does not support one of these layers
            _compare(layer, torch.randn(shape))


def _compare(compute: Callable[[Tensor], Tensor | tuple[Tensor, ...]], x: Tensor) -> None:
    """Check that output and gradient in mixed precision agree with float32."""
    found = []
    for mixed in (False, True):
        x = x.detach().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            made = compute(x.bfloat16() if mixed and not isinstance(compute, nn.Module) else x)
        output = (made if isinstance(made, Tensor) else made[0]).float()
        output.square().sum().backward()
        found.append((output, x.grad))
    for exact, short in zip(*found, strict=True):
        if exact is None or short is None or not (short - exact).norm() <= _LARGEST_ERROR * exact.norm():
            raise ArithmeticError("a bfloat16 product is wrong")


TRIALS = {"int8": int8, "bfloat16": bfloat16}


def try_all(kinds: list[str]) -> None:
    """Test the kinds in this order; a crash leaves no core file."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    torch.manual_seed(0)
    for kind in kinds:
        try:
            TRIALS[kind]()
            line = "works"
        except Exception as error:
            line = f"fails: {str(error).partition(chr(10))[0] or type(error).__name__}"
        sys.stdout.write(f"{kind} {line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    try_all(sys.argv[1:])

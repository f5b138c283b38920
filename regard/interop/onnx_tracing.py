"""Tracing of a module to an ONNX graph whose named axes are dynamic.

torch has two ways. The newer, `dynamo=True`, fixes the length of recurrent layers and takes a minute where tracing
takes a second, so the graphs are traced; two operations that tracing lacks, or converts with fixed sizes, are
registered here.
"""

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.interop.onnx_graphs import OnnxGraph

OPSET = 18


def libraries() -> tuple[Any, Any]:
    """The packages onnx and onnxruntime, or an error that says how to install them."""
    try:
        return import_module("onnx"), import_module("onnxruntime")
    except ImportError as error:
        raise RegardError(f"onnx and onnxruntime are not installed: {install_hint('onnx')}") from error


def trace(graph: OnnxGraph, given: Sequence[Tensor]) -> Any:
    """The graph as an `onnx.ModelProto` with its weights, traced with these inputs."""
    onnx, _ = libraries()
    named = {**graph.inputs, **graph.outputs}
    axes = {name: {at: axis for at, axis in enumerate(own) if isinstance(axis, str)} for name, own in named.items()}
    written: Any = io.BytesIO()
    settings: dict[str, Any] = {
        "input_names": list(graph.inputs),
        "output_names": list(graph.outputs),
        "dynamic_axes": axes,
    }
    try:
        with _known_operations(), _hushed(), torch.no_grad():
            torch.onnx.export(graph.module.eval(), tuple(given), written, dynamo=False, opset_version=OPSET, **settings)
    except (torch.onnx.errors.OnnxExporterError, RuntimeError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise RegardError(f"onnx: the graph '{graph.name}' of this model cannot be traced: {reason}") from error
    return onnx.load_model_from_string(written.getvalue())


@contextlib.contextmanager
def _known_operations() -> Iterator[None]:
    operations = {"aten::mT": _transpose, "aten::unflatten": _unflatten}
    exporter: Any = torch.onnx
    for name, symbolic in operations.items():
        exporter.register_custom_op_symbolic(name, symbolic, OPSET)
    try:
        yield
    finally:
        for name in operations:
            exporter.unregister_custom_op_symbolic(name, OPSET)


def _transpose(graph: Any, x: Any) -> Any:
    order = list(range(x.type().dim()))
    return graph.op("Transpose", x, perm_i=[*order[:-2], order[-1], order[-2]])


def _unflatten(graph: Any, x: Any, axis: Any, sizes: Any) -> Any:
    """A reshape that copies the other axes from its input; torch's own fixes their sizes to those of the example."""
    from torch.onnx import symbolic_helper

    at = symbolic_helper._get_const(axis, "i", "dim") % x.type().dim()
    parts = symbolic_helper._get_const(sizes, "is", "sizes")
    before = _constant(graph, [0] * at + list(parts))
    first, last = _constant(graph, [at + 1]), _constant(graph, [2**31])
    behind = graph.op("Slice", graph.op("Shape", x), first, last)
    return graph.op("Reshape", x, graph.op("Concat", before, behind, axis_i=0))


def _constant(graph: Any, numbers: list[int]) -> Any:
    return graph.op("Constant", value_t=torch.tensor(numbers))


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Silence the tracer's output, which is about our shape checks and not useful to users."""
    sys.stdout.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with Path(os.devnull).open("wb") as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in kept:
            os.dup2(nowhere.fileno(), number)
        try:
            yield
        finally:
            sys.stdout.flush()
            for number, copy in kept.items():
                os.dup2(copy, number)
                os.close(copy)

"""Export of a model to a folder that onnxruntime runs: graphs, one file of weights, tokenizers and settings.

Every graph is compared with the model, at several sizes, before the folder gets its name.
"""

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import digest
from regard.data.subwords.tokenizer import EOS
from regard.interop.export_folder import making, write_manifest
from regard.interop.onnx_graphs import Axes, OnnxGraph, make_graphs
from regard.interop.onnx_tracing import OPSET, libraries, trace
from regard.runs.artifact import load_artifact
from regard.runs.folder import model_file

ONNX = "onnx"
WEIGHTS_FILE = "weights.bin"
TOLERANCE = 1e-4
_SMALL = 1024
"""bytes up to which a tensor stays inside its graph"""
_ALIGNED = 4096
_TRIED = ((3, 6, 5, 2), (1, 1, 1, 0), (4, 9, 7, 8))
"""sizes of batch, source, target and past; the first is traced"""


def export_onnx(model: str | Path, out: str | Path, *, force: bool = False) -> Path:
    """Export the model of a file or run folder to the folder `out`, and return that folder."""
    libraries()
    file = model_file(model)
    artifact = load_artifact(file)
    network = artifact.model()
    graphs = make_graphs(network, str(file))
    with making(out, force=force) as folder:
        with (folder / WEIGHTS_FILE).open("wb") as weights:
            places: dict[bytes, tuple[int, int]] = {}
            for graph in graphs:
                traced = trace(graph, example_inputs(graph, artifact.vocabularies, *_TRIED[0]))
                _move_weights(traced, weights, places)
                (folder / f"{graph.name}.onnx").write_bytes(traced.SerializeToString())
        for graph in graphs:
            _check(graph, folder, artifact.vocabularies, str(file))
        details = {
            "opset": OPSET,
            "graphs": {graph.name: _described(graph) for graph in graphs},
            "state": [_described_slot(slot) for graph in graphs for slot in graph.slots],
            "first_token": network.first,
            "last_token": EOS,
        }
        write_manifest(folder, ONNX, artifact, digest(file), **details)
    return Path(out)


def example_inputs(
    graph: OnnxGraph, vocabularies: tuple[int, int], batch: int, source: int, target: int, past: int
) -> list[Tensor]:
    """Random inputs of a graph, of these sizes."""
    sizes: dict[Any, int] = {"batch": batch, "source": source, "target": target, "past": past}
    slots = {slot.name: slot for slot in graph.slots}
    made = []
    for name, axes in graph.inputs.items():
        shape: list[Any] = [sizes.get(axis, axis) for axis in axes]
        if name == "source_lengths":
            made.append(torch.arange(batch).remainder(source).add(1).flip(0))
        elif name in slots and slots[name].boolean:
            made.append(torch.arange(source) < torch.arange(1, batch + 1)[:, None])
        elif name in slots:
            made.append(torch.randn(shape))
        else:
            made.append(torch.randint(EOS, vocabularies[0 if name == "source" else 1], shape))
    return made


def _check(graph: OnnxGraph, folder: Path, vocabularies: tuple[int, int], where: str) -> None:
    """Check that the graph computes what the model computes."""
    _, runtime = libraries()
    session = runtime.InferenceSession(str(folder / f"{graph.name}.onnx"), providers=["CPUExecutionProvider"])
    used = {one.name for one in session.get_inputs()}
    for sizes in _TRIED:
        given = example_inputs(graph, vocabularies, *sizes)
        with torch.no_grad():
            wanted = graph.module(*given)
        fed = {name: one.numpy() for name, one in zip(graph.inputs, given, strict=True) if name in used}
        try:
            found = session.run(None, fed)
        except Exception as error:  # onnxruntime's errors have no common kind
            reason = f"the graph '{graph.name}' does not run: {str(error).splitlines()[0]}"
            raise RegardError(f"{where}: cannot be exported: {reason}") from error
        for name, ours, theirs in zip(
            graph.outputs, wanted if isinstance(wanted, tuple) else (wanted,), found, strict=True
        ):
            other = torch.from_numpy(theirs)
            if ours.shape != other.shape or not torch.allclose(ours.float(), other.float(), TOLERANCE, TOLERANCE):
                raise RegardError(
                    f"{where}: cannot be exported: the graph '{graph.name}' computes another '{name}' than the model"
                )


def _move_weights(traced: Any, weights: Any, places: dict[bytes, tuple[int, int]]) -> None:
    """Put the larger tensors of a graph into the file of weights, each once, and let the graph refer to them there."""
    onnx, _ = libraries()
    for tensor in traced.graph.initializer:
        data = onnx.numpy_helper.to_array(tensor).tobytes()
        if len(data) < _SMALL:
            continue
        name = hashlib.sha256(data).digest()
        if name not in places:
            weights.write(bytes(-weights.tell() % _ALIGNED))
            places[name] = (weights.tell(), len(data))
            weights.write(data)
        offset, length = places[name]
        tensor.raw_data = data
        onnx.external_data_helper.set_external_data(tensor, WEIGHTS_FILE, offset=offset, length=length)
        tensor.ClearField("raw_data")


def _described(graph: OnnxGraph) -> dict[str, Any]:
    def side(tensors: Any) -> dict[str, list[str | int]]:
        return {name: list(axes) for name, axes in tensors.items()}

    return {"file": f"{graph.name}.onnx", "inputs": side(graph.inputs), "outputs": side(graph.outputs)}


def _described_slot(slot: Any) -> dict[str, Any]:
    axes: Axes = slot.axes
    return {
        "name": slot.name,
        "shape": list(axes),
        "first": "zeros" if slot.zeros else "start",
        "next": f"next_{slot.name}" if slot.changes else slot.name,
    }

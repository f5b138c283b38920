from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import BOS, EOS, Subwords
from regard.decoding.strategies.greedy import Greedy
from regard.interop import onnx_export, onnx_parts
from regard.interop.export_folder import Manifest, read_manifest
from regard.interop.onnx_export import export_onnx
from regard.loading import load
from regard.models.gpt import Gpt
from regard.models.model import Design
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.models.writer import Transducer
from regard.runs.artifact import load_artifact
from tests.interop.examples import SMALL, TOY, unchecked, write

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

DESIGNS: dict[str, Design] = {
    "transformer": Transformer(**SMALL | {"encoder_layers": 1, "decoder_layers": 2}, key_heads=2, positions="rotary"),
    "gpt": Gpt(width=16, heads=4, layers=1),
    "seq2seq": Seq2seq.preset("luong", width=16, encoder_layers=2, decoder_layers=2),
}


@pytest.fixture(autouse=True)
def traceable() -> Iterator[None]:
    with unchecked():
        yield


def session(folder: Path, name: str) -> object:
    return runtime.InferenceSession(folder / f"{name}.onnx")


def empty(manifest: Manifest, batch: int) -> dict[str, np.ndarray]:
    """What of a state is zeros before the first step."""
    sizes = {"batch": batch, "past": 0}
    slots = [slot for slot in manifest.details["state"] if slot["first"] == "zeros"]
    return {slot["name"]: np.zeros([sizes.get(axis, axis) for axis in slot["shape"]], np.float32) for slot in slots}


def translate(folder: Path, manifest: Manifest, text: str) -> str:
    """Greedy search with nothing but onnxruntime, numpy and the subwords."""
    known = Subwords.from_json((folder / manifest.tokenizers["source"]).read_text(encoding="utf-8"))
    start, step = session(folder, "start"), session(folder, "step")
    source = np.array([[*known.encode(text), manifest.details["last_token"]]])
    names = [one.name for one in start.get_outputs()]
    given = {"source": source, "source_lengths": np.array([source.shape[1]])}
    state = dict(zip(names, start.run(None, given), strict=True))
    state |= empty(manifest, 1)
    names = [one.name for one in step.get_outputs()]
    token, tokens = manifest.details["first_token"], []
    while len(tokens) < 20:
        found = dict(zip(names, step.run(None, {"token": np.array([token]), **state}), strict=True))
        found["logits"][:, :3] = -np.inf
        token = int(found["logits"].argmax())
        if token == manifest.details["last_token"]:
            break
        tokens.append(token)
        state |= {slot["name"]: found[slot["next"]] for slot in manifest.details["state"] if slot["next"] in found}
    return known.decode(tokens)


def test_a_trained_model_translates_in_onnxruntime(trained: Path, tmp_path: Path) -> None:
    folder = export_onnx(trained, tmp_path / "export")
    names = {path.name for path in folder.iterdir()}
    assert names == {"regard.json", "score.onnx", "start.onnx", "step.onnx", "tokenizer.json", "weights.bin"}
    manifest = read_manifest(folder, "onnx")
    assert (manifest.details["first_token"], manifest.details["last_token"]) == (BOS, EOS)
    texts = [source for source, _ in TOY[:4]]
    wanted = [one.text for one in load(trained).translate(texts, strategy=Greedy(max_length=20))]
    assert [translate(folder, manifest, text) for text in texts] == wanted
    once = sum(tensor.numel() * 4 + 4096 for tensor in load_artifact(trained).weights.values())
    assert (folder / "weights.bin").stat().st_size < once


@pytest.mark.parametrize("name", DESIGNS)
def test_the_graphs_compute_the_model_at_any_size(name: str, tmp_path: Path) -> None:
    file = write(tmp_path / "model.safetensors", DESIGNS[name])
    folder = export_onnx(file, tmp_path / "export")
    model = load_artifact(file).model()
    assert read_manifest(folder, "onnx").details["first_token"] == (BOS if isinstance(model, Transducer) else EOS)
    for batch, source, target in ((1, 1, 1), (5, 7, 9)):
        read = torch.randint(4, 50, (batch, source)), torch.randint(1, source + 1, (batch,))
        said = torch.randint(4, 50, (batch, target))
        given = dict(zip(("source", "source_lengths"), read, strict=True)) if isinstance(model, Transducer) else {}
        with torch.no_grad():
            wanted = model(*given.values() or (None, None), said)
        arrays = {key: value.numpy() for key, value in given.items()}
        if (folder / "score.onnx").exists():
            (found,) = session(folder, "score").run(None, {**arrays, "target": said.numpy()})
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
        if isinstance(model, Transducer):
            start, step = session(folder, "start"), session(folder, "step")
            state = dict(zip([one.name for one in start.get_outputs()], start.run(None, arrays), strict=True))
            state |= empty(read_manifest(folder, "onnx"), batch)
            logits = step.run(["logits"], {"token": said[:, 0].numpy(), **state})[0]
            np.testing.assert_allclose(logits, wanted[:, 0], rtol=1e-4, atol=1e-4)


def test_a_graph_that_computes_something_else_is_not_written(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_export, "TOLERANCE", 0.0)
    with pytest.raises(RegardError, match="cannot be exported: the graph 'start' computes another"):
        export_onnx(trained, tmp_path / "export")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_does_not_run_at_another_length_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_parts, "_UNTRACED", {})
    file = write(tmp_path / "model.safetensors", Transformer(**SMALL | {"positions": "transformer_xl"}))
    with pytest.raises(
        RegardError, match=r"the graph 'start' (does not run: .*ONNXRuntimeError|of this model cannot be traced)"
    ):
        export_onnx(file, tmp_path / "export")
    assert not (tmp_path / "export").exists()


def test_what_is_there_is_kept(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "diary.txt").write_text("dear")
    with pytest.raises(UsageError, match="is no export"):
        export_onnx(trained, tmp_path / "export", force=True)

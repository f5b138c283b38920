import sys

import pytest
import torch
from torch import Tensor, nn

from regard.base.errors import RegardError
from regard.interop.onnx_graphs import OnnxGraph
from regard.interop.onnx_tracing import libraries, trace

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


class Reshaped(nn.Module):
    """What tracing gets wrong by itself: a transpose by name, and axes split while others may have any size."""

    def forward(self, x: Tensor) -> Tensor:
        last, first = x.unflatten(-1, (2, -1)), x.unflatten(0, (2, 3)).flatten(0, 1)
        return last.mT.flatten(2) + first + torch.arange(last.shape[1])[:, None]


def test_axes_with_names_may_have_any_size() -> None:
    graph = OnnxGraph("reshaped", Reshaped(), {"x": (6, "length", 4)}, {"y": (6, "length", 4)})
    session = runtime.InferenceSession(trace(graph, [torch.randn(6, 3, 4)]).SerializeToString())
    for length in (1, 3, 8):
        x = torch.randn(6, length, 4)
        torch.testing.assert_close(torch.from_numpy(session.run(None, {"x": x.numpy()})[0]), graph.module(x))


def test_what_cannot_be_traced_is_said_in_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    class Odd(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.special.bessel_j0(x)

    with pytest.raises(RegardError, match="onnx: the graph 'odd' of this model cannot be traced: ") as caught:
        trace(OnnxGraph("odd", Odd(), {"x": ("length",)}, {"y": ("length",)}), [torch.randn(3)])
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[onnx\]'"):
        libraries()

"""What a child process says of the products that it tries."""

import pytest
import torch

from regard.base import probe


@pytest.mark.usefixtures("int8")
def test_bytes_that_are_multiplied_rightly_pass() -> None:
    probe.int8()


@pytest.mark.usefixtures("bfloat16")
def test_short_floats_that_are_multiplied_rightly_pass() -> None:
    probe.bfloat16()


@pytest.mark.usefixtures("int8")
def test_wrong_bytes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = torch.ops.onednn.qlinear_pointwise
    monkeypatch.setattr(torch.ops.onednn, "qlinear_pointwise", lambda *args: right(*args) + 1)
    with pytest.raises(ArithmeticError, match="product of 1 × 64 and 64 × 64 bytes is wrong"):
        probe.int8()


def test_wrong_short_floats_are_noticed() -> None:
    probe._compare(lambda x: 2 * x, torch.randn(9))
    with pytest.raises(ArithmeticError, match="a bfloat16 product is wrong"):
        probe._compare(lambda x: 2.2 * x if x.dtype == torch.bfloat16 else 2 * x, torch.randn(9))
    with pytest.raises(ArithmeticError, match="a bfloat16 product is wrong"):
        probe._compare(lambda x: x / 0 if x.dtype == torch.bfloat16 else 2 * x, torch.randn(9))


def test_every_kind_has_its_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise RuntimeError("no such product\nand more that nobody reads")

    monkeypatch.setattr(probe, "TRIALS", {"int8": fail, "bfloat16": lambda: None})
    probe.try_all(["int8", "bfloat16"])
    assert capsys.readouterr().out == "int8 fails: no such product\nbfloat16 works\n"

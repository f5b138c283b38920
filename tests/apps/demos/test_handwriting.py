from collections.abc import Callable
from pathlib import Path


def test_digits_are_learned_measured_and_drawn(shown: Callable[..., list[str]]) -> None:
    few = ("training.schedule.warmup=1", "batches.pictures=4", "model.layers=1", "model.width=16", "model.heads=2")
    lines = shown("digits", *few)
    assert any(line.endswith("these pictures it has never seen") for line in lines)
    assert Path("regard-demo/digits/digits.png").read_bytes().startswith(b"\x89PNG")
    home = "regard-demo/digits"
    assert lines[-1] == f"Another, on a page:  regard inspect {home}/runs/digits {home}/test.npz --number 7"

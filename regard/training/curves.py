"""Training curves: loss, learning rate and validation metrics, drawn over the steps of a run."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.base.files import write_bytes
from regard.runs.log import Log

_SIDES = {"kind", "step", "epoch", "loss"}
_WIDTH, _HEIGHT = 7.0, 2.4


def draw_curves(log: Log, path: str | Path) -> None:
    """Write the curves as an image in the format of the path's suffix; on failure the old file stays."""
    train, valid = list(log.entries("train")), list(log.entries("valid"))
    if not train and not valid:
        raise RegardError(f"{log.path}: there is nothing to draw yet")
    extra = sorted({name for entry in valid for name in entry} - _SIDES - _counted(train))
    figure = _figure(train, valid, extra)
    picture = io.BytesIO()
    kind = Path(path).suffix.removeprefix(".") or "png"
    try:
        figure.savefig(picture, format=kind, dpi=120, metadata={"Software": None} if kind == "png" else None)
    except ValueError as error:
        raise RegardError(f"{path}: cannot be drawn: {error}") from error
    write_bytes(path, picture.getvalue())


def _counted(train: Sequence[dict[str, Any]]) -> set[str]:
    """The units that the run counts, such as tokens."""
    return {name.removesuffix("_per_second") for entry in train for name in entry if name.endswith("_per_second")}


def _figure(train: Sequence[dict[str, Any]], valid: Sequence[dict[str, Any]], extra: Sequence[str]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RegardError(f"curves need matplotlib, which is not installed: {install_hint('plots')}") from error
    figure = Figure(figsize=(_WIDTH, _HEIGHT * (2 + len(extra))), layout="constrained")
    first, *others, last = figure.subplots(2 + len(extra), sharex=True, squeeze=False)[:, 0]
    _draw(first, train, "loss", "training")
    _draw(first, valid, "loss", "validation", marker="o")
    first.set_ylabel("loss")
    first.legend()
    for axes, name in zip(others, extra, strict=True):
        _draw(axes, valid, name, name, marker="o")
        axes.set_ylabel(name)
    _draw(last, train, "learning_rate", "learning rate")
    last.set(ylabel="learning rate", xlabel="step")
    for axes in (first, *others, last):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw(axes: Any, entries: Sequence[dict[str, Any]], name: str, label: str, **style: Any) -> None:
    points = [(entry["step"], entry[name]) for entry in entries if name in entry]
    axes.plot([step for step, _ in points], [value for _, value in points], label=label, markersize=3, **style)

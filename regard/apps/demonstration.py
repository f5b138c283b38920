"""A demonstration that needs no download: it makes its data, trains, measures, and draws what the model looked at.

One file each in `demos/`, with the settings of its run beside it; `regard demo NAME` shows it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import typer

from regard.base.catalog import Catalog
from regard.base.extras import install_hint

DEMOS = Catalog("regard.apps.demos")
_ORDER = ("hull", "sets", "digits", "graph")


class Demonstration(ABC):
    """Something small that is trained and looked into."""

    name: ClassVar[str]
    """what the command calls it, and its run"""
    about: ClassVar[str]
    """what it shows, in a few words"""

    @abstractmethod
    def show(self, folder: Path) -> None:
        """Make the data, train, measure and draw, all in one folder."""

    def trained(self, folder: Path) -> Any:
        """Train with the settings beside the demonstration's file, and load the model."""
        from regard.base.files import write_text
        from regard.learning import run_training
        from regard.loading import load
        from regard.tasks.run import read_run

        file = type(self).__module__.rpartition(".")[2]
        folder.mkdir(parents=True, exist_ok=True)
        settings = (Path(__file__).parent / "demos" / f"{file}.toml").read_text(encoding="utf-8")
        write_text(folder / "run.toml", settings)
        run = read_run(folder / "run.toml")
        run_training(run, folder / "runs" / run.name, folder)
        return load(folder / "runs" / run.name, expect=object)


def draw_to(path: Path, figure: Callable[[], Any], what: str) -> None:
    """Draw a figure and say where it is; without matplotlib, say how to get it."""
    try:
        from regard.inspection.pictures.draw import save_figure

        made = figure()
    except ImportError:
        typer.echo(f"regard: {path} needs matplotlib: {install_hint('plots')}", err=True)
        return
    save_figure(made, path)
    typer.echo(f"\n{what}: {path}")


def demonstrations() -> dict[str, Demonstration]:
    """All demonstrations by name, but for that of dates."""
    made = [DEMOS.make(file) for file in DEMOS.names]
    return {one.name: one for one in sorted(made, key=lambda one: _ORDER.index(one.name))}


def menu() -> str:
    """The demonstrations, a line each."""
    lines = {"dates": "read dates in dozens of languages, letter by letter (attention in a translator)"}
    lines |= {name: one.about for name, one in demonstrations().items()}
    return "\n".join(f"  regard demo {name:<8} {about}" for name, about in lines.items())

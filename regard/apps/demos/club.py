"""regard demo graph: which group of a generated club a member belongs to, by what the neighbors are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import typer

from regard.apps.demonstration import Demonstration, draw_to


@dataclass(frozen=True)
class Club(Demonstration):
    """The groups of a club, told from friendships and a few known members."""

    name: ClassVar[str] = "graph"
    about: ClassVar[str] = "tell the groups of a club from its friendships (graph attention)"

    def show(self, folder: Path) -> None:
        from regard.data.friendships import write_club
        from regard.tasks.nodes import Nodes
        from regard.tasks.task import Evaluation

        folder.mkdir(parents=True, exist_ok=True)
        busiest = write_club(folder / "club.npz")
        classifier: Any = self.trained(folder)
        (score,) = Nodes.evaluate(classifier, [folder / "club.npz"], Evaluation())
        typer.echo(f"{score}, whose group it was not told; it was told that of 4 members of each group")

        def figure() -> object:
            from regard.inspection.pictures.neighborhood import neighborhood_picture

            return neighborhood_picture(classifier.neighborhood(folder / "club.npz", str(busiest), "layers.0"))

        draw_to(folder / "graph.png", figure, f"What member {busiest} attends to")
        run = folder / "runs" / "graph"
        typer.echo(f"\nAnother member:  regard draw neighborhood {run} {folder / 'club.npz'} 7")

"""regard demo hull: a pointer network learns to point at the corners of a convex hull."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import typer

from regard.apps.demonstration import Demonstration, draw_to

_TESTED = 1_000


@dataclass(frozen=True)
class Hull(Demonstration):
    """The convex hull of ten points, by pointing at them."""

    name: ClassVar[str] = "hull"
    about: ClassVar[str] = "point at the corners of a convex hull (a pointer network)"

    def show(self, folder: Path) -> None:
        import msgspec
        import numpy as np

        from regard.base.files import write_text

        solver = self.trained(folder)
        examples = solver.problem.examples(np.random.default_rng(2024), _TESTED)
        points, truth = [one for one, _ in examples], [answer for _, answer in examples]
        lines = [msgspec.json.encode({"points": one.round(4).tolist(), "answer": answer}) for one, answer in examples]
        write_text(folder / "test.jsonl", "\n".join(line.decode() for line in lines) + "\n")
        answers = [found[0].positions for found in solver.solve(points)]
        scores = solver.problem.scores(points, answers, truth)
        typer.echo(
            f"{scores['exact']:.1f} % of {_TESTED:,} hulls it has never seen are right in every point, "
            f"and {scores['area']:.2f} % of their area is covered"
        )
        typer.echo(f"\n  points 0 … {len(points[0]) - 1}  →  {' '.join(map(str, answers[0]))}")

        def figure() -> object:
            from regard.inspection.pictures.pointing_picture import pointing_picture

            looked = solver.looked_at(points[0], answers[0])
            return pointing_picture(
                points[0], answers[0], looked, truth=truth[0], title="A convex hull, point by point"
            )

        draw_to(folder / "hull.png", figure, "What each step looked at")
        typer.echo(f"\nTry your own:  regard predict {folder / 'runs' / 'hull'} {folder / 'test.jsonl'}")

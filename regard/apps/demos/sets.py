"""regard demo sets: the sum of handwritten digits, given as a set of pictures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import typer

from regard.apps.demonstration import Demonstration, draw_to

_TESTED = 1_000


@dataclass(frozen=True)
class Sets(Demonstration):
    """The sum of a set of handwritten digits, by attention that knows no order."""

    name: ClassVar[str] = "sets"
    about: ClassVar[str] = "add handwritten digits, in any order (a Set Transformer)"

    def show(self, folder: Path) -> None:
        import numpy as np

        from regard.data.set_problems.digit_sum import DigitSum

        predictor: Any = self.trained(folder)
        problem, draw = DigitSum(10, 1), np.random.default_rng(2024)
        examples = problem.draw(draw, _TESTED, "dev")
        told = predictor.answers([one.elements for one in examples])
        right = sum(round(answer) == one.target[0] for answer, one in zip(told, examples, strict=True))
        error = sum(abs(answer - one.target[0]) for answer, one in zip(told, examples, strict=True)) / _TESTED
        typer.echo(
            f"{100 * right / _TESTED:.1f} % of {_TESTED:,} sums of 1 to 10 pictures it has never seen are right after "
            f"rounding; the mean error is {error:.2f}"
        )
        chosen = DigitSum(8, 8).draw(draw, 1, "dev")[0]
        (answer,) = predictor.answers([chosen.elements])
        typer.echo(f"\n  8 pictures  →  {answer:.2f}   (their sum is {chosen.target[0]:.0f})")

        def figure() -> object:
            from regard.inspection.pictures.set_picture import set_picture

            title = f"What was read to add them up: {answer:.2f}, and {chosen.target[0]:.0f} is right"
            return set_picture(chosen.elements, predictor.looked_at(chosen.elements), (8, 8), title=title)

        draw_to(folder / "sets.png", figure, "What it looked at")

"""Pointing: train a pointer network on each problem, and test it on inputs that were never drawn before.

    python benchmarks/pointing.py [sorting] [hull] [tour] [--json FILE]

Each is a run file as it is: `recipes/NAME.toml`, and for hulls that of `regard demo hull`. A training that was
interrupted is resumed. The table has the scores of the problem on 1,000 new inputs, greedy and with a beam of 5, how
many answers are valid, and the CPU time of training.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from environments import ROOT, WORK
from measure import machine, print_table, write_json

from regard.decoding.point_solver import PointSolver
from regard.loading import load

RUNS = {
    "sorting": ROOT / "recipes" / "sorting.toml",
    "hull": ROOT / "regard" / "apps" / "demos" / "hull.toml",
    "tour": ROOT / "recipes" / "tour.toml",
}
TESTED, SEED = 1_000, 2024


def main() -> None:
    """Train what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", choices=[*RUNS, []], help="which; all unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    rows = []
    for name in options.problems or RUNS:
        spent = train(name, options.work / "pointing")
        rows += [tested(name, options.work / "pointing" / name, beam, spent) for beam in (1, 5)]
    print(machine())
    print_table(f"{TESTED:,} inputs that were never trained on", rows)
    write_json(options.json, {"pointing": rows})


def train(name: str, runs: Path) -> float:
    """Run `regard train`; returns its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command: list[Any] = [sys.executable, "-m", "regard", "train", RUNS[name], "--runs", runs]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tested(name: str, run: Path, beam: int, spent: float) -> dict[str, str]:
    """The scores of a trained model."""
    solver = load(run, expect=PointSolver)
    assert solver.problem is not None
    examples = solver.problem.examples(np.random.default_rng(SEED), TESTED)
    points, truth = [one for one, _ in examples], [answer for _, answer in examples]
    answers = [found[0].positions for found in solver.solve(points, beam)]
    valid = sum(solver.rule.complaint(answer, len(own)) is None for own, answer in zip(points, answers, strict=True))
    best = solver.problem.scores(points, truth, truth)
    scores = solver.problem.scores(points, answers, truth)
    shown = {measure: f"{value:.3f}" for measure, value in scores.items()}
    if "length" in best:
        shown["shortest"] = f"{best['length']:.3f}"
    return {
        "problem": name,
        "beam": str(beam),
        "scores": ", ".join(f"{measure} {value}" for measure, value in shown.items()),
        "valid": f"{100 * valid / TESTED:.1f} %",
        "CPU minutes of this call": f"{spent / 60:.1f}",
    }


if __name__ == "__main__":
    main()

"""Non-local blocks: the same CNN with them and without, on generated questions about pictures (Sort-of-CLEVR).

    python benchmarks/relations.py [--first 1500] [--steps 4000] [--presets non_local relations] [--seeds 1 2]
    python benchmarks/relations.py --answer hidden        two hidden layers behind the pooling, in both

A CNN is trained alone at first; then it goes on, once with blocks, which change nothing when they are put into it, and
once without. All are `recipes/relations.toml`; a training that was interrupted is resumed. The table
has the accuracy on questions about one object (plain) and about its relation to the others (relational), about 500
pictures that were never trained on, and the CPU time.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from environments import ROOT, WORK
from measure import machine, print_table, write_json

from regard.data.relations import write_relations
from regard.decoding.image_classifier import ImageClassifier
from regard.loading import load
from regard.tasks.pictures import Pictures
from regard.tasks.task import Evaluation

RECIPE = ROOT / "recipes" / "relations.toml"
FIRST = 16
"""pictures of a step at first: shapes want larger steps than blocks do"""
COUNTS = {"train": 9_800, "dev": 200, "test": 500}
SIZE = 40


def main() -> None:
    """Draw the pictures, train both, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1_500, help="training steps of the CNN that both begin with")
    parser.add_argument("--steps", type=int, default=4_000, help="further steps of each")
    parser.add_argument("--presets", nargs="+", default=["non_local", "relations"], help="the models")
    parser.add_argument("--answer", choices=["linear", "hidden"], default="linear", help="how both end")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], help="each model is trained with each of them")
    parser.add_argument("--work", type=Path, default=WORK, help="where pictures and runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    folder = options.work / "relations"
    change = f"model.answer={options.answer}"
    if not (folder / "test-plain.npz").exists():
        write_relations(folder, COUNTS, SIZE)
    rows = []
    for seed in options.seeds:
        rows.append(row("relations", seed, folder, options.first, change))
        base = folder / "runs" / rows[-1]["run"]
        rows += [row(preset, seed, folder, options.steps, change, base) for preset in options.presets]
    title = f"Sort-of-CLEVR, {COUNTS['test']} new pictures"
    print(machine())
    print_table(title, rows)
    write_json(options.json, {title: rows})


def row(preset: str, seed: int, folder: Path, steps: int, change: str, base: Path | None = None) -> dict[str, str]:
    """Train one model, and evaluate it on both kinds of questions."""
    name = f"{change.partition('=')[2]}-{steps}-{seed}" if base is None else f"{base.name}-{preset}-{steps}"
    changes = [f"name={name}", f"model.preset={preset}", f"training.steps={steps}", f"training.seed={seed}", change]
    changes += [f"batches.pictures={FIRST}"] if base is None else [f"training.base={base}"]
    command: list[Any] = [sys.executable, "-m", "regard", "train", RECIPE, "--data", folder, "--runs", folder / "runs"]
    for change in changes:
        command += ["--set", change]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    classifier = load(folder / "runs" / name, expect=ImageClassifier)
    scores = {
        kind: Pictures.evaluate(classifier, [folder / f"test-{kind}.npz"], Evaluation())[0].value
        for kind in ("plain", "relational")
    }
    weights = sum(weight.numel() for weight in classifier.model.parameters())
    return {
        "run": name,
        "weights": f"{weights:,}",
        **{kind: f"{value:.1f} %" for kind, value in scores.items()},
        "CPU minutes of this call": f"{spent / 60:.1f}",
    }


if __name__ == "__main__":
    main()

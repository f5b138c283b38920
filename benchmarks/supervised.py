"""Supervised features: several tasks beside one, on CoNLL-2000.

python benchmarks/supervised.py conll2000 FOLDER [--steps 700]   chunks alone, then chunks and parts of speech

FOLDER holds train.txt and test.txt; the last 800 sentences of train.txt are the dev set, which chooses the checkpoint.
Both trainings have the same encoder, batches of chunks, steps and seeds.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import machine, print_table, write_json

from regard.learning import train
from regard.tasks.multitask import Multitask
from regard.tasks.tag import Tag
from regard.tasks.task import Evaluation
from regard.training.progress import Progress

_DEV = 800


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("conll2000",))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--weight", type=float, default=0.3, help="of the second task's loss")
    parser.add_argument("--json", help="also write the table to this file")
    given = parser.parse_args()
    print(machine())
    rows = conll2000(given.folder, given.steps, given.weight)
    print_table("Supervised: conll2000", rows)
    write_json(given.json, {given.what: rows})


def conll2000(folder: Path, steps: int, weight: float) -> list[dict[str, str]]:
    """F1 of chunks on the test set, of a model that learns chunks alone, and of one that also learns word classes."""
    sentences = (folder / "train.txt").read_text(encoding="utf-8").strip().split("\n\n")
    rows = []
    with TemporaryDirectory() as place:
        home = Path(place)
        parts = {"train": sentences[:-_DEV], "dev": sentences[-_DEV:]}
        for name, part in parts.items():
            (home / f"{name}.txt").write_text("\n\n".join(part) + "\n", encoding="utf-8")
        files = {name: [str(home / f"{name}.txt")] for name in parts}
        both = {
            "chunk": {"task": "tag", "data": files},
            "pos": {"task": "tag", "weight": weight, "data": files | {"column": 2}},
        }
        for name, own in (
            ("chunks", {"task": "tag", "data": files}),
            ("chunks and parts of speech", {"task": "multitask", "heads": both}),
        ):
            started = time.process_time()
            found = _trained(name, own, steps, home)
            scores = _scores(found, folder / "test.txt")
            used = f"{(time.process_time() - started) / 60:.1f} min"
            rows.append({"learned": name, **scores, "steps": f"{steps:,}", "CPU time": used})
    return rows


def _trained(name: str, own: dict[str, Any], steps: int, home: Path) -> Any:
    metric = "f1" if own["task"] == "tag" else "chunk_f1"
    settings: dict[str, Any] = {
        "name": name.replace(" ", "-"),
        **own,
        "subwords": {"kind": "bpe", "size": 4_000},
        "batches": {"tokens": 2_048},
        "model": {"name": "bert", "preset": "tiny", "segments": "none"},
        "training": {
            "steps": steps, "validate_every": max(1, steps // 4), "checkpoint_every": steps, "metric": metric,
            "lanes": 1, "optimizer": {"name": "muon", "learning_rate": 0.005},
            "schedule": {"name": "cosine", "warmup": steps // 10},
        },
    }  # fmt: skip
    return train(settings, runs=home, progress=Progress(), expect=object).model


def _scores(opened: Any, test: Path) -> dict[str, str]:
    kind: Any = Multitask if hasattr(opened, "heads") else Tag
    found = kind.evaluate(opened, [test], Evaluation())
    return {score.name.removeprefix("chunk "): f"{score.value:.2f}" for score in found}


if __name__ == "__main__":
    main()

"""Time to quality: how long our recipe takes to a BLEU on val, and what Joey NMT reaches in the same time.

    python benchmarks/quality.py [--bleu 35] [--most 60] [--recipe recipes/multi30k-quick.toml]

Both begin with text files: learning subwords, encoding and validating count. Ours is `regard train` with the recipe.
Joey NMT trains a Transformer-Tiny by its own command, with a sentencepiece model and the settings of the
published one (batches of 4,096 tokens, rate 0.005, 2,000 steps of warm-up), its own loader and validation.
It gets the machine for as long as ours needed. The text is as it is written, and val is translated greedily and scored
as sacrebleu does it by default. Long: one run each.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import multi30k
from environments import PEERS, WORK, python_of
from measure import machine, print_table, write_json

from regard.runs.log import Log


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bleu", type=float, default=35.0, help="the quality wanted")
    parser.add_argument("--most", type=float, default=60.0, help="minutes after which ours has failed")
    parser.add_argument("--recipe", type=Path, default=multi30k.QUICK)
    parser.add_argument("--data", type=Path, help="the folder of Multi30k; ../shared/data/multi30k unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    data = multi30k.data_folder(options.data)
    python = python_of("joeynmt", options.work)
    work = options.work / "quality"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    ours = our_curve(options.recipe, data, work, options.bleu, options.most * 60)
    theirs = joey_curve(python, data, work, ours[-1][0])
    reached = ours[-1][1] >= options.bleu
    rows = [
        {
            "contestant": name,
            "minutes": f"{ours[-1][0] / 60:.1f}",
            "steps": f"{curve[-1][2]:,}" if curve else "0",
            "best BLEU on val": f"{max((bleu for _, bleu, _ in curve), default=0.0):.1f}",
        }
        for name, curve in (("Regard", ours), ("Joey NMT", theirs))
    ]
    title = f"Time to {options.bleu:g} BLEU on val" + ("" if reached else ": not reached")
    print(machine())
    print_table(title, rows)
    write_json(options.json, {title: rows})
    curves = {name: [list(point) for point in curve] for name, curve in (("Regard", ours), ("Joey NMT", theirs))}
    print(json.dumps({"seconds, BLEU and step of every validation": curves}))


Curve = list[tuple[float, float, int]]


def our_curve(recipe: Path, data: Path, work: Path, wanted: float, most: float) -> Curve:
    """Seconds, BLEU and step of our validations, until the BLEU is reached."""
    command = [sys.executable, "-m", "regard", "train", str(recipe), "--data", str(data), "--runs", str(work)]
    log = Log(work / "ours" / "log.jsonl")

    def seen() -> list[tuple[float, int]]:
        return [(entry["bleu"], entry["step"]) for entry in log.entries("valid") if entry["step"]]

    return watched([*command, "--set", "name=ours"], work, seen, most, lambda bleu: bleu >= wanted)


def joey_curve(python: str, data: Path, work: Path, most: float) -> Curve:
    """The same of Joey NMT's validations, for as long."""
    multi30k.write_texts(data, work)
    report = work / "joeynmt" / "validations.txt"
    pattern = re.compile(r"Steps:\s*(\d+).*?bleu:\s*([\d.]+)", re.IGNORECASE)

    def seen() -> list[tuple[float, int]]:
        text = report.read_text(encoding="utf-8") if report.exists() else ""
        return [(float(found[2]), int(found[1])) for found in pattern.finditer(text)]

    return watched([python, str(PEERS / "quality_joeynmt.py"), str(work)], work, seen, most, lambda bleu: False)


def watched(
    command: list[str],
    work: Path,
    seen: Callable[[], list[tuple[float, int]]],
    most: float,
    enough: Callable[[float], bool],
) -> Curve:
    """When each validation of a training came; the training is ended when there is enough, or no time left."""
    curve: Curve = []
    began = time.perf_counter()
    with (work / "log.txt").open("a", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while process.poll() is None and time.perf_counter() - began < most:
            time.sleep(0.5)
            curve += [(time.perf_counter() - began, *found) for found in seen()[len(curve) :]]
            if curve and enough(curve[-1][1]):
                break
    finally:
        process.kill()
        process.wait()
    if process.returncode > 0:
        raise SystemExit(f"{command[1:3]} stopped: see {work / 'log.txt'}")
    if not curve:
        curve = [(time.perf_counter() - began, 0.0, 0)]
    return curve


if __name__ == "__main__":
    main()

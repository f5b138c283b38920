"""Copying: the same model with a pointer-generator output and without, where much of a target stands in its source.

    python benchmarks/copying.py unknown                      words that no training text has
    python benchmarks/copying.py german spanish [--steps 6000]    inflection, SIGMORPHON 2017, 1,000 training examples;
                                                              any language whose files are in the folder of --data
                                                              (GERMAN-train-medium.gz, -dev.gz and -test.gz)

`unknown`: "swap A B" → "B A", "first A B" → "A" and "last A B" → "B", where A and B are new words in every line; with a
vocabulary of the three commands and two hundred frequent words, those of the test set are all outside it. Inflection:
the letters of a lemma and its tags, one token each, become the letters of a form. Exact matches on the test set. Both
ways, with copying and without (writing), have hallucinated stems, which teach copying too, unless --stems is 0. With
--model lstm, an LSTM with attention is inflecting instead of the recipe's Transformer. With --examples 100, only the
first hundred lines train.
"""

import argparse
import gzip
import os
import random
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from environments import ROOT, WORK
from measure import machine, print_table, write_json

from regard.loading import load
from regard.metrics.quality import exact_match

SHARED = ROOT.parent / "shared" / "data" / "sigmorphon2017"
RECIPES = {"unknown": ROOT / "recipes" / "copying.toml"}
INFLECTION = ROOT / "recipes" / "inflection.toml"
PARTS = {"train": "train-medium", "dev": "dev", "test": "test"}
WAYS = ["copying", "writing"]
MODELS = {
    "transformer": [],
    "lstm": ["model={ name = 'seq2seq', preset = 'small', copy = { attention = 'decoder' } }"],
}
"""how the recipe of inflection is changed"""
Rows = list[tuple[str, str]]


def main() -> None:
    """Train each, with copying and without, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", help="unknown, or languages of SIGMORPHON 2017: german, spanish …")
    parser.add_argument("--steps", type=int, default=6000, help="training steps of inflection; unknown words take 600")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="with copying, without it, or both")
    parser.add_argument("--stems", type=float, default=0.5, help="inflection: the share of hallucinated examples")
    parser.add_argument("--model", choices=MODELS, default="transformer", help="inflection: what is trained")
    parser.add_argument("--examples", type=int, default=1000, help="inflection: training examples")
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of SIGMORPHON 2017")
    parser.add_argument("--work", type=Path, default=WORK, help="where runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    rows = []
    for name in options.sets:
        few = name != "unknown" and options.examples != 1000
        folder = options.work / "copying" / (f"{name}-{options.examples}" if few else name)
        folder.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            lines = unknown(part) if name == "unknown" else inflected(options.data, name, part)
            write(folder, part, lines[: options.examples] if few and part == "train" else lines)
        steps = 600 if name == "unknown" else options.steps
        rows += [trained(folder, way, steps, options.stems, options.model) for way in options.ways]
    print(machine())
    print_table("Exact matches, %", rows)
    write_json(options.json, {"Exact matches, %": rows})


def trained(folder: Path, way: str, steps: int, stems: float, model: str) -> dict[str, str]:
    """Train one model, or resume it, and evaluate it on the test set."""
    sets = [f"data.{part}=['{folder / f'{part}.src'}', '{folder / f'{part}.tgt'}']" for part in ("train", "dev")]
    name = f"{way}-{steps}" + ("" if stems == 0.5 else f"-{stems:g}") + ("" if model == "transformer" else f"-{model}")
    changes = [f"name={name}", f"training.steps={steps}", *sets]
    changes += [] if folder.name == "unknown" else MODELS[model]
    changes += [] if way == "copying" else ["model.copy=none"]
    if folder.name != "unknown":
        changes += ["data.format=text", f"hallucination.rate={stems}" if stems else "hallucination=none"]
    else:
        changes += ["subwords.min_count=20", "model.dropout=0.1", "training.validate_every=200"]
    recipe = RECIPES.get(folder.name, INFLECTION)
    command: list[Any] = [sys.executable, "-m", "regard", "train", recipe, "--runs", folder / "runs"]
    for change in changes:
        command += ["--set", change]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    translator = load(folder / "runs" / name)
    sources, references = (
        (folder / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("src", "tgt")
    )
    outputs = [one.text for one in translator.translate(sources, split="line")]
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    exact = exact_match(outputs, references)
    minutes = f"{spent / 60:.1f}"
    told = f"{model}, {way}" if folder.name != "unknown" else way
    return {"set": folder.name, "model": told, "exact": f"{exact:.1f}", "CPU minutes of this call": minutes}


def unknown(part: str) -> Rows:
    """Commands about words; half of those in training come from two hundred, all others are new."""
    draw = random.Random(part)
    frequent = [made(random.Random(number)) for number in range(200)]
    rows = []
    for _ in range(4000 if part == "train" else 1000):
        one, other = (
            draw.choice(frequent) if part == "train" and draw.random() < 0.5 else made(draw) for _ in range(2)
        )
        command = draw.choice(["swap", "first", "last"])
        rows.append((f"{command} {one} {other}", {"swap": f"{other} {one}", "first": one, "last": other}[command]))
    return rows


def made(draw: random.Random) -> str:
    """A word of six to nine letters."""
    return "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(6, 9)))


def inflected(data: Path, language: str, part: str) -> Rows:
    """A lemma with its tags, and the form."""
    path = data / f"{language}-{PARTS[part]}.gz"
    if not path.exists():
        raise SystemExit(f"{path}: SIGMORPHON 2017 is not here; name its folder with --data")
    rows = (line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines())
    return [(f"{lemma} {tags}", form) for lemma, form, tags in rows]


def write(folder: Path, part: str, rows: Rows) -> None:
    """Two files, one for each side."""
    for side, texts in zip(("src", "tgt"), zip(*rows, strict=True), strict=True):
        (folder / f"{part}.{side}").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


if __name__ == "__main__":
    main()

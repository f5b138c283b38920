"""Pre-training on WikiText-2 for a fixed budget: BERT by masked tokens, T5 by hidden spans, and what a probe gains.

    python benchmarks/pretraining.py [--models bert t5] [--set training.steps=500] [--json FILE]

Each model learns with one thread from the first steps of WikiText-2. Then a linear probe tells the six kinds of TREC
questions from its features, which stay as they are, beside the features of the same architecture with random weights.
The table has the loss of hidden tokens on 400 lines of the validation text, at the first validation and at the
last, the accuracy of the probes on the 500 test questions, and the CPU time. An interrupted training is resumed.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import NamedTuple

from advised import train
from environments import WORK
from labels import SHARED, lay_out_trec
from measure import machine, print_table, write_json

from regard.representation.probing import probe

SETTINGS = """\
name = "{model}"
task = "{task}"
data = {{ train = ["{data}/train.txt.gz"], dev = ["dev.txt"] }}
subwords = {{ kind = "bpe", size = 8000 }}
streams = {{ rows = 16, length = 64 }}
model = {{ name = "{model}", preset = "{preset}", dropout = 0.0{more} }}

[training]
steps = {steps}
validate_every = {every}
checkpoint_every = {every}
optimizer = {{ name = "muon", learning_rate = {rate}, weight_decay = 0.01 }}
schedule = {{ name = "cosine", warmup = 50 }}
"""


class Recipe(NamedTuple):
    """How one model learns."""

    task: str
    preset: str
    steps: int
    rate: float
    more: str = ""


MODELS = {
    "bert": Recipe("masked", "small", 500, 0.006, ', positions = "rotary"'),
    "t5": Recipe("spans", "tiny", 1000, 0.003),
}
"""With learned positions, BERT guesses hidden tokens by their frequencies alone for thousands of steps."""


def main() -> None:
    """Train, probe, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--set", nargs="+", default=[], help="settings that differ")
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of wikitext-2 and trec")
    parser.add_argument("--work", type=Path, default=WORK, help="where questions and runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    for corpus in ("wikitext-2", "trec"):
        if not (options.data / corpus).exists():
            raise SystemExit(f"{options.data / corpus}: is not here; name its folder with --data")
    folder = options.work / "pretraining"
    folder.mkdir(parents=True, exist_ok=True)
    questions = lay_out_trec(options.data / "trec", folder)
    rows = [row(model, options.data / "wikitext-2", questions, folder, options.set) for model in options.models]
    title = "Pre-training on WikiText-2, and probes on TREC-6"
    print(machine())
    print_table(title, rows)
    write_json(options.json, {title: rows})


def row(model: str, data: Path, questions: tuple[Path, Path], folder: Path, sets: list[str]) -> dict[str, str]:
    """Train one model, and probe it."""
    recipe = MODELS[model]
    told = {"model": model, "every": recipe.steps // 5, "data": data.resolve(), **recipe._asdict()}
    settings = folder / f"{model}.toml"
    lines = gzip.decompress((data / "valid.txt.gz").read_bytes()).decode().splitlines(keepends=True)
    (folder / "dev.txt").write_text("".join(lines[:400]), encoding="utf-8")
    settings.write_text(SETTINGS.format(**told), encoding="utf-8")
    minutes = train(settings, folder / "runs", sets)
    log = (folder / "runs" / model / "log.jsonl").read_text("utf-8").splitlines()
    valid = [line for line in map(json.loads, log) if line["kind"] == "valid"]
    found = probe(folder / "runs" / model, questions[0], test=questions[1], shots=(1,), draws=1)
    own, random, raw = (f"{100 * one.probe.accuracy:.1f}" for one in found.encoders)
    return {
        "model": f"{model} {recipe.preset}",
        "steps": f"{valid[-1]['step']:,}",
        f"loss after {valid[0]['step']} steps": f"{valid[0]['loss']:.2f}",
        "at the end": f"{valid[-1]['loss']:.2f}",
        "probe": own,
        "probe of random weights": random,
        "probe of words (TF-IDF)": raw,
        "CPU minutes of this call": f"{minutes:.1f}",
    }


if __name__ == "__main__":
    main()

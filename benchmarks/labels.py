"""Models from scratch on labeled data: pictures of MNIST, questions of TREC-6, chunks of CoNLL-2000.

    python benchmarks/labels.py mnist [--models vit swin cnn] [--seeds 1] [--set training.steps=1000] [--json FILE]
    python benchmarks/labels.py trec [--seeds 1 2 3]
    python benchmarks/labels.py chunks

Each run is what `regard init` writes, with one thread and nothing edited but what --set and --seeds say. The table has
the score on the part of the training set that is held out, by which the best validation is chosen, the score on the
test set (accuracy in %, or F1 of chunks), and the CPU time. An interrupted training is resumed.
"""

import argparse
import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advised import advise_and_train
from environments import ROOT, WORK
from measure import machine, print_table, write_json

from regard.loading import load
from regard.runs.snapshot import open_artifact
from regard.tasks.task import TASKS, Evaluation

SHARED = ROOT.parent / "shared" / "data"


@dataclass(frozen=True)
class Corpus:
    """Where a corpus is, and how it is laid out for `regard init`."""

    title: str
    source: str
    lay_out: Callable[[Path, Path], tuple[Path, Path]]
    """from the folder of the corpus and one to write to: what to train on, and the test set"""
    metric: str
    models: tuple[str, ...] = ("",)


def main() -> None:
    """Train, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument("--models", nargs="+", help="instead of those that are compared by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--set", nargs="+", default=[], help="settings that differ from the advice")
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of mnist, trec and conll2000")
    parser.add_argument("--work", type=Path, default=WORK, help="where examples and runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    corpus = CORPORA[options.corpus]
    if not (options.data / corpus.source).exists():
        raise SystemExit(f"{options.data / corpus.source}: is not here; name its folder with --data")
    folder = options.work / "labels" / options.corpus
    folder.mkdir(parents=True, exist_ok=True)
    train, test = corpus.lay_out(options.data / corpus.source, folder)
    rows = [
        row(corpus, train, test, folder / "runs", model, seed, options.set)
        for model in options.models or corpus.models
        for seed in options.seeds
    ]
    print(machine())
    print_table(corpus.title, rows)
    write_json(options.json, {corpus.title: rows})


def row(corpus: Corpus, train: Path, test: Path, runs: Path, model: str, seed: int, sets: list[str]) -> dict[str, str]:
    """Train one model by one seed, and evaluate it."""
    name = "-".join(word for word in (model or "advice", str(seed), *sets) if word).replace("/", "_")
    init = ["--model", model] if model else []
    minutes = advise_and_train(train, runs, name, init, [f"training.seed={seed}", *sets])
    artifact = open_artifact(runs / name)
    score = TASKS.get(artifact.task, "task").evaluate(load(runs / name, expect=object), [test], Evaluation())[0]
    lines = [json.loads(line) for line in (runs / name / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    valid = [line for line in lines if line["kind"] == "valid"]
    return {
        "model": artifact.config["model"]["name"],
        "seed": str(seed),
        "weights": f"{sum(weights.numel() for weights in artifact.weights.values()):,}",
        "steps": f"{max(line['step'] for line in valid):,}",
        f"held out: {corpus.metric}": f"{100 * max(line[corpus.metric] for line in valid):.2f}",
        f"test: {score.name}": f"{score.value:.2f}",
        "CPU minutes of this call": f"{minutes:.1f}",
    }


def _mnist(source: Path, folder: Path) -> tuple[Path, Path]:
    return source, source / "t10k-images-idx3-ubyte.gz"


def lay_out_trec(source: Path, folder: Path) -> tuple[Path, Path]:
    """A label and a question a line, "0 How did serfdom develop ?", as two columns."""
    places = folder / "train.tsv", folder / "test.tsv"
    for place in places:
        text = gzip.decompress((source / f"TREC.{place.stem}.all.gz").read_bytes()).decode("windows-1252")
        place.write_text("".join(line.replace(" ", "\t", 1) + "\n" for line in text.splitlines()), encoding="utf-8")
    return places


def _chunks(source: Path, folder: Path) -> tuple[Path, Path]:
    with zipfile.ZipFile(source / "conll2000.zip") as archive:
        for part in ("train", "test"):
            (folder / f"{part}.txt").write_bytes(archive.read(f"conll2000/{part}.txt"))
    return folder / "train.txt", folder / "test.txt"


CORPORA: dict[str, Any] = {
    "mnist": Corpus("MNIST", "mnist", _mnist, "accuracy", ("vit", "swin", "cnn")),
    "trec": Corpus("TREC-6", "trec", lay_out_trec, "accuracy"),
    "chunks": Corpus("Chunks of CoNLL-2000", "conll2000", _chunks, "f1"),
}


if __name__ == "__main__":
    main()

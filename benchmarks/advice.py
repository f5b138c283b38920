"""Does `regard init` advise well: its settings against a grid of others, all with the same processor time.

    python benchmarks/advice.py [--budget 40] [--corpora SCAN dates] [--json benchmarks/results/advice.json]

For each corpus, every model of the grid with every tokenizer that makes sense there trains for a sixth of the time;
the two that give the validation set the highest probability, and the advised settings, then train for the whole. The
time is the processor time of all training steps in one thread, so that other work on the machine does not count;
`--budget` is that of the smallest corpora, others get a multiple of it. Of each, as many steps are done as fit, and
the learning rate falls over exactly these. Scores are of held-out pairs. Finished trainings are kept in the working
folder and not repeated unless their settings change. All corpora at 40 s take about three hours of a processor.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import statistics
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from advice_corpora import CORPORA, WEIGHTS, Parts
from environments import WORK
from measure import print_table, write_json

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import UNK
from regard.loading import load
from regard.metrics.bleu_tokenizer import bleu_tokenizer
from regard.metrics.quality import corpus_scores, exact_match
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Wishes
from regard.tasks.translate import Translate
from regard.training.interrupt import Interrupted
from regard.training.progress import Progress

ADVISED = "advised"
LIKELIHOOD = "bits per character"
WORST = -99.0
"""the score of settings that cannot be trained"""
UNKNOWN = 25.0
"""nats that a word outside of the vocabulary costs: about what spelling it would"""
VALIDATIONS = 4
WARM_UP, TIMED = 4, 12
"""training steps before a step is timed, which also fill caches, and those that are timed"""
QUICK = 1 / 6
"""the part of the time after which the grid is ranked"""
SUBWORDS = {
    "characters": {"kind": "character", "size": 4_000},
    "1,000 subwords": {"kind": "bpe", "size": 1_000},
    "8,000 subwords": {"kind": "bpe", "size": 8_000},
    "words": {"kind": "word", "size": 16_000},
}
MODELS: dict[str, dict[str, Any]] = {
    "Transformer": {
        "model": {"name": "transformer", "preset": "tiny", "decoder_layers": 2, "dropout": 0.2},
        "optimizer": {"name": "muon", "learning_rate": 0.006},
    },
    "RNN": {
        "model": {"name": "seq2seq", "preset": "dates", "dropout": 0.2},
        "optimizer": {"name": "muon", "learning_rate": 0.006},
    },
}


@dataclass(frozen=True)
class Tried:
    """A finished training: its score, the processor time that it took with its validations, and its steps."""

    score: float
    seconds: float
    steps: int


class Bench:
    """The trainings on one corpus, each of them done once."""

    def __init__(self, name: str, work: Path, budget: float) -> None:
        self.name, self.budget = name, budget * WEIGHTS.get(name, 1.0)
        self.folder = work / "".join(letter if letter.isalnum() else "-" for letter in name)
        self.kept = self.folder / "trainings.json"
        self.parts: Parts = CORPORA[name]()
        self.parts.write(self.folder)

    def advice(self) -> dict[str, Any]:
        """The settings that `regard init` writes for the corpus."""
        files = [self.folder / f"train.{side}" for side in ("source", "target")]
        dev = tuple(self.folder / f"dev.{side}" for side in ("source", "target"))
        advice = Translate.advise(files, Wishes(dev=dev, name="advised", out=self.folder / "run.toml"))
        if advice is None:
            raise SystemExit(f"{self.name}: there is no advice for it")
        return tomllib.loads(advice.text)

    def grid(self) -> dict[str, dict[str, Any]]:
        """Settings made by hand: every model with every tokenizer that makes sense for the text."""
        pieces = self.parts.tokenizers
        return {f"{model}, {subwords}": self._made(model, subwords) for model in MODELS for subwords in pieces}

    def best(self, seconds: float, among: Mapping[str, dict[str, Any]], metric: str) -> dict[str, Tried]:
        """What each of some settings reaches in that time, the best first."""
        found = {name: self.tried(name, table, seconds, metric) for name, table in among.items()}
        return dict(sorted(found.items(), key=lambda item: -item[1].score))

    def tried(self, name: str, table: dict[str, Any], seconds: float, metric: str) -> Tried:
        """What settings reach in that much processor time."""
        settings = {part: values for part, values in table.items() if part not in ("name", "data")}
        said = json.dumps([settings, seconds, metric], sort_keys=True)
        key = hashlib.sha256(said.encode()).hexdigest()[:16]
        kept = json.loads(self.kept.read_text(encoding="utf-8")) if self.kept.exists() else {}
        if key not in kept:
            try:
                made = self._train(table, seconds, metric)
            except Interrupted:
                raise
            except RegardError as error:  # such as words of which hardly one comes twice
                print(f"{self.name}: {name}: {error}", flush=True)
                made = Tried(WORST, 0.0, 0)
            kept[key] = {"name": name, "score": made.score, "seconds": made.seconds, "steps": made.steps}
            self.kept.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            print(f"{self.name}: {name}, {made.seconds:.0f} s: {metric} {made.score:.2f}", flush=True)
        return Tried(*(kept[key][field] for field in ("score", "seconds", "steps")))

    def _made(self, model: str, subwords: str) -> dict[str, Any]:
        parts = MODELS[model]
        joint = parts["model"]["name"] == "transformer"
        return {
            "name": "grid",
            "task": "translate",
            "data": {part: [f"{part}.source", f"{part}.target"] for part in ("train", "dev")},
            "subwords": SUBWORDS[subwords] | {"sharing": "joint" if joint else "separate"},
            "batches": {"tokens": 1_024},
            "model": parts["model"],
            "training": {
                "metric": self.parts.metric,
                "average": 3,
                "optimizer": parts["optimizer"],
                "schedule": {"name": "cosine", "warmup": 100},
            },
            "decoding": {
                "name": "beam",
                "size": 5,
                "patience": 10.0 if self.parts.metric == "exact" else 1.0,
                "max_ratio": 20.0 if self.parts.metric == "exact" else 2.0,
            },
        }

    def _train(self, table: dict[str, Any], seconds: float, metric: str) -> Tried:
        """Prepare, see how long a step takes, train for as many as fit, and score."""
        place = self.folder / "run"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        fit = int(seconds / step_time(table, place / "trial", self.folder))
        steps = max(VALIDATIONS, min(fit, table["training"].get("steps", fit)))
        training = dict(table["training"]) | {
            "steps": steps,
            "validate_every": steps // (1 if metric == LIKELIHOOD else VALIDATIONS),
            "checkpoint_every": steps,
            "lanes": 1,
        }
        training["schedule"] = training["schedule"] | {"warmup": min(training["schedule"]["warmup"], steps // 8)}
        began = time.process_time()
        train_run(run_of(table | {"training": training}, "run"), place, self.folder, Progress())
        spent = time.process_time() - began
        score = self._likelihood(place) if metric == LIKELIHOOD else self._score(place)
        shutil.rmtree(place)
        return Tried(score, spent, steps)

    def _likelihood(self, place: Path) -> float:
        """The log-probability of a character of the validation set, in bits; comparable between tokenizers."""
        sources, references = (list(side) for side in zip(*self.parts.dev, strict=True))
        translator = load(place)
        nats = sum(sum(values) for values in translator.score(sources, references))
        nats -= UNKNOWN * sum(ids.count(UNK) for ids in translator.target.encode_batch(references))
        return nats / math.log(2) / sum(len(reference) + 1 for reference in references)

    def _score(self, place: Path) -> float:
        sources, references = (list(side) for side in zip(*self.parts.test, strict=True))
        outputs = [one.text for one in load(place).translate(sources)]
        if self.parts.metric == "exact":
            return exact_match(outputs, references)
        measure = {"bleu": "BLEU", "chrf": "chrF"}[self.parts.metric]
        tokenize = bleu_tokenizer(None, references)
        return corpus_scores(outputs, references, measures=(measure,), tokenize=tokenize)[0].value


def step_time(table: dict[str, Any], place: Path, data: Path) -> float:
    """The processor time of a training step, in the precision that the trainer chooses, from a few of them."""
    training = dict(table["training"]) | {"steps": WARM_UP + TIMED, "log_every": WARM_UP, "lanes": 1}
    training["schedule"] = training["schedule"] | {"warmup": 1}
    files = {"train": table["data"]["train"]}
    train_run(run_of(table | {"data": files, "training": training}, "run"), place, data, Progress())
    lines = map(json.loads, (place / "log.jsonl").read_text(encoding="utf-8").splitlines())
    taken = [line["processor_seconds"] for line in lines if line["kind"] == "train"]
    return statistics.mean(taken[1:])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of processor time for a training")
    parser.add_argument("--corpora", nargs="*", choices=list(CORPORA), default=list(CORPORA), metavar="NAME")
    parser.add_argument("--grid", action="store_true", help="only the grid, without a table")
    parser.add_argument("--work", type=Path, default=WORK / "advice", help="where trainings are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["RAYON_NUM_THREADS"] = "1"  # for the tokenizers, which have not begun yet
    if options.grid:
        for name in options.corpora:
            finalists(Bench(name, options.work, options.budget))
        return
    rows = []
    for name in options.corpora:
        rows.append(row_of(Bench(name, options.work, options.budget)))
        print(rows[-1], flush=True)
    title = f"Advised settings beside the best of a grid, {options.budget:g} s of one thread each"
    print_table(title, rows)
    write_json(options.json, {title: rows})


def finalists(bench: Bench) -> dict[str, Tried]:
    """The best of the grid, the very best first."""
    grid = bench.grid()
    quick = bench.best(bench.budget * QUICK, grid, LIKELIHOOD)
    return bench.best(bench.budget, {name: grid[name] for name in list(quick)[:2]}, bench.parts.metric)


def row_of(bench: Bench) -> dict[str, str]:
    """What the advised settings reach, and the best of the grid."""
    table = bench.advice()
    winner, best = next(iter(finalists(bench).items()))
    ours = bench.tried(ADVISED, table, bench.budget, bench.parts.metric)
    kind = {"character": "characters", "word": "words"}.get(
        table["subwords"]["kind"], f"{table['subwords']['size']:,} subwords"
    )
    return {
        "corpus": bench.name,
        "pairs": f"{len(bench.parts.train):,}",
        "advised": f"{table['model']['name']}, {kind}",
        "metric": bench.parts.metric,
        "its score": f"{ours.score:.1f}",
        "best of the grid": f"{best.score:.1f} ({winner})",
        "advised / best": f"{ours.score / best.score:.2f}" if best.score else "–",
    }


if __name__ == "__main__":
    main()

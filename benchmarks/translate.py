"""Translating beside others: one trained model in the hands of each, test_2016_flickr, contestants taking turns.

    python benchmarks/translate.py [--model FILE] [--sentences 1000] [--rounds 5] [--data FOLDER] [--work FOLDER]

The model is trained with the quick Multi30k recipe unless one is given, for `--steps` steps: enough for outputs of the
right length. Ours takes texts and gives texts; the others are handed the subwords and give subwords, which is less
work. Each contestant first tries its own settings (workers, threads, sizes of batches) on a sample and keeps the
fastest, for many sentences and for one alone. BLEU is sacrebleu's with tok:none, the text is lower-cased and tokenized.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import multi30k
import sacrebleu
from contestants import Contestant
from environments import PEERS, WORK, python_of
from measure import machine, milliseconds, percentile, print_table, quartiles, spread, write_json
from weights import obstacle, write_weights

from regard.decoding.opening import subwords_of
from regard.runs.artifact import load_artifact
from regard.runs.folder import model_file

BEAMS = (1, 5)
OURS: dict[str, dict[str, Any]] = {
    "Regard float32": {},
    "Regard int8": {"precision": "int8"},
    "Regard int8, shortlist": {"precision": "int8", "shortlist": True},
}
BY_CTRANSLATE2: dict[str, tuple[str, bool]] = {
    "Regard by CTranslate2 float32": ("float32", False),
    "Regard by CTranslate2 int8, shortlist": ("int8", True),
}
"""the weights of an export, and whether to use its shortlist"""
PAIRS = (
    ("Regard float32", "CTranslate2 float32"),
    ("Regard by CTranslate2 float32", "CTranslate2 float32"),
    ("Regard int8", "CTranslate2 int8"),
    ("Regard int8, shortlist", "CTranslate2 int8"),
    ("Regard by CTranslate2 int8, shortlist", "CTranslate2 int8"),
    ("Regard float32", "Hugging Face generate"),
    ("Regard int8, shortlist", "Hugging Face generate"),
    ("Regard by CTranslate2 float32", "Hugging Face generate"),
    ("Regard by CTranslate2 int8, shortlist", "Hugging Face generate"),
    ("Regard float32", "Joey NMT"),
)
SLOW = 20.0
"""seconds: a contestant that takes longer for all sentences has one turn at them"""


@dataclass
class Entry:
    """A contestant and what it did, by beam."""

    name: str
    environment: str
    script: str
    arguments: list[str]
    disk: Path
    process: Contestant | None = None
    chosen: dict[int, Any] = field(default_factory=dict)
    outputs: dict[int, list[list[Any]]] = field(default_factory=dict)
    many: dict[int, list[dict[str, float]]] = field(default_factory=dict)
    one: dict[int, list[float]] = field(default_factory=dict)
    peak_mb: float = 0.0

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Let it do something."""
        if self.process is None:
            raise RuntimeError(f"{self.name} has not started")
        return self.process.ask(do, **request)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model file or the folder of a run, made with the recipe's text")
    parser.add_argument("--steps", type=int, default=800, help="how long to train where no model is given")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=20, help="sentences translated alone, in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="the contestants, by name")
    parser.add_argument("--data", type=Path, help="the folder of Multi30k; ../shared/data/multi30k unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and models are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    data = multi30k.data_folder(options.data)
    model = model_file(options.model or trained(options.work, data, options.steps))
    sources, references = multi30k.test_set(data, options.sentences)
    entries = enter(model, data, options.work, options.only)
    pair = subwords_of(load_artifact(model))
    file = options.work / "sentences.json"
    file.write_text(json.dumps(sentences(sources, pair)), encoding="utf-8")
    try:
        for entry in entries:
            start(entry, file, options.work)
        for beam in BEAMS:
            contest(entries, beam, len(sources), options.rounds, options.alone)
        for entry in entries:
            entry.peak_mb = entry.process.peak_mb() if entry.process else 0.0
    finally:
        for entry in entries:
            if entry.process is not None:
                entry.process.stop()
    results = {}
    print(machine())
    for beam in BEAMS:
        title = f"Translating {len(sources):,} sentences, beam {beam}"
        results[title] = [row(entry, entries, beam, pair, references) for entry in entries]
        print_table(title, results[title])
    results["Side by side"] = side_by_side(entries)
    if results["Side by side"]:
        print_table("Side by side", results["Side by side"])
    results["The same models at rest"] = [resting(entry) for entry in entries]
    print_table("The same models at rest", results["The same models at rest"])
    write_json(options.json, results)


def say(text: str) -> None:
    """Tell whoever waits how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text} …", file=sys.stderr, flush=True)


def trained(work: Path, data: Path, steps: int) -> Path:
    """The folder of a Transformer-Tiny that the quick recipe has trained so far that it translates."""
    sizes = ["subwords.size=8000", "model.decoder_layers=4"]
    changes = [f"training.steps={steps}", f"name=multi30k-{steps}"]
    often = [f"training.validate_every={steps}", f"training.checkpoint_every={max(1, steps // 3)}"]
    folder = work / "runs" / f"multi30k-{steps}"
    if not (folder / "model.safetensors").exists():
        say(f"training the Multi30k recipe for {steps} steps into {folder}")
    words = [word for change in [*multi30k.LOWER, *sizes, *changes, *often] for word in ("--set", change)]
    command = [sys.executable, "-m", "regard", "train", str(multi30k.QUICK), "--data", str(data)]
    done = subprocess.run([*command, "--runs", str(work / "runs"), *words], stdout=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{folder}: training ended with {done.returncode}; delete the folder to start anew")
    return folder


def enter(model: Path, data: Path, work: Path, only: list[str] | None) -> list[Entry]:
    """Everybody who takes part, with the model in their own form."""
    say("handing the model to everybody")
    exported = work / "exported"
    shutil.rmtree(exported, ignore_errors=True)
    exported.mkdir(parents=True)
    listed = with_shortlist(model, exported / "ours.safetensors", data)
    found = [
        Entry(name, "regard", "translate_ours.py", [str(listed), json.dumps(settings)], listed)
        for name, settings in OURS.items()
    ]
    for name, (kind, short) in BY_CTRANSLATE2.items():
        folder = exported / f"ours-{kind}"
        if export(listed, folder, kind):
            settings = json.dumps({"engine": "ctranslate2", "shortlist": short})
            found.append(Entry(name, "regard", "translate_ours.py", [str(folder), settings], folder))
    for kind in ("float32", "int8"):
        folder = exported / f"ctranslate2-{kind}"
        if export(model, folder, kind):
            found.append(
                Entry(f"CTranslate2 {kind}", "ctranslate2", "translate_ctranslate2.py", [str(folder), kind], folder)
            )
    found += [
        Entry("Hugging Face generate", "huggingface", "translate_huggingface.py", [], exported / "huggingface"),
        Entry("Joey NMT", "joeynmt", "translate_joeynmt.py", [], exported / "joeynmt"),
    ]
    chosen = [entry for entry in found if only is None or entry.name in only]
    return [entry for entry in chosen if entry.arguments or convert(entry, model, work)]


def with_shortlist(model: Path, copy: Path, data: Path) -> Path:
    """A copy of the model that knows the likely translations of each token."""
    shutil.copyfile(model, copy)
    texts = [str(data / f"train.lc.norm.tok.{side}.gz") for side in ("en", "de")]
    command = [sys.executable, "-m", "regard", "shortlist", str(copy), *texts]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return copy


def export(model: Path, folder: Path, kind: str) -> bool:
    """Give the model to CTranslate2, by our own command."""
    command = [sys.executable, "-m", "regard", "export", str(model), "--to", "ctranslate2", "--out", str(folder)]
    done = subprocess.run([*command, "--quantize", kind], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"CTranslate2 takes no part: {(done.stderr or done.stdout).strip()[-300:]}", file=sys.stderr)
    return done.returncode == 0


def convert(entry: Entry, model: Path, work: Path) -> bool:
    """Give the model to those who have no exporter: their driver renames our weights."""
    artifact = load_artifact(model)
    built = artifact.model()
    design = artifact.design()
    reason = obstacle(design)
    if reason is not None:
        print(f"{entry.name} takes no part: {reason}", file=sys.stderr)
        return False
    file = work / "exported" / "weights.npz"
    if not file.exists():
        write_weights(file, built, design)
    python = python_of(entry.environment, work)
    command = [python, str(PEERS / entry.script), "convert", str(file), str(entry.disk)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    entry.arguments = [str(entry.disk)]
    return True


def sentences(texts: list[str], pair: Any) -> dict[str, list[Any]]:
    """The test set as texts, ids with </s>, and pieces."""
    ids = [list(pair.source.encode(text)) for text in texts]
    return {
        "texts": texts,
        "ids": [[*row, 3] for row in ids],
        "pieces": [[pair.source.pieces[number] for number in row] for row in ids],
    }


def start(entry: Entry, file: Path, work: Path) -> None:
    """Start the contestant's process."""
    first, *rest = entry.arguments
    python = python_of(entry.environment, work)
    entry.process = Contestant(entry.name, python, entry.script, first, str(file), *rest, work=work)


def contest(entries: list[Entry], beam: int, count: int, rounds: int, alone: int) -> None:
    """All sentences at once, and some of them alone, in turns."""
    for entry in entries:
        say(f"beam {beam}: {entry.name} chooses its settings")
        entry.chosen[beam] = entry.ask("tune", beam=beam)
        entry.many[beam], entry.one[beam] = [], []
    for turn in range(rounds):
        say(f"beam {beam}: round {turn + 1} of {rounds}")
        for entry in entries[turn % len(entries) :] + entries[: turn % len(entries)]:
            if not entry.many[beam] or entry.many[beam][0]["seconds"] < SLOW:
                answer = entry.ask("many", beam=beam, count=count)
                entry.outputs[beam] = answer.pop("outputs")
                entry.many[beam].append(answer)
            entry.one[beam] += entry.ask("one", beam=beam, first=turn * alone, count=alone)["times"]


def row(entry: Entry, entries: list[Entry], beam: int, pair: Any, references: list[str]) -> dict[str, str]:
    """What a contestant did with a beam."""
    count = len(references)
    speeds = [count / one["seconds"] for one in entry.many[beam]]
    tokens = [one["tokens"] / one["seconds"] for one in entry.many[beam]]
    times = entry.one[beam]
    ours, first = entries[0], quartiles(times)[0]
    theirs = quartiles([one["seconds"] for one in entry.many[beam]])[0]
    mine = quartiles([one["seconds"] for one in ours.many[beam]])[0]
    texts = [text_of(output, pair) for output in entry.outputs[beam]]
    bleu = sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score
    return {
        "contestant": entry.name,
        "sentences/s": spread(quartiles(speeds), 0),
        "target tokens/s": f"{quartiles(tokens)[0]:,.0f}",
        "its time / ours": f"{theirs / mine:.2f}",
        "one sentence, median": milliseconds(first),
        "95 % within": milliseconds(percentile(times, 0.95)),
        "its median / ours": f"{first / quartiles(ours.one[beam])[0]:.2f}",
        "BLEU": f"{bleu:.2f}",
        "setting": setting(entry.chosen[beam]),
    }


def side_by_side(entries: list[Entry]) -> list[dict[str, str]]:
    """Ours against each of its like: above 1, ours is faster."""
    by_name = {entry.name: entry for entry in entries}
    rows = []
    for ours, other in PAIRS:
        if ours not in by_name or other not in by_name:
            continue
        row = {"ours": ours, "other": other}
        for beam in BEAMS:
            mine, theirs = by_name[ours], by_name[other]
            rounds = zip(mine.many[beam], theirs.many[beam], strict=False)  # who is slow has fewer
            ratios = [his["seconds"] / my["seconds"] for my, his in rounds]
            one = [quartiles(side.one[beam])[0] for side in (mine, theirs)]
            row[f"beam {beam}: faster by"] = f"{spread(quartiles(ratios), 2)} ×"
            row[f"beam {beam}: one sentence sooner by"] = f"{one[1] / one[0]:.2f} ×"
        rows.append(row)
    return rows


def text_of(output: list[Any], pair: Any) -> str:
    """The text of ids, or of pieces."""
    ids = [pair.target.pieces.index(token) if isinstance(token, str) else token for token in output]
    return str(pair.target.decode(ids))


def setting(chosen: dict[str, Any]) -> str:
    """The settings that were fastest, for many and for one."""
    if chosen["many"] is None:
        return "its own"
    if isinstance(chosen["many"], int):
        return f"batches of {chosen['many']}"
    workers, threads, tokens = chosen["many"]
    return f"{workers} × {threads} threads, {tokens} tokens; alone {chosen['one'][1]} threads"


def resting(entry: Entry) -> dict[str, str]:
    """What a contestant takes in memory, on disk and to start."""
    files = [entry.disk] if entry.disk.is_file() else [path for path in entry.disk.rglob("*") if path.is_file()]
    return {
        "contestant": entry.name,
        "peak memory": f"{entry.peak_mb:,.0f} MiB",
        "on disk": f"{sum(path.stat().st_size for path in files) / 2**20:.1f} MiB",
        "start, with the model": f"{entry.process.start_up if entry.process else 0:.1f} s",
    }


if __name__ == "__main__":
    main()

"""How well attention links words, beside eflomal: alignment error rates on hand-made links, in one run.

    python -m benchmarks.alignment --data FOLDER --work FOLDER

The text is the 2,250 sentence pairs of CzEnAli, whose links are known but not shown, and the 29,000 of Multi30k, all
lower-cased. Six Transformers are trained on it, three in each direction: one of each left to itself, one guided by
eflomal's links (by word stems), one guided by the links of the unaided two. Everything is kept in `--work`: whatever is
interrupted goes on when the same command is given again, and what is done is not done again.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, print_table, write_json
from regard.alignment import eflomal
from regard.alignment.aligner import Aligner
from regard.alignment.heads import rank_heads
from regard.alignment.symmetrizing import SYMMETRIZATIONS, flipped, intersection
from regard.data.links import Gold, Links, parse_links, read_gold, to_pharaoh
from regard.decoding.translator import Translator
from regard.loading import load
from regard.metrics.alignment_error import error_rates

SIDES = ("en", "cs")
DIRECTIONS = {"forward": SIDES, "backward": SIDES[::-1]}
TEACHERS = {"words": 0, "stems": eflomal.LETTERS}
"""eflomal by whole words, as it comes, and by the first letters of each, as `regard align eflomal` uses it"""
Rows = list[dict[str, str]]

SETTINGS = """
name = "{name}"

[data]
train = ["text.{source}", "text.{target}"]
source = "{source}"
target = "{target}"

[subwords]
size = 8000
sharing = "joint"

[batches]
tokens = {tokens}

[model]
name = "transformer"
preset = "tiny"
{model}

[training]
steps = {steps}
validate_every = 250
checkpoint_every = 250

[training.optimizer]
learning_rate = 0.003

[training.schedule]
name = "cosine"
warmup = {warmup}
"""
GUIDE = """
[training.guide]
links = "{links}"
weight = 10.0
shift = 1
"""
UNAIDED = "dropout = 0.2"
GUIDED = "encoder_layers = 2\ndecoder_layers = 2\nheads = 1\ndropout = 0.1"
"""fewer layers and one wide head for models that are to link words before all: the same links in a third of the time"""


def main() -> None:
    """Prepare, train what is not trained yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds czenali and multi30k")
    parser.add_argument("--work", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--kinds", nargs="+", choices=GUIDES, default=list(GUIDES), help="which models to train")
    parser.add_argument("--steps", type=int, default=3000, help="of each unaided training")
    parser.add_argument("--guided-steps", type=int, default=9000, help="of each guided one, which are smaller")
    parser.add_argument("--threads", type=int, default=1, help="of each training; two run side by side")
    parser.add_argument("--json", help="also write the tables to this file")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    gold = prepare(options.data, options.work)
    rows = [row for name, letters in TEACHERS.items() for row in eflomal_rows(options.work, name, letters, gold)]
    for kind in options.kinds:
        guide = GUIDES[kind]
        if guide is not None:
            guide(options.work)
        train(options.work, kind, options.guided_steps if guide else options.steps, guide is not None, options.threads)
        rows += model_rows(options.work, kind, gold)
    print(f"\n{machine()}; English to Czech is forward, {len(gold):,} sentence pairs with known links")
    print_table("Alignment error rate", rows)
    write_json(options.json, {"alignment": rows})


def prepare(data: Path, work: Path) -> list[Gold]:
    """The text to learn from, the sentences with known links first; and these links."""
    for side in SIDES:
        lines = [line.lower() for line in _lines(data / "czenali" / f"gold.{side}.gz")]
        lines += _lines(data / "multi30k" / f"train.lc.norm.tok.{side}.gz")
        _write(work / f"text.{side}", lines)
    return read_gold(data / "czenali" / "gold.links.gz")


# eflomal


def eflomal_rows(work: Path, name: str, letters: int, gold: list[Gold]) -> Rows:
    """eflomal on all of the text, in both directions."""
    kept = work / f"{name}.json"
    if not kept.exists():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        both = eflomal.align_pairs(zip(*(_text(work, side) for side in SIDES), strict=True), letters)
        for direction, links in zip(DIRECTIONS, both, strict=True):
            _write(work / f"{name}.{direction}", map(to_pharaoh, links))
        kept.write_text(json.dumps({"seconds": resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before}))
    forward, backward = (_links(work / f"{name}.{direction}") for direction in DIRECTIONS)
    label = f"eflomal, {letters} letters of each word" if letters else "eflomal"
    return table_rows(label, forward, backward, gold, json.loads(kept.read_text())["seconds"])


def eflomal_guide(work: Path) -> None:
    """The better links of eflomal to learn from."""
    _write_guide(work, "eflomal", *(_links(work / f"stems.{direction}") for direction in DIRECTIONS))


# Models


def train(work: Path, kind: str, steps: int, guided: bool, threads: int) -> None:
    """Both directions, side by side."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda direction: _train_one(work, direction, kind, steps, guided, threads), DIRECTIONS))


def _train_one(work: Path, direction: str, kind: str, steps: int, guided: bool, threads: int) -> None:
    name = f"{direction}-{kind}"
    spent = _spent(work, name)
    if spent["done"]:
        return
    source, target = DIRECTIONS[direction]
    sizes = {"model": GUIDED, "tokens": 1024} if guided else {"model": UNAIDED, "tokens": 2048}
    text = SETTINGS.format(name=name, source=source, target=target, steps=steps, warmup=300, **sizes)
    text += GUIDE.format(links=f"{kind}.{direction}.links") if guided else ""
    settings = work / f"{name}.toml"
    settings.write_text(text)
    command = [sys.executable, "-m", "regard", "train", str(settings), "--runs", str(work / "runs")]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with (work / f"{name}.log").open("a") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = spent["seconds"] + used.ru_utime + used.ru_stime
    (work / f"{name}.json").write_text(json.dumps({"seconds": seconds, "done": process.returncode == 0}))
    if process.returncode:
        raise SystemExit(f"{name}: training ended with {process.returncode}; see {work / name}.log")


def _spent(work: Path, name: str) -> dict[str, Any]:
    kept = work / f"{name}.json"
    return json.loads(kept.read_text()) if kept.exists() else {"seconds": 0.0, "done": False}


def model_rows(work: Path, kind: str, gold: list[Gold]) -> Rows:
    """The links of two models between the sentences with known links, which only measure them."""
    sources, targets = (_text(work, side)[: len(gold)] for side in SIDES)
    forward, backward = both_ways(work, kind, sources, targets)
    seconds = sum(_spent(work, f"{name}-{kind}")["seconds"] for name in DIRECTIONS)
    label = "attention, unaided" if kind == "unaided" else f"attention, guided by {kind} links"
    return table_rows(label, forward, backward, gold, seconds)


def both_ways(work: Path, kind: str, sources: list[str], targets: list[str]) -> tuple[list[Links], list[Links]]:
    """What each model links by its best head: the guided one, else the one that agrees most with the other model."""
    ahead, back = (translator(work / "runs" / f"{name}-{kind}") for name in DIRECTIONS)
    choices = [None, None]
    if kind == "unaided":
        few = slice(0, 1000)
        choices = [
            rank_heads(one, read[few], said[few], reverse=other).best
            for one, other, read, said in ((ahead, back, sources, targets), (back, ahead, targets, sources))
        ]
        print(*(f"{kind}: {choice}" for choice in choices), sep="\n", flush=True)
    forward = Aligner(ahead, heads=choices[0]).align(sources, targets)
    return forward, [flipped(links) for links in Aligner(back, heads=choices[1]).align(targets, sources)]


def own_guide(work: Path) -> None:
    """The links of the unaided models to learn from."""
    if not (work / "own.backward.links").exists():
        _write_guide(work, "own", *both_ways(work, "unaided", *(_text(work, side) for side in SIDES)))


GUIDES = {"eflomal": eflomal_guide, "unaided": None, "own": own_guide}
"""what models are guided by, in the order of training: the last learn from those before them"""


def translator(path: Path) -> Translator:
    """The model of a run."""
    loaded = load(path)
    if not isinstance(loaded, Translator):
        raise SystemExit(f"{path}: not a translation model")
    return loaded


# Tables and files


def table_rows(name: str, forward: list[Links], backward: list[Links], gold: list[Gold], seconds: float) -> Rows:
    """A row for each direction and each way to put both together."""
    ways = {"forward": forward, "reverse": backward}
    for way, symmetrize in SYMMETRIZATIONS.items():
        ways[way] = [symmetrize(one, other) for one, other in zip(forward, backward, strict=True)]
    rows = [_row(name, way, links[: len(gold)], gold, seconds) for way, links in ways.items()]
    for row in rows:
        print(*row.values(), sep="  ", flush=True)
    return rows


def _row(name: str, way: str, links: list[Links], gold: list[Gold], seconds: float) -> dict[str, str]:
    rates = error_rates(links, gold)
    return {
        "links by": name,
        "put together": way,
        "AER": f"{rates.error_rate:.1%}",
        "precision": f"{rates.precision:.1%}",
        "recall": f"{rates.recall:.1%}",
        "CPU time": f"{seconds:,.0f} s",
    }


def _write_guide(work: Path, name: str, forward: list[Links], backward: list[Links]) -> None:
    """The links that both directions have, since what is learned should be right."""
    links = [intersection(one, other) for one, other in zip(forward, backward, strict=True)]
    _write(work / f"{name}.forward.links", map(to_pharaoh, links))
    _write(work / f"{name}.backward.links", (to_pharaoh(flipped(own)) for own in links))


def _links(path: Path) -> list[Links]:
    return [parse_links(line, str(path)) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def _text(work: Path, side: str) -> list[str]:
    return (work / f"text.{side}").read_text(encoding="utf-8").split("\n")[:-1]


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def _write(path: Path, lines: object) -> None:
    content = "".join(f"{line}\n" for line in lines)  # type: ignore[attr-defined]
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

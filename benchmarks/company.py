"""Alone and beside other work: what Regard keeps of its speed when a busy process shares the cores.

    python benchmarks/company.py [training lane translating serving] [--model RUN] [--rounds 5] [--data FOLDER]

In each round every contestant works alone and then beside a process that never rests. "asleep" is how Regard's threads
wait (`regard/base/waiting.py`), "spinning" is what OpenMP does by itself, set as a user's own setting. Training has one
thread for each lane, as is the default, or one lane that all threads share; translating takes 200 sentences at beam 5,
serving one sentence at a time from each of four clients. Beside one busy process on two cores the fair share is a half
to three quarters. The time of the processor is given too, since other users of the machine stretch only wall time.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import multi30k
from contestants import Contestant
from environments import WORK
from measure import machine, print_table, quartiles, spread, write_json
from server import load, serving
from translate import sentences, trained

from regard.base.waiting import PASSIVE
from regard.decoding.opening import subwords_of
from regard.runs.artifact import load_artifact
from regard.runs.folder import model_file

WAYS = {"asleep": dict(PASSIVE), "spinning": {"GOMP_SPINCOUNT": "300000", "KMP_BLOCKTIME": "200"}}
KINDS = {
    "training": "tokens/s",
    "lane": "tokens/s",
    "translating": "sentences/s",
    "serving": "sentences/s",
}
MANY, CLIENTS, SERVED = 200, 4, 4.0
Turn = Callable[[], tuple[float, float | None]]
"""does a bit of work; gives its speed, and the processor's time for one unit, where it is known"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all unless given")
    parser.add_argument(
        "--model", type=Path, help="a translation model; the one of benchmarks/translate.py unless given"
    )
    parser.add_argument("--steps", type=int, default=2, help="of training in each turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="the folder of Multi30k; ../shared/data/multi30k unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and models are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    data = multi30k.data_folder(options.data)
    rows = []
    for kind in options.kinds or KINDS:
        with ExitStack() as stack:
            turns = {way: stack.enter_context(open_turns(kind, way, options, data)) for way in WAYS}
            rows += measured(kind, turns, options.rounds)
    print(machine())
    print_table("Alone and beside a busy process", rows)
    write_json(options.json, {"Alone and beside a busy process": rows})


def measured(kind: str, turns: dict[str, Turn], rounds: int) -> list[dict[str, str]]:
    """The rows of one kind of work: each way alone and in company, in turns, after a turn to warm up."""
    found: dict[str, list[tuple[tuple[float, float | None], tuple[float, float | None]]]] = {way: [] for way in turns}
    for at in range(rounds + 1):
        for way, turn in turns.items():
            alone = turn()
            with busy():
                beside = turn()
            if at:
                found[way].append((alone, beside))
            print(f"{kind}, {way}: {alone[0]:.0f} alone, {beside[0]:.0f} beside", file=sys.stderr, flush=True)
    return [row(kind, way, pairs, found["asleep"]) for way, pairs in found.items()]


def row(kind: str, way: str, pairs: list, ours: list) -> dict[str, str]:
    """What one way of waiting did: speeds are medians, ratios medians within rounds."""
    alone, beside = ([one[at][0] for one in pairs] for at in (0, 1))
    costs = [[one[at][1] for one in pairs if one[at][1] is not None] for at in (0, 1)]
    kept = [after / before for before, after in zip(alone, beside, strict=True)]
    against = [mine[0][0] / other for mine, other in zip(ours, alone, strict=True)]
    return {
        "work": kind,
        "threads wait": way,
        "alone": f"{quartiles(alone)[0]:,.0f} {KINDS[kind]}",
        "beside": f"{quartiles(beside)[0]:,.0f} {KINDS[kind]}",
        "kept": spread(quartiles(kept), 2),
        "asleep / this, alone": spread(quartiles(against), 2),
        "processor time, alone and beside": " and ".join(f"{quartiles(c)[0] * 1e6:,.0f} µs" for c in costs if c),
    }


@contextmanager
def open_turns(kind: str, way: str, options: argparse.Namespace, data: Path) -> Iterator[Turn]:
    """A process that works whenever it is asked to, with threads that wait in this way."""
    with environment(WAYS[way]), ExitStack() as stack:
        if kind in ("training", "lane"):
            file = multi30k.batch_file(options.work, data, 40)
            lanes = ["{}", "1"] if kind == "lane" else []
            process = Contestant(f"{kind} {way}", sys.executable, "train_ours.py", str(file), *lanes, work=options.work)
            stack.callback(process.stop)
            turn = training_turn(process, options.steps)
        else:
            model = model_file(options.model or trained(options.work, data, 800))
            texts = multi30k.test_set(data, MANY)[0]
            if kind == "translating":
                turn = translating_turn(stack, way, model, texts, options.work)
            else:
                turn = serving_turn(stack, model, texts)
        yield turn


def training_turn(process: Contestant, steps: int) -> Turn:
    """Some steps of Transformer-Tiny."""

    def turn() -> tuple[float, float | None]:
        done = process.ask("steps", count=steps)
        return done["tokens"] / done["seconds"], done["worked"] / done["tokens"]

    return turn


def translating_turn(stack: ExitStack, way: str, model: Path, texts: list[str], work: Path) -> Turn:
    """Many sentences at beam 5, in torch."""
    file = work / "company.json"
    file.write_text(json.dumps(sentences(texts, subwords_of(load_artifact(model)))), encoding="utf-8")
    given = (str(model), str(file), json.dumps({"engine": "torch"}))
    process = Contestant(f"translating {way}", sys.executable, "translate_ours.py", *given, work=work)
    stack.callback(process.stop)
    process.ask("tune", beam=5)

    def turn() -> tuple[float, float | None]:
        done = process.ask("many", beam=5, count=MANY)
        return MANY / done["seconds"], done["worked"] / MANY

    return turn


def serving_turn(stack: ExitStack, model: Path, texts: list[str]) -> Turn:
    """A server, and clients that wait for each answer."""
    port, languages = stack.enter_context(serving(str(model), "--engine", "torch"))
    expected = dict.fromkeys(texts, "")

    def turn() -> tuple[float, float | None]:
        return asyncio.run(load(port, languages, expected, CLIENTS, SERVED)).rate, None

    return turn


@contextmanager
def environment(wanted: dict[str, str]) -> Iterator[None]:
    """Inside, processes are started with these variables of OpenMP's and no others."""
    before = {name: os.environ.pop(name, None) for name in PASSIVE}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def busy() -> Iterator[None]:
    """Inside, another process computes without a pause."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()

"""Ranks against one process: speed of a step, encoding by several processes, and memory on a large corpus.

    python benchmarks/ranks.py speed overhead encoding memory --pairs 50000000

speed: one process with two lanes (two threads) against two ranks of one thread; overhead: a rank that is alone against
a plain loop without lanes, a step of each in turns; encoding: one process against two, on a corpus large enough that
Regard uses several; memory: what each of two ranks holds that train on a store of so many generated pairs.
Processor time is given besides wall time, because a busy machine stretches only the latter; ways take turns.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from data import write
from measure import print_table
from torch.distributed import TCPStore

from regard.base.joining import joined_ranks
from regard.base.ranks import ALONE, Ranks
from regard.data.chunk_plan import plan_of
from regard.data.corpus import Counts, open_corpus
from regard.data.encoding import encoded_in_order
from regard.data.loader import Loader
from regard.data.pairs import Batch, collate
from regard.data.plan import BatchSettings
from regard.data.store import RowWriter, Store, Tokens
from regard.data.subwords.learn import SubwordSettings, train_pair
from regard.data.subwords.tokenizer import Subwords
from regard.models.transformer import Transformer
from regard.training.lanes import Lanes
from regard.training.loss import CrossEntropy, Loss
from regard.training.optimizer import take_step
from regard.training.optimizers.adam import Adam

VOCABULARY = 8_000
DESIGN = Transformer(encoder_layers=4, decoder_layers=4, width=128, feedforward=256, heads=4, dropout=0.3)


def objective(model: Any, item: Batch) -> Loss:
    """The loss of pairs, given the true tokens before each."""
    hidden = model.hidden(item.source, item.source_lengths, item.target_in)
    return CrossEntropy(smoothing=0.1)(model, hidden, item.target_out)


def batch(seed: int, tokens: int) -> Batch:
    """A batch of sentences of like lengths."""
    draw = np.random.default_rng(seed)
    rows = [draw.integers(4, VOCABULARY, size=draw.integers(18, 24)) for _ in range(tokens // 22)]
    return collate(rows, rows)


class Steps:
    """A model that takes steps, alone or with other ranks."""

    def __init__(self, lanes: int | None, ranks: Ranks = ALONE) -> None:
        torch.manual_seed(1)
        self.model = DESIGN.build({"source": VOCABULARY, "target": VOCABULARY}).train()
        self.optimizers = Adam().build(self.model)
        self.lanes = None if lanes is None else Lanes(self.model, lanes, ranks)

    def take(self, item: Batch) -> None:
        """One step; without lanes, as plainly as torch can."""
        if self.lanes is None:
            (objective(self.model, item).total / item.count).backward()
            take_step(self.optimizers)
            return
        self.lanes.backward(objective, [item], item.count, [1])
        with self.lanes.lane_threads():
            take_step(self.optimizers)


def timed(steps: Steps, rounds: int, tokens: int) -> list[tuple[float, float]]:
    """The wall time and the processor time of each step, after two to warm up."""
    found = []
    for number in range(rounds + 2):
        item = batch(number, tokens)
        wall, own = time.perf_counter(), time.process_time()
        steps.take(item)
        found.append((time.perf_counter() - wall, time.process_time() - own))
    return found[2:]


def in_ranks(ranks: int, work: Callable[[Ranks], Any]) -> list[Any]:
    """The JSON values of some work in forked ranks; all are forked before the store has a thread beside them."""
    told = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    port, tell_port = os.pipe()
    pipes = []
    for rank in range(ranks):
        reading, writing = os.pipe()
        pipes.append(reading)
        if not os.fork():
            code = 1
            try:
                own_port = os.read(port, 5).decode().strip()
                os.environ.update(told, RANK=str(rank), LOCAL_RANK=str(rank), MASTER_PORT=own_port)
                with joined_ranks() as own:
                    os.write(writing, json.dumps(work(own)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=60), wait_for_workers=False)
    os.write(tell_port, f"{store.port:5d}".encode() * ranks)
    os.close(tell_port)
    os.close(port)
    results = [json.loads(os.fdopen(pipe, "rb").read()) for pipe in pipes]
    for _ in range(ranks):
        os.wait()
    return results


def speed(repeats: int, rounds: int, tokens: int) -> list[dict[str, Any]]:
    """Rows of the table: each way to take a step, in forks of this process, in turns."""

    def one(threads: int, lanes: int) -> Callable[[Ranks], Any]:
        def work(ranks: Ranks) -> Any:
            torch.set_num_threads(threads)
            return timed(Steps(lanes, ranks), rounds, tokens)

        return work

    ways = {
        "1 rank, 1 lane, 1 thread": (1, one(1, 1)),
        "1 rank, 2 lanes, 2 threads": (1, one(2, 2)),
        "2 ranks, 2 lanes, 1 thread each": (2, one(1, 2)),
        "4 ranks, 4 lanes, 1 thread each": (4, one(1, 4)),
    }
    walls: dict[str, list[float]] = {name: [] for name in ways}
    owns: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, (ranks, work) in ways.items():
            found = in_ranks(ranks, work)
            walls[name] += [max(times) for times in zip(*([wall for wall, _ in own] for own in found), strict=True)]
            owns[name] += [sum(times) for times in zip(*([own for _, own in rank] for rank in found), strict=True)]
    turns = {
        name: [median(wall[at : at + rounds]) for at in range(0, len(wall), rounds)] for name, wall in walls.items()
    }
    lanes = turns["1 rank, 2 lanes, 2 threads"]
    ratios = {name: [one / other for one, other in zip(lanes, own, strict=True)] for name, own in turns.items()}
    rows = [
        {
            "way": name,
            "speed_against_lanes": round(median(ratios[name]), 3),
            "spread": f"{min(ratios[name]):.2f} to {max(ratios[name]):.2f}",
            "tokens_per_second": round(tokens / median(walls[name])),
            "tokens_per_processor_second": round(tokens / median(owns[name])),
            "seconds": round(median(walls[name]), 4),
        }
        for name in ways
    ]
    for row in rows:
        print(row, flush=True)
    return rows


def overhead(rounds: int, tokens: int) -> list[dict[str, Any]]:
    """What lanes add to a plain step where there is one rank with one lane: the median of the rounds' ratios."""
    ways = {"plain loop": Steps(None), "1 rank, 1 lane": Steps(1)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 2):
        item = batch(number, tokens)
        for name in sorted(ways, reverse=bool(number % 2)):
            own = time.process_time()
            ways[name].take(item)
            times[name].append(time.process_time() - own)
    plain, lanes = (own[2:] for own in times.values())
    ratio = median(more / less for more, less in zip(lanes, plain, strict=True))
    row = {"plain_ms": 1e3 * median(plain), "lanes_ms": 1e3 * median(lanes), "overhead": ratio - 1}
    rows = [{name: round(value, 4) for name, value in row.items()}]
    print(rows[0], flush=True)
    return rows


def encoding(lines: int, repeats: int) -> list[dict[str, Any]]:
    """Encode generated text by one and by two processes, in turns.

    The speed-up by processor time is that of cores that do nothing else: one's time over half of the two's sum.
    """
    walls: dict[int, list[float]] = {1: [], 2: []}
    spent: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{side}.txt" for side in ("source", "target")]
        for seed, path in enumerate(files):
            write(path, lines, seed)
        corpus = open_corpus(*files)
        pair = train_pair(corpus, SubwordSettings(lines=50_000))
        texts = list(corpus.rows())
        for processes in (1, 2) * repeats:
            fresh = [Subwords.from_json(side.to_json()) for side in (pair.source, pair.target)]  # no memo
            batches = [texts[at : at + 8_192] for at in range(0, len(texts), 8_192)]
            wall, own = time.perf_counter(), time.process_time() + _children()
            for _ in encoded_in_order(iter(batches), fresh, processes):
                pass
            walls[processes].append(time.perf_counter() - wall)
            spent[processes].append(time.process_time() + _children() - own)
    rows = []
    for processes in (1, 2):
        by_wall, by_processor = median(walls[1]) / median(walls[processes]), median(spent[1]) / median(spent[processes])
        row = {"seconds": median(walls[processes]), "processor_seconds": median(spent[processes])}
        row |= {"speedup": by_wall, "speedup_by_processor_time": processes * by_processor}
        rows.append({"processes": processes, **{name: round(value, 2) for name, value in row.items()}})
        print(rows[-1], flush=True)
    return rows


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pairs: int, folder: Path | None, steps: int = 5) -> list[dict[str, Any]]:
    """Train two ranks on a generated store, and print what each of them held at most."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        began = time.perf_counter()
        _generate(Path(place), pairs)
        print(f"generated {pairs:,} pairs in {time.perf_counter() - began:.0f} s", flush=True)

        def work(ranks: Ranks) -> Any:
            torch.set_num_threads(1)
            sides = tuple(Tokens(Path(place), f"side{at}", "<u2") for at in range(2))
            store = Store(Path(place), sides, Counts())
            settings = BatchSettings()
            began = time.perf_counter()
            loader = Loader(store, plan_of(store, settings))
            items = loader.walk()
            model = Steps(2, ranks)
            for _, item in zip(range(steps), items, strict=False):
                model.take(item[1])
            batches, _ = loader.epoch()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            seconds = round(time.perf_counter() - began, 1)
            return {"rank": ranks.rank, "peak_gb": round(peak, 3), "batches": batches, "seconds": seconds}

        rows = [{"pairs": pairs, **row} for row in in_ranks(2, work)]
    for row in rows:
        print(row, flush=True)
    return rows


def _generate(folder: Path, pairs: int, chunk: int = 1_000_000) -> None:
    """A store of pairs with random tokens and lengths."""
    draw = np.random.default_rng(1)
    with ExitStack() as files:
        for at in range(2):
            writer = RowWriter(files, folder, f"side{at}", "<u2")
            for start in range(0, pairs, chunk):
                lengths = draw.integers(3, 28, min(chunk, pairs - start))
                writer.write_flat(draw.integers(4, VOCABULARY, int(lengths.sum()), dtype="<u2"), lengths)
            writer.finish()


def main() -> None:
    """Run what is asked for, print tables, then JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["speed", "overhead", "encoding", "memory"])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=BatchSettings().tokens, help="of a batch")
    parser.add_argument("--repeats", type=int, default=3, help="how often each way has its turn")
    parser.add_argument("--lines", type=int, default=400_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder if not given")
    options = parser.parse_args()
    torch.set_num_threads(1)
    work: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "speed": lambda: speed(options.repeats, options.rounds, options.tokens),
        "overhead": lambda: overhead(5 * options.rounds, options.tokens),
        "encoding": lambda: encoding(options.lines, options.repeats),
        "memory": lambda: memory(options.pairs, options.folder),
    }
    results = {what: work[what]() for what in options.what}
    for what, rows in results.items():
        print_table(what, [{name: str(value) for name, value in row.items()} for row in rows])
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()

"""How much memory and time the way from text files to batches takes.

    python benchmarks/data.py --pairs 10000000

Makes a corpus of that many pairs, learns subwords from its beginning, encodes it and reads batches at random places.
Prints a table, then the same as JSON.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.corpus import open_corpus
from regard.data.loader import Loader
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.store import build_store
from regard.data.subwords.learn import SubwordSettings, train_pair

WORDS = 60_000
CHUNK = 20_000


def main() -> None:
    """Run all steps and print what each cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=1_000_000, help="pairs that the subwords are learned from")
    parser.add_argument("--batches", type=int, default=2_000, help="batches to read")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run(Path(folder), options.pairs, options.sample, options.batches)


def run(folder: Path, pairs: int, sample: int, batches: int) -> None:
    """Each step in turn, timed."""
    rows: list[dict[str, Any]] = []

    def timed(step: str, work: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        result = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append({"step": step, "seconds": round(time.perf_counter() - begin, 1), "peak_mb": round(peak)})
        print(f"{step:<44}{rows[-1]['seconds']:>9.1f} s{peak:>9,.0f} MB", flush=True)
        return result

    source, target = folder / "source.txt", folder / "target.txt"
    timed(f"generate {pairs:,} pairs", lambda: [write(path, pairs, seed) for seed, path in enumerate((source, target))])
    corpus = open_corpus(source, target)
    subwords = timed("learn subwords", lambda: train_pair(corpus, SubwordSettings(lines=sample)))
    store = timed("encode", lambda: build_store(folder / "store", corpus, subwords))
    timed("open again", lambda: build_store(folder / "store", corpus, subwords))
    lengths = [side.lengths for side in store.sides]
    plan = BatchPlan(lengths[0], lengths[1], BatchSettings())
    made = timed("plan an epoch", lambda: plan.plan(0))
    loader = Loader(store, plan)
    some = range(0, len(made), max(1, len(made) // batches))
    counts = timed(f"read {len(some):,} batches", lambda: np.sum([count(loader, index) for index in some], axis=0))
    report = {
        "pairs": pairs,
        "steps": rows,
        "batches": len(made),
        "source_padding": round(1 - float(counts[0] / counts[1]), 4),
        "target_padding": round(1 - float(counts[2] / counts[3]), 4),
    }
    print(json.dumps(report))


def write(path: Path, lines: int, seed: int) -> None:
    """Lines of made-up words, as unevenly frequent as those of a language."""
    draw = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    shape = np.exp(-np.arange(len(letters)) / 8)
    drawn = [draw.choice(letters, size, p=shape / shape.sum()) for size in draw.integers(1, 12, WORDS)]
    words = np.array(["".join(word) for word in drawn], dtype=object)
    # Lengths depend on the line alone, so that sources and targets are about equally long.
    shared = np.random.default_rng(-1 % 2**32)
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, lines, CHUNK):
            size = min(CHUNK, lines - first)
            lengths = shared.gamma(4, 4, size).astype(int) + 2 + draw.integers(0, 3, size)
            ranks = (WORDS ** draw.random(int(lengths.sum()))).astype(int) - 1
            text, ends = words[ranks], np.cumsum(lengths)
            file.writelines(
                " ".join(text[end - length : end]) + "\n" for end, length in zip(ends, lengths, strict=True)
            )


def count(loader: Loader, index: int) -> tuple[int, int, int, int]:
    """Real and padded tokens of the two sides of a batch."""
    batch = loader.at(BatchPosition(index=index))
    return int(batch.source_lengths.sum()), batch.source.numel(), batch.count, batch.target_out.numel()


if __name__ == "__main__":
    main()

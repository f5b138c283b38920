"""Training beside others: Transformer-Tiny on the same real batches of Multi30k, contestants taking turns.

    python benchmarks/train.py [--rounds 7] [--steps 2] [--data FOLDER] [--work FOLDER] [--json FILE]

Everybody has the same sizes (4 + 4 layers, width 128, feed-forward 256, 4 heads, 8,000 joint subwords in one table),
the same dropout of 0.3 on embeddings and branches, the same label-smoothed loss, clipping and Adam (fused where it is
ours to choose). Ours runs in its own trainer, Joey NMT in its own, the others in the plain loop of `peers/training.py`.
Products are computed in float32, but where the name says otherwise, and in ours, which chooses by measuring.
With its own loader, Joey NMT begins with the same text and makes its own subwords and batches of it.

The limit is the time of the step's matrix products alone (`products.py`), done with all threads together or by each
thread on its own pairs, whichever is faster.
"""

import argparse
from pathlib import Path
from typing import Any

from contestants import Contestant, rounds
from environments import WORK, python_of
from measure import machine, print_table, quartiles, spread, write_json
from multi30k import batch_file, data_folder, write_texts

CONTESTANTS = {
    "Regard": ("regard", "train_ours.py"),
    "Regard, float32": ("regard", "train_ours.py", "float32"),
    "Hugging Face Marian": ("huggingface", "train_huggingface.py"),
    "Hugging Face Marian, bfloat16": ("huggingface", "train_huggingface.py", "bfloat16"),
    "x-transformers": ("x_transformers", "train_x_transformers.py"),
    "nn.Transformer": ("regard", "train_nn_transformer.py"),
    "Joey NMT": ("joeynmt", "train_joeynmt.py"),
    "Joey NMT, its own loader": ("joeynmt", "train_joeynmt.py"),
}
LIMITS = {
    "products, threads together": ("regard", "train_products.py", "together"),
    "products, threads apart": ("regard", "train_products.py", "apart"),
}
Answers = dict[str, list[dict[str, Any]]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often everybody has a turn")
    parser.add_argument("--steps", type=int, default=2, help="how many steps a turn has")
    parser.add_argument("--only", nargs="*", default=list(CONTESTANTS), help="the contestants, by name")
    parser.add_argument("--data", type=Path, help="the folder of Multi30k; ../shared/data/multi30k unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and batches are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    data = data_folder(options.data)
    file, texts = batch_file(options.work, data, 40), write_texts(data, options.work / "texts", ".lc.norm.tok")
    chosen = {name: CONTESTANTS[name] for name in CONTESTANTS if name in options.only} | LIMITS
    pythons = {name: python_of(environment, options.work) for name, (environment, *_) in chosen.items()}
    running: dict[str, Contestant] = {}
    try:
        for name, (_, script, *more) in chosen.items():
            given = str(texts if name.endswith("its own loader") else file)
            running[name] = Contestant(name, pythons[name], script, given, *more, work=options.work)
        requests = [{"do": "steps", "count": options.steps}] * (options.rounds + 1)
        answers = rounds(running, requests, warm_up=1)
        memory = {name: one.peak_mb() for name, one in running.items()}
    finally:
        for one in running.values():
            one.stop()
    title = f"Training Transformer-Tiny on Multi30k, {options.rounds} rounds of {options.steps} steps"
    results = {title: table(answers, memory)}
    print(machine())
    print_table(title, results[title])
    print(limit_line(answers))
    write_json(options.json, results)


def table(answers: Answers, memory: dict[str, float]) -> list[dict[str, str]]:
    """A row for each contestant."""
    best = limit(answers)
    ours = next(iter(answers))
    rows = []
    for name in answers:
        if name in LIMITS:
            continue
        speeds = speeds_of(answers[name])
        shares = [mine / most for mine, most in zip(speeds, speeds_of(answers[best]), strict=True)]
        ahead = [mine / theirs for mine, theirs in zip(speeds_of(answers[ours]), speeds, strict=True)]
        work = [1e6 * one["worked"] / one["tokens"] for one in answers[name]]
        rows.append(
            {
                "contestant": name,
                "target tokens/s": spread(quartiles(speeds), 0),
                "share of the limit": spread(quartiles([100 * share for share in shares]), 0) + " %",
                f"{ours} is faster by": "" if name == ours else spread(quartiles(ahead), 2) + " ×",
                "processor time": f"{quartiles(work)[0]:,.0f} µs/token",
                "peak memory": f"{memory[name]:,.0f} MiB",
                "memory, of Hugging Face's": ratio(memory, name, "Hugging Face Marian"),
            }
        )
    return rows


def speeds_of(answers: list[dict[str, Any]]) -> list[float]:
    """Target tokens/s in each round."""
    return [one["tokens"] / one["seconds"] for one in answers]


def ratio(values: dict[str, float], name: str, other: str) -> str:
    """What one has of another's, if that took part."""
    return f"{values[name] / values[other]:.2f}" if other in values else ""


def limit(answers: Answers) -> str:
    """The faster way to do the products."""
    return min(LIMITS, key=lambda name: quartiles([one["seconds"] for one in answers[name]])[0])


def limit_line(answers: Answers) -> str:
    """How fast the products are alone."""
    parts = []
    for name in LIMITS:
        tokens = quartiles(speeds_of(answers[name]))[0]
        # What it gives for losses are the numbers of operations.
        operations = sum(sum(one["losses"]) for one in answers[name])
        rate = operations / sum(one["seconds"] for one in answers[name]) / 1e9
        parts.append(f"{name}: {tokens:,.0f} target tokens/s, {rate:,.0f} GFLOP/s")
    return "\nThe limit is the faster of: " + "; ".join(parts)


if __name__ == "__main__":
    main()

"""A plan past this machine: the model of `regard doctor`, checked against 1, 2 and 4 processes, carried to many GPUs.

    python benchmarks/scale.py [--measured ranks.json]

Costs are measured here: seconds and gradient bytes of a step, bytes a second between two processes, bytes of the store.
With `--measured`, a JSON of `benchmarks/ranks.py speed`, the predictions for 2 and 4 processes are compared with it.
Then the same model predicts GPUs, whose figures are assumptions that the options name, and the size of 10⁹ pairs.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from measure import print_table

from regard.apps.scaling import StepCost

WAYS = {1: "1 rank, 1 lane, 1 thread", 2: "2 ranks, 2 lanes, 1 thread each", 4: "4 ranks, 4 lanes, 1 thread each"}


def check(measured: list[dict[str, Any]], cost: StepCost, cores: int) -> list[dict[str, Any]]:
    """Predicted and measured seconds of a step; ranks beyond the cores share them."""
    by_way = {row["way"]: row["seconds"] for row in measured}
    rows = []
    for ranks, way in WAYS.items():
        if way not in by_way:
            continue
        used = min(ranks, cores)
        crowd = ranks / used
        predicted = cost.compute / used + cost.update * crowd + max(0.0, cost.sending(ranks) * crowd)
        error = predicted / by_way[way] - 1
        rows.append(
            {"ranks": ranks, "predicted": round(predicted, 3), "measured": by_way[way], "error": round(error, 2)}
        )
    return rows


def carried(weights: float, tokens: float, flops: float, bandwidth: float) -> list[dict[str, Any]]:
    """Steps and tokens a second on GPUs, with the same batch on each (weak scaling)."""
    rows = []
    for ranks in (1, 8, 64, 512):
        compute = 6 * weights * tokens * ranks / flops
        cost = StepCost(compute=compute, update=20 * weights / 1e12, gradient_bytes=4 * weights, bandwidth=bandwidth)
        seconds = cost.seconds(ranks)
        rows.append(
            {
                "GPUs": ranks,
                "ms a step": round(1e3 * seconds, 1),
                "tokens/s": f"{tokens * ranks / seconds:.2e}",
                "efficiency": round(cost.seconds(1) / ranks / seconds, 2),
                "10^9 pairs in hours": round(1e9 * 30 / (tokens * ranks / seconds) / 3600, 1),
            }
        )
    return rows


def store(pairs: float, tokens: float) -> dict[str, Any]:
    """The bytes of an encoded corpus, and of what a process keeps in memory of it."""
    on_disk = pairs * 2 * (2 * tokens + 8)
    return {
        "pairs": f"{pairs:.0e}",
        "store on disk": f"{on_disk / 1e9:,.0f} GB",
        "order in memory, whole": f"{20 * pairs / 1e9:,.1f} GB",
        "order in memory, chunks": f"{pairs / 256 * 16 / 1e6:,.0f} MB",
    }


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a table."""
    print_table(title, [{name: str(value) for name, value in row.items()} for row in rows])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path)
    parser.add_argument("--update", type=float, default=0.01, help="seconds of the optimizer in a step here")
    parser.add_argument("--gradients", type=float, default=12.3e6, help="bytes of gradients of the measured model")
    parser.add_argument("--loopback", type=float, default=1.5e9, help="bytes a second between two processes here")
    parser.add_argument("--weights", type=float, default=60e6, help="of the model on GPUs: a Transformer-Base")
    parser.add_argument("--tokens", type=float, default=16_384, help="target tokens of a step on each GPU")
    parser.add_argument("--flops", type=float, default=1e14, help="that a GPU really computes in a second")
    parser.add_argument("--network", type=float, default=400.0, help="Gbit/s between GPUs")
    options = parser.parse_args()
    if options.measured:
        rows = json.loads(options.measured.read_text(encoding="utf-8"))["speed"]
        one = next(row["seconds"] for row in rows if row["way"] == WAYS[1])
        cost = StepCost(
            compute=one - options.update,
            update=options.update,
            gradient_bytes=options.gradients,
            bandwidth=options.loopback,
        )
        show("here, in seconds a step", check(rows, cost, len(os.sched_getaffinity(0))))
    network = options.network * 1e9 / 8
    show("on GPUs", carried(options.weights, options.tokens, options.flops, network))
    show("data", [store(pairs, 30) for pairs in (5e7, 1e9)])


if __name__ == "__main__":
    main()

"""Graph networks beside PyG's: time and memory of a step on Cora and on a graph of a million edges.

python benchmarks/graphs.py CORA.npz [--json FILE] [--rounds N]
"""

import argparse
from pathlib import Path

from contestants import Contestant, rounds
from environments import WORK, python_of
from measure import machine, print_table, quartiles, spread, write_json

COUNTS = {"Cora": 10, "a million edges": 1}


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cora", help="Cora as an .npz file")
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and logs are kept")
    given = parser.parse_args()
    print(machine())
    rows = []
    for graph, place in (("Cora", given.cora), ("a million edges", "million")):
        for model in ("gat", "gcn"):
            rows.append(_beside(graph, place, model, given.rounds, given.work))
    print_table("A step of training on the whole graph", rows)
    write_json(given.json, {"A step of training on the whole graph": rows})


def _beside(graph: str, place: str, model: str, count: int, work: Path) -> dict[str, str]:
    contestants = {
        name: Contestant(name, python_of(name, work), f"graphs_{name}.py", place, model, work=work)
        for name in ("ours", "pyg")
    }
    found = rounds(contestants, [{"do": "steps", "count": COUNTS[graph]}] * (count + 1), warm_up=1)
    times = {name: [answer["seconds"] / COUNTS[graph] for answer in answers] for name, answers in found.items()}
    ratios = [theirs / ours for ours, theirs in zip(times["ours"], times["pyg"], strict=True)]
    peaks = {name: contestant.peak_mb() for name, contestant in contestants.items()}
    for contestant in contestants.values():
        contestant.stop()
    return {
        "graph": graph,
        "model": model,
        "ours": f"{1000 * quartiles(times['ours'])[0]:.1f} ms",
        "PyG": f"{1000 * quartiles(times['pyg'])[0]:.1f} ms",
        "PyG / ours": spread(quartiles(ratios), 2),
        "memory, ours": f"{peaks['ours']:,.0f} MB",
        "memory, PyG": f"{peaks['pyg']:,.0f} MB",
    }


if __name__ == "__main__":
    main()

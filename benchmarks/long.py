"""Attention over long sequences: time and memory of each way by length, and beside other implementations.

python benchmarks/long.py [--json FILE] [--picture FILE] [--longest N] [--longest-exact N] [--rounds N]

Time is processor time of one thread, forward and backward, so that a busy machine changes it little, of calls after a
first one. Freed memory is kept by the process, as in training: given back and taken anew, page by page, it would cost a
third of the time at long lengths. Peak memory is what the first call adds to a process that had given all back. Peers
run in environments of their own, in turns with ours, as they come and with memory kept too.
"""

import argparse
import math
from pathlib import Path
from typing import Any

from contestants import Contestant, rounds
from environments import WORK, python_of
from measure import machine, print_table, quartiles, spread, write_json

LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
WAYS = {
    "plain": "exact",
    "fused": "exact",
    "blockwise": "exact",
    "window": "linear",
    "bigbird": "linear",
    "linformer": "linear",
    "performer": "linear",
    "linear": "linear",
}
"""each way, and how its cost should grow"""
MOST = {"plain": 4096}
"""the longest sequence of a way that holds all pairs"""
PEERS = {
    "performer": ("performer-pytorch", "long_range"),
    "performer, causal": ("performer-pytorch", "long_range"),
    "linformer": ("linformer", "long_range"),
    "linear": ("linear-attention-transformer", "long_range"),
    "linear, causal": ("linear-attention-transformer", "long_range"),
    "bigbird": ("transformers' BigBird", "huggingface"),
    "xlnet": ("transformers' XLNet", "huggingface"),
}
"""each comparison: the other implementation, and the environment that has it"""
PEER_LENGTH = {"xlnet": 512}
WARM = 3
"""calls of a layer before it is timed: the first ones still gather memory"""


def main() -> None:
    """Print and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write the tables to this file")
    parser.add_argument("--picture", type=Path, help="draw time and memory by length to this file")
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], help="the longest sequence; 0: peers alone")
    parser.add_argument("--longest-exact", type=int, default=LENGTHS[-1], help="the same for exact ways")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and logs are kept")
    given = parser.parse_args()
    lengths = [length for length in LENGTHS if length <= given.longest]
    print(machine())
    found = measured(lengths, given.rounds, given.work, given.longest_exact) if lengths else {}
    tables = (
        {}
        if not lengths
        else {
            "Seconds, forward and backward (batch 1, 2 heads of width 64)": by_length(
                found, lengths, "seconds", "{:.3f}"
            ),
            "MiB that a call adds": by_length(found, lengths, "mb", "{:.0f}"),
            "How it grows": growth(found, lengths),
        }
    )
    if not given.without_peers:
        tables["Beside others, a layer of width 128, 2 heads, 4,096 tokens"] = beside(given.rounds, given.work)
    for title, rows in tables.items():
        print_table(title, rows)
    write_json(given.json, tables)
    if given.picture:
        draw(found, given.picture)


Found = dict[str, dict[int, dict[str, float]]]


def measured(lengths: list[int], count: int, work: Path, exact: int) -> Found:
    """Seconds and MiB of each way at each length; the ways take turns."""
    contestant = Contestant("long", python_of("ours", work), "long_ours.py", work=work)
    found: Found = {way: {} for way in WAYS}
    for length in lengths:
        most = {way: exact if kind == "exact" else length for way, kind in WAYS.items()} | MOST
        able = [way for way in WAYS if length <= most[way]]
        taken: dict[str, list[dict[str, float]]] = {way: [] for way in able}
        for turn in range(count + 1):
            for way in able:
                once = WAYS[way] == "exact" and length >= 8192  # so long that warming up does not matter
                if not (once and turn):
                    taken[way].append(contestant.ask("attend", way=way, length=length, fresh=turn == 0))
        for way, answers in taken.items():
            warm = [answer["seconds"] for answer in answers[1:]] or [answers[0]["seconds"]]
            found[way][length] = {"seconds": quartiles(warm)[0], "mb": answers[0]["mb"]}
    contestant.stop()
    return found


def by_length(found: Found, lengths: list[int], key: str, form: str) -> list[dict[str, str]]:
    """A row for each way."""
    return [
        {"way": way} | {f"{length:,}": form.format(own[length][key]) if length in own else "" for length in lengths}
        for way, own in found.items()
    ]


def growth(found: Found, lengths: list[int]) -> list[dict[str, str]]:
    """The slope on log-log axes from 4,096 tokens on, and how much faster than the fused exact kernel at 16,384."""
    rows = []
    for way, own in found.items():
        many = [length for length in lengths if length >= 4096 and length in own] or [max(own)]
        at = 16384 if 16384 in own else max(own)
        faster = found["fused"][at]["seconds"] / own[at]["seconds"]
        slopes = {key: slope(many, [own[length][key] for length in many]) for key in ("seconds", "mb")}
        linear = WAYS[way] == "linear"
        met = "" if not linear else "yes" if slopes["seconds"] <= 1.15 and faster >= 5 else "no"
        rows.append(
            {
                "way": way,
                "slope of time": f"{slopes['seconds']:.2f}",
                "slope of memory": f"{slopes['mb']:.2f}",
                "faster than fused": f"{faster:.1f} × at {at:,}",
                "linear, and 5 × faster": met,
            }
        )
    return rows


def slope(lengths: list[int], values: list[float]) -> float:
    """The slope of the least-squares line on log-log axes."""
    xs, ys = [math.log(length) for length in lengths], [math.log(max(value, 1e-9)) for value in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / max(1e-12, sum((a - x) ** 2 for a in xs))


def beside(count: int, work: Path) -> list[dict[str, str]]:
    """Our layer and another's, in turns, each in its own process."""
    rows = []
    for name, (theirs, environment) in PEERS.items():
        length = PEER_LENGTH.get(name, 4096)
        peer = (python_of(environment, work), "long_peers.py", name, str(length))
        all_three = {
            "ours": Contestant(f"ours {name}", python_of("ours", work), "long_ours.py", name, str(length), work=work),
            "theirs": Contestant(theirs, *peer, work=work),
            "kept": Contestant(f"{theirs} kept", *peer, "kept", work=work),
        }
        answers: dict[str, list[dict[str, Any]]] = rounds(all_three, [{"do": "layer"}] * (count + WARM), warm_up=WARM)
        times = {who: [answer["seconds"] for answer in own] for who, own in answers.items()}
        ratios = {
            who: [other / ours for ours, other in zip(times["ours"], times[who], strict=True)]
            for who in ("theirs", "kept")
        }
        for contestant in all_three.values():
            contestant.stop()
        rows.append(
            {
                "layer": name,
                "length": f"{length:,}",
                "beside": theirs,
                "ours": f"{1000 * quartiles(times['ours'])[0]:.0f} ms",
                "theirs": f"{1000 * quartiles(times['theirs'])[0]:.0f} ms",
                "theirs / ours": spread(quartiles(ratios["theirs"]), 2),
                "theirs with memory kept / ours": spread(quartiles(ratios["kept"]), 2),
            }
        )
    return rows


def draw(found: Found, out: Path) -> None:
    """Time and memory by length, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for axes, key, label in zip(
        figure.subplots(1, 2), ("seconds", "mb"), ("seconds, forward and backward", "MiB added"), strict=True
    ):
        for way, own in found.items():
            style = "--" if WAYS[way] == "exact" else "-"
            shown = {length: one[key] for length, one in own.items() if key == "seconds" or one[key] >= 1}
            axes.plot(list(shown), list(shown.values()), style, marker="o", ms=3, label=way)
        axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel=label)
        axes.set_xticks(LENGTHS, [f"{length // 1024}k" for length in LENGTHS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    axes.legend(fontsize=8, ncols=2)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()

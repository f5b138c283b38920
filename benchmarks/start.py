"""How long `regard translate` takes for one line, command to answer: with torch, and from what is kept ready.

    python benchmarks/start.py runs/en-de [--rounds 10] [--json FILE]

Both are processes of their own, taking turns; `REGARD_NATIVE=0` leaves the compiled layers out, so that torch computes.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from statistics import median
from typing import Any

from measure import machine, print_table, write_json

WAYS: dict[str, dict[str, str]] = {"kept ready": {}, "with torch": {"REGARD_NATIVE": "0"}}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model file, or the folder of a run")
    parser.add_argument("--line", default="Two dogs play in the snow.", help="what is translated")
    parser.add_argument("--rounds", type=int, default=10, help="so often each, after one that is not counted")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    taken: dict[str, list[tuple[float, float, str]]] = {way: [] for way in WAYS}
    for _ in range(1 + options.rounds):
        for way, settings in WAYS.items():
            taken[way].append(timed(options.model, options.line, settings))
    rows: list[dict[str, Any]] = []
    for way, (_, *counted) in taken.items():
        wall, processor = [one[0] for one in counted], [one[1] for one in counted]
        rows.append(
            {
                "way": way,
                "seconds": f"{median(wall):.2f} ({min(wall):.2f}–{max(wall):.2f})",
                "processor seconds": f"{median(processor):.2f} ({min(processor):.2f}–{max(processor):.2f})",
                "same text": str(all(one[2] == taken["with torch"][0][2] for one in counted)),
            }
        )
    title = "regard translate, one line"
    print(machine())
    print_table(title, rows)
    write_json(options.json, {title: rows})


def timed(model: str, line: str, settings: dict[str, str]) -> tuple[float, float, str]:
    """Wall time and processor time of the command, and its answer."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "regard", "translate", model]
    done = subprocess.run(
        command, input=f"{line}\n", env=os.environ | settings, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, spent, done.stdout


if __name__ == "__main__":
    main()

"""The results as Markdown: the tables of `benchmarks/results/*.json`, with their date and machine.

python benchmarks/report.py [FILE.json …]
"""

import argparse
import json
from pathlib import Path

from measure import print_table

RESULTS = Path(__file__).resolve().parent / "results"


def main() -> None:
    """Print every table of the given files, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", help="all that are kept, unless given")
    for path in parser.parse_args().files or sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if "results" not in content:
            continue
        print(f"\n<!-- {path.name} -->\nTaken on {content['date']} ({content['machine']}).")
        for title, rows in content["results"].items():
            print_table(title, rows)


if __name__ == "__main__":
    main()

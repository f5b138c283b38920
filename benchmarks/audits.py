"""The laws of attention in well-known libraries: a table for docs/audit.md.

python benchmarks/audits.py [--json FILE] [--markdown FILE]
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

from environments import PEERS, ROOT, WORK, python_of
from measure import machine

SIGNS = {"holds": "holds", "breaks": "**breaks**", "does not apply": "–"}


def main() -> None:
    """Audit each library in an environment that has them all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write all verdicts to this file")
    parser.add_argument("--markdown", help="also write the table to this file")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments are kept")
    given = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python_of("audited", given.work), str(PEERS / "audit_libraries.py")]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    table = "\n".join(_table(reports))
    print(f"{machine()}\n\n{table}")
    for path, text in ((given.markdown, table + "\n"), (given.json, json.dumps(reports, indent=1) + "\n")):
        if path:
            Path(path).write_text(text, encoding="utf-8")


def _table(reports: list[dict]) -> list[str]:
    laws = [verdict["law"] for verdict in reports[0]["verdicts"]]
    lines = [
        "| | " + " | ".join(law.replace("_", " ") for law in laws) + " | seconds |",
        "|---" * (len(laws) + 2) + "|",
    ]
    for report in reports:
        cells = [
            verdict["detail"].split()[0]
            if verdict["law"] == "low_precision" and verdict["outcome"] == "holds"
            else SIGNS[verdict["outcome"]]
            for verdict in report["verdicts"]
        ]
        lines.append(f"| {report['name']} | " + " | ".join(cells) + f" | {report['seconds']:.0f} |")
    lines.append("")
    for report in reports:
        for verdict in report["verdicts"]:
            if verdict["outcome"] == "breaks":
                lines.append(f"- {report['name']}, {verdict['law'].replace('_', ' ')}: {verdict['detail']}.")
    return lines


if __name__ == "__main__":
    main()

"""Killed at every file operation, and two trainings at once in one folder."""

import subprocess
import sys
from pathlib import Path

from tests.apps.running import ROOT
from tests.faults.campaign import LONG, report
from tests.faults.runs import TABLES, train, write_data

TRAIN = """
import sys
from pathlib import Path
from regard.base.errors import RegardError
from tests.faults.runs import TABLES, train
try:
    train(TABLES, Path(sys.argv[1]), Path(sys.argv[1]) / "run")
except RegardError as error:
    print(error)
    raise SystemExit(7)
"""


def test_killed_at_every_file_operation(tmp_path: Path) -> None:
    if not LONG:  # tests/tasks/test_start.py has it
        return
    done = subprocess.run(
        [sys.executable, "-m", "tests.tasks.killed", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    killed, _, total = done.stdout.partition(" of ")
    report("killed at a file operation", int(killed), int(total))


def test_of_trainings_at_once_in_one_folder_one_runs(tmp_path: Path) -> None:
    write_data(tmp_path)
    expected = train(TABLES, tmp_path, tmp_path / "alone")
    crowd = [
        subprocess.Popen([sys.executable, "-c", TRAIN, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(6 if LONG else 2)
    ]
    said = [one.communicate()[0] for one in crowd]
    codes = [one.returncode for one in crowd]
    assert 0 in codes
    refused = [text for text, code in zip(said, codes, strict=True) if code]
    good = sum("is writing this run" in text for text in refused) + codes.count(0)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == expected
    report("trainings at once", good, len(crowd))

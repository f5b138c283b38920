import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.apps.cli import main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_regard(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_REGARD_COMPLETE=complete_" + shell in capsys.readouterr().out


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "cmd"]) == 2
    assert "bash" in capsys.readouterr().err


def completed(words: str) -> list[str]:
    asked = {"_REGARD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    command = [sys.executable, "-m", "regard"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | asked
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.split()


def test_commands_and_options_are_completed() -> None:
    assert completed("regard tra") == ["train", "translate"]
    assert "--set" in completed("regard train --s")

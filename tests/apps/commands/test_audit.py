import json
from pathlib import Path

import pytest

from regard.apps.cli import main

LEAKY = "def attend(query, key, value, keep):\n    return (query @ key.mT).softmax(-1) @ value\n"


def test_a_sound_attention_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = "torch.nn.functional:scaled_dot_product_attention"
    files = ["--json", f"{tmp_path}/audit.json", "--badge", f"{tmp_path}/audit.svg"]
    assert main(["audit", target, "--law", "company", "--law", "caching", "--examples", "3", *files]) == 0
    printed = capsys.readouterr().out
    assert "1 of 1 laws hold, 1 do not apply" in printed
    assert json.loads((tmp_path / "audit.json").read_text())["verdicts"][0]["outcome"] == "holds"
    assert (tmp_path / "audit.svg").read_text().startswith("<svg")


def test_a_broken_law_fails_with_the_smallest_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "leaky_under_audit.py").write_text(LEAKY)
    assert main(["audit", f"{tmp_path}/leaky_under_audit.py:attend", "--law", "forbidden"]) == 1
    assert "forbidden  breaks" in capsys.readouterr().out


def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "torch.nn:Nothing"]) == 2
    assert capsys.readouterr().err == "regard: audit: torch.nn has no 'Nothing'\n"
    assert main(["audit", "torch.nn.functional:relu", "--law", "gravity"]) == 2

import json
from pathlib import Path

import pytest
import tomli_w

from tests.apps.running import Run
from tests.comparison.test_comparing import TABLES


def test_settings_stand_side_by_side_with_an_answer_and_a_picture(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("full.toml").write_text(tomli_w.dumps(TABLES), encoding="utf-8")
    asked = ("compare", "full.toml", "--vary", "model.mask=window(2),none", "--steps", "2", "--seeds", "1")
    done = run(*asked, "--out", "cost.png")
    head, *rows = (line.split("\t") for line in done.out.partition("\n\n")[0].splitlines())
    assert head == ["settings", "quality", "seconds", "MiB", "weights", "steps"]
    assert [row[0] for row in rows] == ["full, mask=window(2)", "full, mask=none"]
    assert "is best: accuracy" in done.out
    assert Path("cost.png").read_bytes().startswith(b"\x89PNG")
    told = json.loads(run(*asked, "--json").out)
    assert [one["steps"] for one in told["settings"]] == [2, 2]


def test_run_files_and_models_do_not_mix(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("full.toml").write_text(tomli_w.dumps(TABLES), encoding="utf-8")
    for asked, said in (
        (("full.toml", "runs/en-de", "--steps", "2"), "give them alone"),
        (("full.toml",), "give one budget"),
        (("runs/en-de",), "there is no such file or folder"),
    ):
        done = run("compare", *asked)
        assert done.code == 2
        assert said in done.err

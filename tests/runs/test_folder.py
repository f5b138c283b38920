import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.runs.folder import open_run

CONFIG = """seed = 1

[model]
name = "gpt"
width = 8

[training]
steps = 10
"""

HOLD = """
import sys
from regard.runs.folder import open_run
with open_run(sys.argv[1], sys.argv[2]):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_new_folder_keeps_its_settings(tmp_path: Path) -> None:
    with open_run(tmp_path / "runs" / "a", CONFIG) as folder:
        assert folder.config.read_text() == CONFIG
        assert folder.model == tmp_path / "runs" / "a" / "model.safetensors"
        assert folder.curves.parent == folder.log.path.parent == folder.path
        assert folder.checkpoints.folder != folder.snapshots.folder


def test_the_same_settings_are_welcome_again(tmp_path: Path) -> None:
    for _ in range(2):
        with open_run(tmp_path, CONFIG):
            pass
    with open_run(tmp_path, CONFIG.replace("width = 8", "width    = 8")) as folder:
        assert "width    = 8" in folder.config.read_text()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("width = 8", "width = 16", r"model\.width was 8, and is now 16"),
        ('name = "gpt"', 'name = "rnn_lm"', r"model\.name was 'gpt', and is now 'rnn_lm'"),
        ("seed = 1\n", "", "seed was 1, and is now not set"),
        ("[training]", "[data.more]\nrows = 3\n[training]", r"data\.more\.rows was not set, and is now 3"),
        ("[training]\nsteps = 10", "", r"training\.steps was 10, and is now not set"),
    ],
)
def test_other_settings_are_refused_with_the_first_difference(
    old: str, new: str, sentence: str, tmp_path: Path
) -> None:
    with open_run(tmp_path, CONFIG):
        pass
    with pytest.raises(RegardError, match=rf"{sentence}; set it back, choose another name"):
        open_run(tmp_path, CONFIG.replace(old, new)).__enter__()
    assert (tmp_path / "run.toml").read_text() == CONFIG


def test_a_free_setting_may_change(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG):
        pass
    longer = CONFIG.replace("steps = 10", "steps = 20")
    with open_run(tmp_path, longer, free=["training.steps"]) as folder:
        assert folder.config.read_text() == longer


def test_a_free_table_may_change(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG):
        pass
    with open_run(tmp_path, CONFIG + "[decoding]\nbeams = 4\n", free=["decoding"]):
        pass
    with pytest.raises(RegardError, match=r"decoding\.beams was 4, and is now 5"):
        open_run(tmp_path, CONFIG + "[decoding]\nbeams = 5\n", free=["decode", "decoding.beam"]).__enter__()


def test_a_spoiled_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("a = = 1")
    with pytest.raises(RegardError, match=r"run\.toml: not valid TOML"):
        open_run(tmp_path, CONFIG).__enter__()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegardError, match="file/run: cannot be written"):
        open_run(tmp_path / "file" / "run", CONFIG).__enter__()


def test_what_an_interrupted_writer_left_is_removed(tmp_path: Path) -> None:
    for place in (tmp_path / ".store.12ab.tmp", tmp_path / "checkpoints"):
        place.mkdir()
        (place / ".step-00000001.safetensors.12ab.tmp").write_text("half")
    (tmp_path / ".model.safetensors.12ab.tmp").write_text("half")
    with open_run(tmp_path, CONFIG):
        assert {path.name for path in tmp_path.iterdir()} == {"run.toml", "lock", "checkpoints"}
        assert not list((tmp_path / "checkpoints").iterdir())


def test_one_training_at_a_time_and_none_after_a_kill(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), CONFIG], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(RegardError, match=rf"another training \(process {holder.pid}\) is writing this run"):
        open_run(tmp_path, CONFIG).__enter__()
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with open_run(tmp_path, CONFIG):
        pass


def test_a_lock_inside_one_process_holds_too(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG), pytest.raises(RegardError, match=f"process {os.getpid()}"):
        open_run(tmp_path, CONFIG).__enter__()

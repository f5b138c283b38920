"""`regard draw`: what it writes, and what it says when it cannot."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from regard.apps.cli import main
from regard.base.extras import install_hint

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def colors(path: Path) -> int:
    """How many different colors a picture has."""
    pixels = imread(path)
    assert pixels.shape[0] > 150
    assert pixels.shape[1] > 150
    packed = (pixels[..., :3] * 255).round().astype(int) @ (1 << 16, 1 << 8, 1)
    return len(np.unique(packed))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """The one sentence that a command leaves with; no file is left behind."""
    before = sorted(Path().rglob("*"))
    assert main(["draw", *arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("regard: ")
    assert said.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
    return said.err.removeprefix("regard: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["mask", "causal & window(4)"], "mask-causal-window-4.png"),
        (["positions", "sinusoidal", "--length", "12", "--width", "8"], "positions-sinusoidal.png"),
        (["positions", "rotary", "--length", "12", "--width", "8"], "positions-rotary.png"),
        (["positions", "alibi", "--length", "12", "--heads", "2"], "positions-alibi.png"),
        (["normalizer", "softmax", "top_k(4)"], "normalizer-softmax-top_k-4.png"),
    ],
)
def test_a_picture_gets_a_sensible_name(arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", *arguments]) == 0
    assert capsys.readouterr().out == f"wrote {name}\n"
    assert colors(Path(name)) > 10


def test_svg_by_the_ending(folder: Path) -> None:
    assert main(["draw", "mask", "causal", "--length", "6", "--out", "causal.svg"]) == 0
    tree = ElementTree.parse(folder / "causal.svg")
    assert tree.getroot().tag.endswith("svg")
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}path"))) > 36


def test_weights_with_tokens_from_json(folder: Path) -> None:
    table = {"rows": ["le", "chat"], "columns": ["the", "cat", "."], "weights": [[0.9, 0.1, 0], [0.2, 0.7, 0.1]]}
    Path("a.json").write_text(json.dumps(table))
    assert main(["draw", "weights", "a.json"]) == 0
    assert colors(Path("weights-a.png")) > 10


def test_tokens_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.json").write_text("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]")
    assert main(["draw", "weights", "a.json", "--rows", "le chat dort", "--columns", "the cat sleeps"]) == 0
    capsys.readouterr()
    sentence = refused(capsys, "weights", "a.json", "--rows", "le chat")
    assert sentence == "a.json: the matrix has 3 rows, but there are 2 tokens for them"


def test_gallery_shows_every_kind_of_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "gallery", "--out", "new/folder"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"wrote {Path('new/folder/gallery.png')}\n")
    for name in ("causal", "window(4)", "Big Bird", "sinusoidal", "softmax"):
        assert name in said
    assert colors(Path("new/folder/gallery.png")) > 100


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mask", "windw"], "mask: unknown 'windw' (did you mean 'window'?); masks are: causal, "),
        (["mask", "padding"], "mask: padding needs its setting 'lengths'"),
        (["mask", "causal &"], "mask: cannot read 'causal &'"),
        (["positions", "nowhere"], "positions: unknown 'nowhere'; positions are: "),
        (["normalizer", "softmax", "softmux"], "normalizer: unknown 'softmux' (did you mean 'softmax'?)"),
        (["mask", "causal", "--out", "a.pdf"], "a.pdf: a picture's name ends in .png or .svg"),
        (["mask", "causal", "--out", "no/a.png"], "no/a.png: there is no folder 'no'"),
        (["mask", "causal", "--out", "."], ".: a picture's name ends in .png or .svg"),
        (["weights", "a.json"], "a.json: there is no such file"),
        (["weights", "a.txt"], "a.txt: cannot read a matrix from '.txt'; known endings are .json, .safetensors"),
        (["weights", "a.json", "--index", "one"], "--index: must be whole numbers with commas between, as in 0,3"),
        (["mask", "causal", "--length", "0"], "draw mask: invalid value for '--length'"),
        (["mask", "causal", "--length", "100000"], "draw mask: invalid value for '--length'"),
        (["normalizer", "softmax", "--slope", "inf"], "draw normalizer: invalid value for '--slope'"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *arguments).startswith(sentence)


def test_the_gallery_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert refused(capsys, "gallery", "--out", "file") == "file: is a file; give the name of a folder"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user whom permissions stop")
def test_a_folder_without_permission_is_one_sentence(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    assert refused(capsys, "mask", "causal", "--out", "locked/a.png", code=1) == "locked/a.png: permission denied"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on files")
def test_a_disk_that_is_full_half_way_leaves_no_file(folder: Path) -> None:
    import resource

    done = subprocess.run(
        [sys.executable, "-m", "regard", "draw", "mask", "causal", "--out", "a.png"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "regard: a.png: cannot be written: file too large"
    assert "Traceback" not in done.stderr
    assert list(folder.iterdir()) == []


def test_without_matplotlib_the_sentence_says_what_to_install() -> None:
    program = "import sys; sys.modules['matplotlib'] = None; from regard.apps.cli import main; sys.exit(main())"
    for command in (["mask", "causal"], ["gallery"]):
        done = subprocess.run(
            [sys.executable, "-c", program, "draw", *command],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 1
        assert done.stderr == f"regard: draw needs matplotlib: {install_hint('plots')}\n"

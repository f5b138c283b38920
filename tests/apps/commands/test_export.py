import shutil
from pathlib import Path

import pytest

from regard.loading import load
from regard.models.seq2seq import Seq2seq
from tests.apps.running import Run
from tests.interop.examples import TOY, unchecked, write, write_trained

TEXTS = [source for source, _ in TOY[:12]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trained(tmp_path_factory.mktemp("export") / "toy.safetensors")


def test_an_export_translates_what_the_model_translates(run: Run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    out = tmp_path / "toy.ct2"
    assert run("export", model, "--to", "ctranslate2", "--out", out).lines[0].startswith(f"wrote {out}, ")
    stdin = "".join(f"{text}\n" for text in [*TEXTS[:3], "", *TEXTS[3:]])
    wanted = [one.text for one in load(model).translate(stdin.split("\n")[:-1])]
    assert run("translate", "--engine", "ctranslate2", out, "--threads", 2, stdin=stdin).lines == wanted
    again = run("export", model, "--to", "ctranslate2", "--out", out)
    assert (again.code, again.sentence) == (
        2,
        f"{out}: is there already; choose another name, or replace it with --force",
    )
    assert run("export", model, "--to", "ctranslate2", "--out", out, "--quantize", "int8", "--force").code == 0


def test_given_a_model_the_engine_makes_an_export_and_says_so(run: Run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    file = Path(shutil.copy(model, tmp_path / "toy.safetensors"))
    stdin = "".join(f"{text}\n" for text in TEXTS)
    first = run("translate", "--engine", "ctranslate2", file, "--alignments", stdin=stdin)
    assert f"exported {file} to {tmp_path / 'toy.ct2'}" in first.err
    second = run("translate", "--engine", "ctranslate2", file, "--alignments", stdin=stdin)
    assert second.err == ""
    assert first.lines == second.lines == run("translate", file, "--alignments", stdin=stdin).lines


def test_onnx(run: Run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    out = tmp_path / "onnx"
    with unchecked():
        done = run("export", model, "--to", "onnx", "--out", out)
    assert done.lines[0].endswith("for onnx")
    assert {"start.onnx", "step.onnx", "score.onnx"} < {path.name for path in out.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--to", "tensorflow"), "export.to: unknown 'tensorflow'; choices are: ctranslate2, onnx"),
        (("--to", "onnx", "--quantize", "int8"), "--quantize: goes with --to ctranslate2 alone"),
        (("--to", "ctranslate2", "--quantize", "int7"), "--quantize: unknown 'int7' (did you mean 'int16'?)"),
    ],
)
def test_wrong_use(run: Run, model: Path, tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    done = run("export", model, *arguments, "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert done.sentence.startswith(complaint) or complaint[:20] in done.sentence
    assert not (tmp_path / "out").exists()


def test_a_model_that_the_program_cannot_run_is_refused(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    recurrent = write(tmp_path / "recurrent.safetensors", Seq2seq(width=8))
    done = run("export", recurrent, "--to", "ctranslate2", "--out", tmp_path / "out")
    assert done.code == 2
    assert "model.name is 'seq2seq', but CTranslate2 runs the model 'transformer' alone" in done.sentence

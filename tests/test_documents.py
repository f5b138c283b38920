"""What the documents show works: their Python runs and passes a strict type checker, their commands are understood."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from regard.apps.cli import COMMANDS, Commands, main
from tests.apps import toy
from tests.test_public import workplace

ROOT = Path(__file__).resolve().parents[1]
RUN = (
    "README.md",
    "docs/align.md",
    "docs/attention.md",
    "docs/audit.md",
    "docs/export.md",
    "docs/inspect.md",
    "docs/representation.md",
    "docs/translate.md",
)
DOCUMENTS = sorted({*RUN, *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))} - {"docs/settings.md"})
ELSEWHERE = ("onnxruntime", ".ct2")  # blocks that need an export; tests/interop has them

__all__ = ["workplace"]
TYPES = """
import regard
reveal_type(regard.load("a"))
reveal_type(regard.load("a", expect=regard.Generator))
reveal_type(regard.train("run.toml").model)
reveal_type(regard.train("run.toml", expect=regard.Generator, name="x").model)
reveal_type(regard.load("a").translate(["a"])[0].text)
"""


def blocks(document: str, language: str) -> list[str]:
    """The code blocks of a document in a language."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def program(document: str) -> str:
    """The Python of a document, one block after the other; in each a training has two steps."""
    own = [block for block in blocks(document, "python") if not any(word in block for word in ELSEWHERE)]
    return re.sub(r'"steps": \d+', '"steps": 2', "\n".join(own))


@pytest.mark.parametrize("document", RUN)
def test_the_python_of_a_document_runs(document: str, workplace: dict[str, Any]) -> None:
    code = program(document)
    assert code
    exec(compile(code, document, "exec"), {"__name__": "example"})


def test_the_python_of_the_documents_passes_a_strict_type_checker(tmp_path: Path) -> None:
    files = []
    for document in RUN:
        files.append(tmp_path / f"{Path(document).stem.lower()}_example.py")
        files[-1].write_text(program(document), encoding="utf-8")
    files.append(tmp_path / "types_example.py")
    files[-1].write_text(TYPES, encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    strict = {"module": [file.stem for file in files]} | {
        name: True for name, value in settings.items() if value is False
    }
    settings["overrides"].append(strict)
    (tmp_path / "pyproject.toml").write_text(tomli_w.dumps({"tool": {"mypy": settings}}), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", f"--config-file={tmp_path / 'pyproject.toml'}", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)  # with what `make lint` has found out
    assert done.returncode == 0, done.stdout + done.stderr
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert [name.rpartition(".")[2] for name in revealed] == [
        "Translator",
        "Generator",
        "Translator",
        "Generator",
        "str",
    ]


def commands(document: str) -> Iterator[list[str]]:
    """The calls of regard in a document, without what the shell does for them."""
    indented = re.findall(r"^    (regard .*)$", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
    for block in (*blocks(document, "bash"), *indented):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s+[|&]+\s+|\s+<\s+\S+|\s+>\s+\S+", line):
                words = shlex.split(part, comments=True)
                if words[:1] == ["regard"] and len(words) > 1:
                    yield words[1:]


CALLS = {document: list(commands(document)) for document in DOCUMENTS}


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if CALLS[document]])
def test_the_commands_of_a_document_are_understood(document: str, workplace: dict[str, Any]) -> None:
    for name, *words in CALLS[document]:
        assert name in COMMANDS
        own: Any = Commands(name="regard").get_command(None, name)
        context = own.make_context(name, list(words))  # reads the arguments, and runs nothing
        if hasattr(own, "resolve_command") and own.commands:
            _, inner, rest = own.resolve_command(context, context._protected_args + context.args)
            inner.make_context(inner.name, rest)


def test_the_readme_leads_from_two_files_to_a_translation_in_five_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch, package, init, train, translate = blocks("README.md", "bash")[0].splitlines()
    assert torch.startswith("pip install torch==")
    assert package.startswith("pip install -c constraints.txt ")
    toy.write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("dev", "test"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").unlink()
    assert main(shlex.split(init, comments=True)[1:]) == 0
    assert main([*shlex.split(train, comments=True)[1:], "--set", "training.steps=2"]) == 0
    said, _, called = translate.partition(" | ")
    (tmp_path / "input").write_text(shlex.split(said)[1] + "\n", encoding="utf-8")
    capsys.readouterr()
    with (tmp_path / "input").open(encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert main(shlex.split(called)[1:]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_commands_are_found_in_documents() -> None:
    assert sum(map(len, CALLS.values())) > 30

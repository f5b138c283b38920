"""What the public gets: the wheel, installed where the checkout is not seen, and the files that a forge reads."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import regard
from regard.models.transformer import Transformer
from tests.data.examples import LINES
from tests.interop.examples import SMALL, write

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

LOOK = """
import sys
import tomllib
from pathlib import Path
import regard
from regard.inspection.page.assets import assets, index

home = Path(regard.__file__).parent
assert home.is_relative_to(sys.prefix), home
for name in regard.__all__:
    getattr(regard, name)
assert tomllib.loads((home / "apps" / "commands" / "demo.toml").read_text(encoding="utf-8"))["name"] == "dates"
assert (home / "native" / "kernels.c").is_file()
assert b"<html" in index().content
assert {path.suffix for path in assets().values()} == {".css", ".js", ".svg"}
"""


def read(name: str) -> Any:
    """A YAML file of the checkout."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


class Built(NamedTuple):
    """What `python -m build` leaves behind."""

    wheel: Path
    source: Path


def run(*command: object, folder: Path = ROOT) -> str:
    """What a command prints; Python hears nothing of the environment of these tests."""
    heard = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=heard, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The source archive, and the wheel that is built from what is in it."""
    folder = tmp_path_factory.mktemp("dist")
    epoch = "SOURCE_DATE_EPOCH=1577836800"  # what hatchling takes where none is set
    run("env", epoch, sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, source)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel and what it requires, and with no extra."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    programs = folder / "bin"
    run(sys.executable, "-m", "pip", "--python", programs / "python", "install", "--no-deps", "--no-index", built.wheel)
    place = Path(run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for found in required("regard"):
        for name in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            here = Path(str(found.locate_file(name)))
            if here.exists() and not (place / name).exists():
                (place / name).symlink_to(here)  # instead of several hundred megabytes once more
    return programs


def required(name: str) -> Iterator[importlib.metadata.Distribution]:
    """What a distribution needs, and what that needs in turn, as it is installed beside these tests."""
    open_, seen = [Requirement(text) for text in PROJECT["dependencies"]], {name}
    while open_:
        wanted = open_.pop()
        if canonicalize_name(wanted.name) in seen:
            continue
        seen.add(canonicalize_name(wanted.name))
        found = importlib.metadata.distribution(wanted.name)
        yield found
        needs = [Requirement(text) for text in found.requires or ()]
        asked = [{"extra": extra} for extra in ("", *wanted.extras)]
        open_ += [need for need in needs if not need.marker or any(map(need.marker.evaluate, asked))]


def test_a_second_build_gives_the_same_bytes(built: Built, tmp_path: Path) -> None:
    """Wheel and source archive depend on the files alone: not on the time, nor on who builds."""
    environment = ("env", "SOURCE_DATE_EPOCH=1577836800", sys.executable)
    run(*environment, "-m", "build", "--no-isolation", "--outdir", tmp_path)
    for first in built:
        assert (tmp_path / first.name).read_bytes() == first.read_bytes(), first.name


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        described = archive.read(metadata).decode()
    tracked = (path for path in (ROOT / "regard").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert names == {path.relative_to(ROOT).as_posix() for path in tracked}
    assert {"regard/py.typed", "regard/apps/commands/demo.toml", "regard/inspection/page/index.html"} <= names
    assert f"\nVersion: {regard.__version__}\n" in described


def test_the_source_archive_has_what_building_and_testing_needs(built: Built) -> None:
    with tarfile.open(built.source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "Makefile", "README.md", "constraints.txt", "pyproject.toml", "tests/test_packaging.py"}
    assert wanted <= names
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/", "runs/", "docs/api/"))]


def test_names_settings_and_page_files_are_there_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    run(installed / "python", "-c", LOOK, folder=tmp_path)


@pytest.mark.parametrize("command", [(), ("demo",)], ids=["regard", "demo"])
def test_commands_start_without_the_checkout(command: tuple[str, ...], installed: Path, tmp_path: Path) -> None:
    assert f"Usage: regard {' '.join(command)}" in run(installed / "regard", *command, "--help", folder=tmp_path)


def test_a_translation_is_explained_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    write(tmp_path / "model.safetensors", Transformer(**SMALL))
    run(installed / "regard", "inspect", "model.safetensors", LINES[0], "--out", "page.html", folder=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert LINES[0] in page
    assert "{{" not in page.partition("<body>")[0]


def test_every_dependency_has_its_tested_version() -> None:
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    asked = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    names = {canonicalize_name(Requirement(text).name) for group in asked for text in group} - {"regard"}
    assert names - {canonicalize_name(name) for name in pinned} == set()


def test_the_readme_names_the_tested_torch() -> None:
    named, pinned = (
        re.findall(r"torch==[\w.]+", (ROOT / name).read_text(encoding="utf-8"))
        for name in ("README.md", "constraints.txt")
    )
    assert set(named) == set(pinned)


def test_the_citation_is_of_this_version() -> None:
    citation = read("CITATION.cff")
    assert str(citation["version"]) == regard.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Homepage"]


def test_the_forge_runs_what_has_to_pass_on_every_python_that_is_promised() -> None:
    job = read(".github/workflows/ci.yml")["jobs"]["test"]
    promised = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert job["strategy"]["matrix"]["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    (command,) = [step["run"] for step in job["steps"] if "run" in step]
    assert os.access(ROOT / command, os.X_OK)


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_a_form_for_issues_is_one_that_the_forge_understands(name: str) -> None:
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form.keys() <= {"name", "description", "labels", "body"}
    assert [field["type"] for field in form["body"]] == ["textarea"] * len(form["body"])
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    assert all(field["attributes"]["label"] for field in form["body"])


def test_a_commit_is_checked_by_the_commands_of_make_lint() -> None:
    run(sys.executable, "-m", "pre_commit", "validate-config", ROOT / ".pre-commit-config.yaml")
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    hooks = {hook["entry"].replace(" --force-exclude", "").replace(".venv/bin/", "") for hook in repository["hooks"]}
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert lint
    assert hooks == {line.removesuffix(" .") for line in re.findall(r"\$\(BIN\)/(.*)", lint[1])}

"""deploy/: the image and the systemd unit are well formed, and Regard understands the commands in them."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from regard.apps.commands.serve import app

ROOT = Path(__file__).resolve().parents[1]
UNIT = ROOT / "deploy" / "regard.service"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def image() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with what they are given."""
    text = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def last(name: str) -> str:
    return [given for instruction, given in image() if instruction == name][-1]


def parse(arguments: list[str]) -> dict[str, object]:
    """What `regard serve` makes of a command line, without serving."""
    return get_command(app).make_context("serve", arguments).params


def unit() -> dict[str, list[str]]:
    """The settings of the unit's [Service]."""
    found: dict[str, list[str]] = {}
    section = UNIT.read_text(encoding="utf-8").partition("[Service]")[2].partition("[Install]")[0]
    for line in section.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_the_image_is_made_of_known_instructions_and_of_files_that_exist() -> None:
    assert {instruction for instruction, _ in image()} <= INSTRUCTIONS
    for given in (given for instruction, given in image() if instruction == "COPY" and "--from" not in given):
        *sources, _ = given.split()
        assert all((ROOT / source).exists() for source in sources)
        ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        assert all(f"!{source}" in ignored for source in sources)


def test_the_image_installs_the_tested_torch_for_cpus_and_extras_that_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    command = next(given for instruction, given in image() if instruction == "RUN" and "pip" in given)
    assert subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False).returncode == 0
    assert "https://download.pytorch.org/whl/cpu" in command
    pinned = subprocess.run(["sh", "-c", "grep '^torch==' constraints.txt"], cwd=ROOT, capture_output=True, text=True)
    assert re.fullmatch(r"torch==[\d.]+\n", pinned.stdout)
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", command)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    (version,) = {given.split()[0] for instruction, given in image() if instruction == "FROM"}
    assert re.fullmatch(r"python:3\.1[1-4]-slim", version)


def test_the_image_serves_a_mounted_model_without_root_and_says_whether_it_is_well() -> None:
    assert last("USER").isdigit()
    assert int(last("USER")) > 0
    program, command, *options = [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]
    assert (program, command) == ("regard", "serve")
    asked = parse(options)
    assert asked["models"] == ["/model"]
    assert asked["host"] == "0.0.0.0"
    assert str(asked["port"]) == last("EXPOSE")
    _, _, health = last("HEALTHCHECK").partition("CMD ")
    python, flag, code = json.loads(health)
    assert (python, flag) == ("python", "-c")
    compile(code, "health", "exec")
    assert f"http://127.0.0.1:{last('EXPOSE')}/health" in code


def test_the_units_command_is_one_that_regard_understands() -> None:
    given = unit()
    settings = dict(value.split("=", 1) for value in given["Environment"])
    line = given["ExecStart"][0].replace("$MODELS", settings["MODELS"]).replace("$OPTIONS", settings["OPTIONS"])
    words = shlex.split(line)
    assert words[1] == "serve"
    asked = parse(words[2:])
    assert asked["models"] == [settings["MODELS"]]
    assert asked["port"] == 8000
    assert asked["host"] == "127.0.0.1"


def test_the_unit_gives_nothing_away_that_it_does_not_need() -> None:
    given = unit()
    assert given["DynamicUser"] == ["yes"]
    assert given["CapabilityBoundingSet"] == [""]
    assert given["ProtectSystem"] == ["strict"]
    assert "MemoryDenyWriteExecute" not in given  # oneDNN compiles kernels while it runs
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT, encoding="utf-8")
    assert parser.sections() == ["Unit", "Service", "Install"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / "regard.service"
    copy.write_text(UNIT.read_text(encoding="utf-8").replace("/opt/regard/bin/regard", "/bin/true"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

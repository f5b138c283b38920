"""Where you are: what `regard` without a command finds in this folder, and what to do next."""

import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.runs.log import Log

_SUFFIXES = frozenset(
    (".txt", ".tsv", ".csv", ".jsonl", ".json", ".tmx", ".xlsx", ".ods", ".gz", ".xz", ".bz2", ".zst", ".npz")
)
_USES = {
    "translate": ("translate", "inspect", "serve"),
    "language": ("generate", "next"),
    "masked": ("predict",),
    "classify": ("predict", "evaluate"),
    "tag": ("predict", "evaluate"),
    "nodes": ("predict", "evaluate"),
}
_MOST = 5


def standing(folder: Path) -> str:
    """The runs, run files and data of a folder, each with the command that comes next."""
    runs = sorted(path.parent for path in folder.glob("runs/*/run.toml"))
    lines = [line for path in runs[-_MOST:] for line in _of_run(path.relative_to(folder), folder)]
    begun = {path.name for path in runs}
    for path in sorted(folder.glob("*.toml")):
        name = _settings(path).get("name")
        if isinstance(name, str) and "model" in _settings(path) and name not in begun:
            lines += [f"{path.name}: settings of the run '{name}', not trained yet"]
            lines += [f"  {_command('doctor', path.name):<40} what to expect", f"  {_command('train', path.name)}"]
    if not lines:
        lines = [*_of_data(folder)]
    return "\n".join([*lines, "", "regard --help lists all commands"])


def _of_run(run: Path, home: Path) -> Iterator[str]:
    settings, log = _settings(home / run / "run.toml"), Log(home / run / "log.jsonl")
    if not (home / run / "model.safetensors").exists():
        steps = max((entry["step"] for entry in log.entries()), default=0)
        wanted = settings.get("training", {}).get("steps")
        yield f"{run}: in training, at step {steps:,}" + (f" of {wanted:,}" if isinstance(wanted, int) else "")
        yield f"  {_command('train', _run_file(home, run.name))}   goes on with it"
        return
    metric = settings.get("training", {}).get("metric")
    best = [entry[metric] for entry in log.entries("valid") if isinstance(metric, str) and metric in entry]
    yield f"{run}: trained" + (f", last {metric} {best[-1]:.2f}" if best else "")
    for command in _USES.get(str(settings.get("task", "translate")), ("evaluate",)):
        yield f"  {_command(command, str(run))}"


def _run_file(home: Path, name: str) -> str:
    """The run file that a run was started from, if it is still here."""
    for path in sorted(home.glob("*.toml")):
        if _settings(path).get("name") == name:
            return path.name
    return f"runs/{name}/run.toml"


def _of_data(folder: Path) -> Iterator[str]:
    files = [path.name for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES and path.is_file()]
    if files:
        yield "No run is here yet, but there are files: " + ", ".join(files[:_MOST]) + (" …" if files[_MOST:] else "")
        yield f"  {_command('init', *files[:2]) if len(files) < 3 else 'regard init FILE …'}"
        yield "looks at them and writes the settings of a run"
        return
    yield "No run and no data are in this folder."
    yield "  regard init train.en train.de    writes the settings of a translator for your own two files"
    yield "  regard demo                      trains one that reads dates, in two minutes"


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _command(*words: str) -> str:
    return shlex.join(["regard", *words])

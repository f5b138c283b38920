"""Where you are: what `regard` without a command finds in this folder, and what to do next."""

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.data.folder_files import sides_in
from regard.data.languages import language_of
from regard.runs.log import Log

_SUFFIXES = frozenset(
    ".txt .tsv .tab .csv .jsonl .ndjson .json .tmx .xlsx .xls .ods .zip .gz .xz .bz2 .zst .npz .conll .conllu".split()
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
    steps = max((entry["step"] for entry in log.entries()), default=0)
    wanted = settings.get("training", {}).get("steps")
    reached = f"at step {steps:,}" + (f" of {wanted:,}" if isinstance(wanted, int) else "")
    onward = f"  {_command('train', _run_file(home, run.name))}   goes on with it"
    if not (home / run / "model.safetensors").exists():
        yield f"{run}: in training, {reached}"
        yield onward
        return
    metric = settings.get("training", {}).get("metric")
    best = [entry[metric] for entry in log.entries("valid") if isinstance(metric, str) and metric in entry]
    open_end = isinstance(wanted, int) and steps < wanted  # which of the two, only the training itself can tell
    yield f"{run}: trained, {reached}" + (f", last {metric} {best[-1]:.2f}" if best else "")
    if open_end:
        yield f"{onward}, unless patience has ended it"
    for command in _USES.get(str(settings.get("task", "translate")), ("evaluate",)):
        yield f"  {_command(command, str(run))}"


def _run_file(home: Path, name: str) -> str:
    """The run file that a run was started from, if it is still here."""
    for path in sorted(home.glob("*.toml")):
        if _settings(path).get("name") == name:
            return path.name
    return f"runs/{name}/run.toml"


def _of_data(folder: Path) -> Iterator[str]:
    sets = sides_in(folder)
    sides = {path for own in sets.values() for path in own}
    files = [path for path in sorted(folder.iterdir()) if path in sides or path.suffix in _SUFFIXES]
    names = [path.name for path in files if path.is_file()]
    if names:
        yield "No run is here yet, but there are files: " + ", ".join(names[:_MOST]) + (" …" if names[_MOST:] else "")
        yield f"  {_beginning(sets, names)}"
        yield "looks at them and writes the settings of a run"
        return
    yield "No run and no data are in this folder."
    yield "  regard init train.en train.de    writes the settings of a translator for your own two files"
    yield "  regard demo                      trains one that reads dates, in two minutes"


def _beginning(sets: Mapping[str, Sequence[Path]], names: Sequence[str]) -> str:
    """The command for some files: two sides that belong together, or the only file."""
    if "train" not in sets:
        return _command("init", names[0]) if len(names) == 1 else "regard init FILE …"
    languages = [language_of(path) for path in sets["train"][:2]]
    words = ["init"]
    for name, option in (("train", ()), ("dev", ("--dev",)), ("test", ("--test",))):
        own = [path.name for path in sets.get(name, ()) if language_of(path) in languages]
        words += [*option, *own] if len(own) == 2 else []
    return f"{_command(*words)}    or the other way round: the source comes first"


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _command(*words: str) -> str:
    return shlex.join(["regard", *words])

"""The text files of a folder or a zip archive: which are for training, validation and test."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from regard.base.errors import UsageError
from regard.base.unpacking import PACKED, archive_names
from regard.data.format import Doubt
from regard.data.languages import language_code, language_of, language_pair
from regard.data.recognize import kind_by_name

_SETS = {
    "train": re.compile(r"(?<![a-z])train(ing)?(?![a-z])"),
    "dev": re.compile(r"(?<![a-z])(dev|val|valid|validation)(?![a-z])"),
    "test": re.compile(r"(?<![a-z])(test|eval)(?![a-z])"),
}
_SIDES = tuple(re.compile(rf"(?<![a-z])({words})(?![a-z])") for words in ("src|source", "tgt|trg|target"))
"""names of a source and of a target whose languages are not said: src-train.txt, train.tgt"""
_PLAIN = (".txt", ".text", "")
_ASIDE = re.compile(
    r"^(readme|license|licence|changelog|notice|_about)\b|\.(md|toml|ya?ml|py|sh|log|xml|ids|pdf)$", re.IGNORECASE
)


@dataclass(frozen=True)
class FileSets:
    """The files of each set: one or two for training, and none, one or two of the others."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()


def is_container(path: Path) -> bool:
    """Whether a path is a folder, or a zip archive that is no spreadsheet."""
    if path.is_dir():
        return True
    return path.suffix.lower() == ".zip" and path.is_file()


def files_in(folder: Path, source: str | None = None, target: str | None = None) -> FileSets | None:
    """The sets in a folder or archive, told by the names of the files; None if it holds no files of text.

    Which of two files is the source is said by `source` or `target`, or by names like `en-de.en`.
    """
    files = _listed(folder)
    if not files:
        return None
    sets: dict[str, list[Path]] = {name: [] for name in _SETS}
    for file in files:
        sets[_set_of(file)].append(file)
    wanted = (source, target) if source or target else language_pair(files[0]) or language_pair(folder) or (None, None)
    found = {name: _one_set(folder, name, members, wanted) for name, members in sets.items()}
    if not found["train"]:
        raise UsageError(f"{folder}: has no training files; call them train.en and train.de, or name the files")
    return FileSets(**found)


def sides_in(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder that differ in their language alone, such as train.de and train.en, by their set.

    Of several texts in a set, those with the shortest name.
    """
    found: dict[str, dict[str, list[Path]]] = {name: {} for name in _SETS}
    for file in _listed(folder):
        if kind_by_name(file) is None and language_code(language_of(file) or "") is not None:
            found[_set_of(file)].setdefault(_stem(file), []).append(file)
    texts = {name: [sides for sides in stems.values() if len(sides) > 1] for name, stems in found.items()}
    return {name: min(own, key=lambda sides: _length(sides[0])) for name, own in texts.items() if own}


def _set_of(file: Path) -> str:
    stem = file.name.casefold()
    return next((name for name, pattern in _SETS.items() if pattern.search(stem)), "train")


def _listed(folder: Path) -> list[Path]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else [folder / name for name in sorted(archive_names(folder))]
    files = [path for path in paths if not folder.is_dir() or path.is_file()]
    return [path for path in files if not path.name.startswith(".") and not _ASIDE.search(path.name) and _is_text(path)]


def _is_text(path: Path) -> bool:
    """Whether a name is one that text files have: of a format, of a language, or a plain one."""
    suffixes = [suffix for suffix in path.suffixes if suffix not in PACKED]
    named = language_code(language_of(path) or "") is not None
    return kind_by_name(path) is not None or named or (suffixes or [""])[-1] in (*_PLAIN, ".src", ".tgt", ".trg")


def _one_set(folder: Path, name: str, files: list[Path], languages: tuple[str | None, str | None]) -> tuple[Path, ...]:
    tables = [file for file in files if kind_by_name(file) is not None]
    if len(tables) == 1 or (len(files) < 2 and not tables):
        return tuple(tables or files)
    sides = [[file for file in files if side.search(file.name.casefold())] for side in _SIDES]
    if not tables and len(files) == 2 and len(sides[0]) == len(sides[1]) == 1 and sides[0] != sides[1]:
        return sides[0][0], sides[1][0]
    source, target = ([file for file in files if wanted and language_of(file) == wanted] for wanted in languages)
    if source and target:
        return _shortest(folder, name, source, target)
    if len(files) == 2 and not tables and (source or target):
        known = (source or target)[0]
        other = next(file for file in files if file != known)
        return (known, other) if source else (other, known)
    codes = [language_of(file) for file in files]
    if len(files) == 2 and not tables and all(codes):
        problem = f"{folder}: holds {files[0].name} and {files[1].name}; which is the source?"
        raise Doubt(problem, "--source", f"{codes[0]} --target {codes[1]}")
    raise _undecided(folder, name, files)


def _shortest(folder: Path, name: str, source: list[Path], target: list[Path]) -> tuple[Path, Path]:
    """Of several preparations of a text, that with the shortest names: train.en before train.lc.tok.en."""
    chosen = min(source, key=_length), min(target, key=_length)
    stems = {_stem(file) for file in chosen}
    prepared = re.compile(rf"({'|'.join(map(re.escape, stems))})(\W.*)?")
    alike = all(prepared.fullmatch(_stem(file)) for file in (*source, *target))
    if len(source) == len(target) == 1 or (len(stems) == 1 and alike):
        return chosen
    raise _undecided(folder, name, [*source, *target])


def _undecided(folder: Path, name: str, files: list[Path]) -> UsageError:
    """Ask which files are meant; parts of a text in two languages are to be joined."""
    shown = ", ".join(file.name for file in files[:6]) + (" …" if len(files) > 6 else "")
    sides = {
        language: [file for file in files if language_of(file) == language] for language in map(language_of, files)
    }
    stems = [[_stem(file) for file in side] for side in sides.values()]
    hint = "name one or two files"
    if folder.is_dir() and None not in sides and len(stems) == 2 and stems[0] == stems[1] and len(files) <= 12:
        joined = (f"cat {shlex.join(map(str, side))} > {name}.{language}" for language, side in sides.items())
        hint = f"name two of them, or join the parts: {'; '.join(joined)}"
    return UsageError(f"{folder}: does not tell which of its files are for {name} ({shown}); {hint}")


def _stem(file: Path) -> str:
    return _plain_name(file).name.removesuffix(f".{language_of(file)}")


def _length(file: Path) -> tuple[int, str]:
    return len(file.name), file.name


def _plain_name(file: Path) -> Path:
    return file.with_suffix("") if file.suffix in PACKED else file

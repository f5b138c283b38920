"""The text files of a new run: how they are read, and what of them is held out; written as the table [data]."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from regard.base.config import to_dict
from regard.base.errors import UsageError
from regard.base.wording import counted
from regard.data.column_choice import are_labels
from regard.data.corpus import Corpus
from regard.data.folder_files import FileSets, files_in, is_container
from regard.data.format import Doubt, Recognized
from regard.data.formats.jsonl import Jsonl
from regard.data.holding_out import HeldOut, hold_out
from regard.data.labeled_files import tells_labels
from regard.data.recognize import recognize
from regard.data.table import Table
from regard.data.tags import tells_tags
from regard.tasks.task import Wishes
from regard.tasks.text_languages import doubt_turns, languages_by_text
from regard.tasks.texts import DataSettings

_LOOKED_AT = 1_000
_FOLDER = "held-out"


@dataclass(frozen=True, kw_only=True)
class TextFiles:
    """The files of each set, how they are read, and the lines that are held out, if any."""

    sets: FileSets
    reading: Recognized
    wishes: Wishes
    held_out: HeldOut | None = None
    identified: str = ""
    """what the text alone tells of its languages, in words"""
    files: Mapping[Path, str] = field(default_factory=dict)
    """the held-out sets as text files, which are still to be written"""

    @property
    def corpus(self) -> Corpus:
        """The training text."""
        return Corpus(files=self.sets.train, format=self.reading.format)

    @property
    def name(self) -> str:
        """A name for the run: that which is wished for, the languages, or the file's."""
        codes = [code for code in (self.reading.source, self.reading.target) if code]
        both = "-".join(codes) if len(codes) == 2 else ""
        return self.wishes.name or both or self.sets.train[0].name.split(".")[0] or "run"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognized and what is held out, in words."""
        found = [f"read as: {self.reading.format.words()}{self.reading.besides}"]
        found += [self.identified] if self.identified else []
        if self.held_out is not None:
            shared = "source" if self.held_out.leaks == "source" else "source or target"
            apart = f"no training line shares its {shared} with them"
            found.append(
                f"held out, by {self.held_out.by}: {counted(len(self.held_out.dev), 'line')} for validation (dev) and "
                f"{len(self.held_out.test):,} for a test; "
                + (apart if self.corpus.sides == 2 else "no training line is one of them")
            )
        elif not self.sets.dev and self.wishes.hold_out is None:
            count = sum(1 for _ in islice(self.corpus.rows(), _LOOKED_AT))
            found.append(
                f"{counted(count, 'line is', 'lines are')} too few to hold any out: training will not be validated; "
                "--dev names lines to validate on"
            )
        return tuple(found)

    def table(self) -> str:
        """The settings of [data], as run.toml has them."""
        lines = [f"train = {relative_paths(self.sets.train, self.wishes.out)}"]
        lines += [f"dev = {relative_paths(self.sets.dev, self.wishes.out)}"] if self.sets.dev else []
        lines += [f"test = {relative_paths(self.sets.test, self.wishes.out)}"] if self.sets.test else []
        if self.held_out is not None:
            comment = "training lines that share this with dev or test are left out"
            lines.append(f'leaks = "{self.held_out.leaks}"             # {comment}')
        for side in ("source", "target"):
            code = getattr(self.reading, side)
            lines += [f"{side} = {_toml(code)}"] if code and self.corpus.sides == 2 else []
        return "\n".join(lines) + "\n" + (self._format() if len(self.sets.train) == 1 else "")

    def _format(self) -> str:
        chosen = self.reading.format
        kind = type(chosen).__module__.rpartition(".")[2]
        told = {name: value for name, value in to_dict(chosen).items() if value is not None}
        settings = {"name": kind} | {name: value for name, value in told.items() if value or name != "title"}
        lines = "".join(f"{name} = {_toml(value)}\n" for name, value in settings.items())
        return f"\n[data.format]                  # how the files are read\n{lines}"


def find_texts(files: Sequence[Path], wishes: Wishes, sides: int) -> TextFiles | None:
    """The text in the given files, or in those of a folder or archive; None if it has another number of sides."""
    sets = _sets(files, wishes)
    if sets is None:
        return None
    reading = recognize(sets.train, wishes.hints, wishes.format)
    if reading.format.sides(sets.train) != sides:
        return None
    if reading.source and reading.source == reading.target:
        raise UsageError(f"source and target are both in the language {reading.source}; --source and --target name two")
    found = TextFiles(sets=sets, reading=reading, wishes=wishes)
    _refuse_copies(found.corpus)
    if sides == 2:
        reading, told = languages_by_text(found.corpus, reading, wishes.hints)
        found = replace(found, reading=reading, identified=told)
    elif wishes.format is None and wishes.task is None:
        doubt_turns(found.corpus)
    if wishes.hints.columns is None and wishes.task is None:
        _doubt_labels(found.corpus, sets.train[0])
    _check_held_out(found)
    if sets.dev or wishes.hold_out == 0:
        return found
    held_out = hold_out(found.corpus, reading.document, wishes.hold_out)
    return found if held_out is None else _with_held_out(found, held_out)


def _sets(files: Sequence[Path], wishes: Wishes) -> FileSets | None:
    sets: FileSets | None = FileSets(train=tuple(files))
    if len(files) == 1 and is_container(files[0]):
        sets = files_in(files[0], wishes.hints.source, wishes.hints.target)
    if sets is None or len(sets.train) > 2:
        return None
    sets = replace(sets, dev=wishes.dev or sets.dev, test=wishes.test or sets.test)
    seen: set[Path] = set()
    for file in (*sets.train, *sets.dev, *sets.test):
        place = file.absolute()
        if place in seen:
            raise UsageError(f"{file}: is given twice; source, target, dev and test are different files")
        seen.add(place)
    return sets


def _check_held_out(found: TextFiles) -> None:
    """Read the dev and test sets that are given: they have the sides of the training text, and no blank lines."""
    data = DataSettings(train=found.sets.train, format=found.reading.format)
    for name in ("dev", "test"):
        files = getattr(found.sets, name)
        if not files:
            continue
        corpus, sides = data.corpus(files, Path(), "error"), found.corpus.sides
        if corpus.sides != sides:
            raise UsageError(
                f"--{name}: must have as many sides as the training text ({sides}), but has {corpus.sides}"
            )
        for _ in corpus.rows():
            continue


def _refuse_copies(corpus: Corpus) -> None:
    """Refuse pairs most of which have the same text on both sides."""
    if corpus.sides != 2:
        return
    sample = list(islice(corpus.rows(), _LOOKED_AT))
    same = sum(source.casefold() == target.casefold() for source, target in sample)
    if len(sample) >= 10 and same > 0.8 * len(sample):
        files = " and ".join(map(str, corpus.files))
        raise UsageError(f"{files}: {same} of the first {len(sample)} pairs have the same text on both sides")


def _doubt_labels(corpus: Corpus, file: Path) -> None:
    """Labels and texts, or words and tags, are data for another task, unless it is said what they are for."""
    if corpus.sides == 1 and (tells_labels(file) or tells_tags(file)):
        raise Doubt(f"{file}: holds labels or tags beside its text", "--task", "classify, tag or language")
    if not isinstance(corpus.format, Table | Jsonl):
        return
    sample = list(islice(corpus.rows(), _LOOKED_AT))
    for side in range(corpus.sides):
        if are_labels([row[side] for row in sample]):
            problem = f"{corpus.files[0]}: one of its columns repeats few texts, such as “{sample[0][side][:40]}”"
            told = f'{problem}, as labels do, which are learned with task = "classify"'
            raise Doubt(told, "--columns", "1,2 if it is to be translated all the same")


def _with_held_out(found: TextFiles, held_out: HeldOut) -> TextFiles:
    home = found.wishes.out.parent / _FOLDER
    codes = [found.reading.source or "source", found.reading.target or "target"]
    endings = codes if found.corpus.sides == 2 else ["txt"]
    files: dict[Path, str] = {}
    named: dict[str, Any] = {}
    for name, rows in (("dev", held_out.dev), ("test", held_out.test)):
        if getattr(found.sets, name):
            continue
        places = tuple(home / f"{found.name}.{name}.{ending}" for ending in endings)
        files |= {place: "".join(f"{row[side]}\n" for row in rows) for side, place in enumerate(places)}
        named[name] = places
    return replace(found, sets=replace(found.sets, **named), held_out=held_out, files=files)


def relative_paths(files: Sequence[Path], out: Path) -> str:
    """The files as run.toml lists them, relative to its own folder."""
    places = [file.resolve() for file in files]
    home = out.resolve().parent
    shown = [place.relative_to(home) if place.is_relative_to(home) else place for place in places]
    return _toml([str(place) for place in shown])


def _toml(value: Any) -> str:
    """A text, number, truth value or list as TOML writes it: as JSON does, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

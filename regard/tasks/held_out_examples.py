"""A dev set taken from labeled texts or tagged sentences that have none: always the same examples.

Equal texts go the same way, so that none of them is learned from and asked about.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.base.files import read_lines
from regard.data.corpus import text_hash
from regard.data.holding_out import held_out_size
from regard.data.labels import LabeledExample
from regard.data.recognize import kind_by_name
from regard.data.tags import TaggedSentence
from regard.tasks.task import Wishes
from regard.tasks.text_files import relative_paths

_Split = tuple[dict[str, Path], dict[Path, str]]
"""the files of train and dev, and the content of those that are still to be written"""


def split_examples(
    file: Path, examples: Sequence[LabeledExample], wishes: Wishes, name: str, dev: Path | None = None
) -> _Split:
    """The files to train and validate on; without a dev set, one is held out."""
    if kind_by_name(file) == "jsonl":
        lines = list(read_lines(file))
        written = [f"{lines[one.line - 1]}\n" for one in examples]
    else:
        cells = ([",".join(one.labels), *(text.replace("\t", " ") for text in one.texts)] for one in examples)
        written = ["\t".join(row) + "\n" for row in cells]
    return _split(file, [one.texts[0] for one in examples], written, (wishes, name, ".tsv"), dev)


def split_sentences(
    file: Path, sentences: Sequence[TaggedSentence], wishes: Wishes, name: str, dev: Path | None = None
) -> _Split:
    """The same for sentences, each word with its tag."""
    if kind_by_name(file) == "jsonl":
        tables = (
            {"words": one.words, "tags": one.tags} | ({"factors": one.factors} if one.factors else {})
            for one in sentences
        )
        written = [f"{json.dumps(table, ensure_ascii=False)}\n" for table in tables]
    else:
        columns = ((one.words, *([one.factors] if one.factors else []), one.tags) for one in sentences)
        written = ["".join(f"{' '.join(row)}\n" for row in zip(*own, strict=True)) + "\n" for own in columns]
    return _split(file, [" ".join(one.words) for one in sentences], written, (wishes, name, ".txt"), dev)


@dataclass(frozen=True)
class ObjectFiles:
    """The data of a run of JSON lines: its lines of [data], whether it validates, and what is still to be written."""

    lines: str
    validates: bool
    reasons: tuple[str, ...] = ()
    written: Mapping[Path, str] = field(default_factory=dict)


def split_objects(files: Sequence[Path], count: int, wishes: Wishes) -> ObjectFiles:
    """Files of JSON lines, `count` in all, such as sets; of one file without a dev set, some lines are held out."""
    own = {"train": list(files), "dev": list(wishes.dev)}
    written: dict[Path, str] = {}
    size = held_out_size(count) if wishes.hold_out is None else wishes.hold_out
    if len(files) == 1 and not wishes.dev and 0 < 2 * size <= count:
        lines = [f"{line}\n" for line in read_lines(files[0]) if line.strip()]
        places, written = _split(files[0], lines, lines, (wishes, wishes.name or files[0].stem, ".jsonl"), None)
        own = {part: [place] for part, place in places.items()}
    reasons = (f"held out for validation: {own['dev'][0]}; the rest is in {own['train'][0]}",) if written else ()
    shown = (f"{part} = {relative_paths(paths, wishes.out)}\n" for part, paths in own.items() if paths)
    return ObjectFiles("".join(shown), bool(own.get("dev")), reasons, written)


def _split(
    file: Path, texts: Sequence[str], written: Sequence[str], where: tuple[Wishes, str, str], dev: Path | None
) -> _Split:
    wishes, name, suffix = where
    own = wishes.dev[0] if wishes.dev else dev
    if own is not None:
        return {"train": file, "dev": own}, {}
    size = held_out_size(len(texts)) if wishes.hold_out is None else wishes.hold_out
    if not size or 2 * size > len(texts):
        return {"train": file}, {}
    hashes = [text_hash(text) for text in texts]
    hidden = set(sorted(hashes)[:size])
    parts = {
        part: "".join(line for line, key in zip(written, hashes, strict=True) if (key in hidden) == (part == "dev"))
        for part in ("train", "dev")
    }
    ending = ".jsonl" if kind_by_name(file) == "jsonl" else suffix
    places = {part: wishes.out.parent / f"{name}-{part}{ending}" for part in parts}
    return places, {places[part]: text for part, text in parts.items()}

"""A dev set taken from labeled texts or tagged sentences that have none: always the same examples.

Equal texts go the same way, so that none of them is learned from and asked about.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.base.files import read_lines
from regard.data.corpus import text_hash
from regard.data.holding_out import held_out_size
from regard.data.labels import LabeledExample
from regard.data.recognize import kind_by_name
from regard.data.tags import TaggedSentence
from regard.tasks.task import Wishes

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

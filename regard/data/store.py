"""The tokenized corpus, encoded once and read from disk in any order.

A folder holds, for each side, the tokens of all sentences one after the other and the offset at which each begins;
every sentence ends in `</s>`. Offsets are memory-mapped and tokens are read on demand, so that a corpus of any size
needs little memory. `store.json` holds the hashes of the inputs, the size and the checksum of each file, and its own
checksum; all are verified when the store is opened, in less time than hashing the text takes. A store is reused while
its inputs are unchanged and its files intact, and rebuilt otherwise.
"""

import hashlib
import json
import os
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import ConfigError, RegardError
from regard.base.files import digest, read_bytes, sync_folder, temporary_beside, unreadable, unwritable
from regard.base.room import usable_cores
from regard.data.corpus import Corpus, Counts
from regard.data.encoding import encoded_in_order, id_type
from regard.data.subwords.open_words import Unknown
from regard.data.subwords.tokenizer import SubwordPair, Subwords

_Opened = TypeVar("_Opened")
_VERSION = 2
_KEY = "store.json"
_LINES = 8_192
_READ = 1 << 20
_ALONE = 200_000
"""a text of more lines is encoded by several processes"""
_OURS = re.compile(r"\w+\.(tokens|offsets)")


class Flat:
    """All tokens of one side as one long row on disk: `flat[a:b]` reads a slice, `len(flat)` counts them.

    A memory map would do the same, but the kernel maps up to 2 MB around each place that is touched: reading random
    sentences would soon make the whole file count as this process's memory.
    """

    def __init__(self, path: Path, dtype: str) -> None:
        try:
            self._file = path.open("rb", buffering=0)
            size = path.stat().st_size
        except OSError as error:
            raise unreadable(path, error) from error
        weakref.finalize(self, self._file.close)
        self._path, self._lock, self.dtype = path, threading.Lock(), np.dtype(dtype)
        self._count = size // self.dtype.itemsize

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, part: slice) -> NDArray[Any]:
        start, end, _ = part.indices(self._count)
        wanted = max(0, end - start) * self.dtype.itemsize
        with self._lock:
            self._file.seek(start * self.dtype.itemsize)
            data = self._file.read(wanted)
        if len(data) != wanted:
            raise RegardError(f"{self._path}: the file became shorter while it was in use")
        return np.frombuffer(data, self.dtype)


class Tokens:
    """One side of a store: `tokens[i]` are the ids of sentence i, ending in `</s>`."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self.flat = Flat(folder / f"{name}.tokens", dtype)
        self._offsets = Flat(folder / f"{name}.offsets", "<i8")

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int64]:
        if not 0 <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)}")
        start, end = self._offsets[index : index + 2]
        return self.flat[start:end].astype(np.int64)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """The number of tokens of each sentence, its `</s>` included."""
        return self.lengths_of(0, len(self))

    def lengths_of(self, start: int, stop: int) -> NDArray[np.int32]:
        """The number of tokens of some sentences in a row."""
        return np.diff(self._offsets[start : stop + 1]).astype(np.int32)

    @cached_property
    def longest(self) -> int:
        """The number of tokens of the longest sentence."""
        starts = range(0, len(self), _READ)
        return max(int(self.lengths_of(start, min(start + _READ, len(self))).max()) for start in starts)


@dataclass(frozen=True)
class Store:
    """An encoded corpus: `store[i]` is the source and target ids of pair i, or the ids of line i in a 1-tuple."""

    folder: Path
    sides: tuple[Tokens, ...]
    counts: Counts

    def __len__(self) -> int:
        """The number of pairs or lines."""
        return len(self.sides[0])

    def __getitem__(self, index: int) -> tuple[NDArray[np.int64], ...]:
        return tuple(side[index] for side in self.sides)


def open_store(folder: str | Path) -> Store:
    """Open an existing store; an error names a file that is missing or damaged."""
    folder = Path(folder)
    key = whole_key(folder)
    sides = tuple(Tokens(folder, f"side{at}", dtype) for at, dtype in enumerate(key["dtypes"]))
    return Store(folder, sides, Counts(**key["counts"]))


def whole_key(folder: Path) -> dict[str, Any]:
    """Read `store.json`, and check the size and the content of every file."""
    key = read_key(folder)
    for name, expected in key["files"].items():
        found = (folder / name).stat().st_size if (folder / name).is_file() else 0
        if found != expected["bytes"]:
            raise RegardError(
                f"{folder / name}: {found:,} bytes where {expected['bytes']:,} were written; it is cut off"
            )
    with ThreadPoolExecutor(len(key["files"])) as pool:
        digests = pool.map(lambda name: digest(folder / name), key["files"])
    for (name, expected), found_digest in zip(key["files"].items(), digests, strict=True):
        if found_digest != expected["sha256"]:
            raise RegardError(f"{folder / name}: the content is damaged")
    return key


def build_store(
    folder: str | Path,
    corpus: Corpus,
    subwords: SubwordPair | Subwords,
    warn: Callable[[str], object] = bool,
    unknown: Unknown = "one",
) -> Store:
    """Open the store of a corpus in `folder` if it is intact and up to date; otherwise encode the corpus.

    `warn` is told about a damaged store that is built again. With `unknown` "own", the unknown words of a source have
    ids of their own, which its target uses too; both sides then share one vocabulary.
    """
    vocabularies = (subwords,) if isinstance(subwords, Subwords) else (subwords.source, subwords.target)
    if len(vocabularies) != corpus.sides:
        raise ConfigError(f"{corpus.files[0]}: {corpus.sides} sides of text, but {len(vocabularies)} vocabularies")
    folder = Path(folder)
    made_from = [_VERSION, corpus.fingerprint(), *(vocabulary.fingerprint for vocabulary in vocabularies)]
    made_from += [] if unknown == "one" else [unknown]
    if (found := reusable(folder, made_from, open_store, warn)) is not None:
        return found
    replace_folder(folder, lambda place: _write(place, corpus, vocabularies, made_from, unknown))
    return open_store(folder)


def reusable(
    folder: Path, made_from: list[Any], opened: Callable[[Path], _Opened], warn: Callable[[str], object]
) -> _Opened | None:
    """What a folder holds, opened, if that is intact and was made from this; `warn` is told what is damaged."""
    if not (folder / _KEY).is_file():
        return None
    try:
        return opened(folder) if read_key(folder)["made_from"] == made_from else None
    except RegardError as error:
        warn(f"{error}; it is made again")
        return None


def replace_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary folder that then replaces `folder`; only a store may be replaced."""
    _refuse_other_content(folder)
    temporary = temporary_beside(folder.resolve())
    try:
        temporary.mkdir(parents=True)
        write(temporary)
        if folder.exists():
            _refuse_other_content(folder)
            old = temporary_beside(folder.resolve())
            folder.rename(old)
            shutil.rmtree(old)
        temporary.rename(folder)
        sync_folder(folder.resolve().parent)
    except OSError as error:
        raise unwritable(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_other_content(folder: Path) -> None:
    """Raise an error if the folder, which is to be deleted, holds anything but a store, or parts of one."""
    if not os.path.lexists(folder) or (folder / _KEY).is_file():
        return
    if not folder.is_dir() or not all(_OURS.fullmatch(path.name) for path in folder.iterdir()):
        raise RegardError(f"{folder}: holds something that is not a store of encoded text; name another folder")


def _write(
    folder: Path, corpus: Corpus, vocabularies: Sequence[Subwords], made_from: list[Any], unknown: Unknown
) -> None:
    counts = Counts()
    rows = corpus.rows(counts)
    with ExitStack() as files:
        dtypes = [id_type(vocabulary, unknown) for vocabulary in vocabularies]
        sides = [RowWriter(files, folder, f"side{at}", dtype) for at, dtype in enumerate(dtypes)]
        first = list(islice(rows, _ALONE))
        processes = usable_cores() if len(first) == _ALONE else 1
        lines = chain(first, rows)
        batches = iter(lambda: list(islice(lines, _LINES)), [])
        for encoded in encoded_in_order(batches, vocabularies, processes, unknown):
            for side, (flat, lengths) in zip(sides, encoded, strict=True):
                side.write_flat(flat, lengths)
        written = {name: facts for side in sides for name, facts in side.finish().items()}
    if not counts.kept:
        raise RegardError(f"{corpus.files[0]}: nothing to learn from: {counts}")
    if made_from[1] != corpus.fingerprint():
        raise RegardError(f"{corpus.files[0]}: the text was changed while it was being encoded; start again")
    write_key(folder, made_from, written, dtypes=dtypes, counts=asdict(counts))


def write_key(folder: Path, made_from: list[Any], files: dict[str, Any], **facts: Any) -> None:
    """Write `store.json`: the hashes of the inputs, the size and the checksum of each file, and its own checksum."""
    content = {"version": _VERSION, "made_from": made_from, "files": files, **facts}
    with (folder / _KEY).open("wb") as file:
        file.write(json.dumps({**content, "checksum": _checksum(content)}, indent=2).encode())
        _sync(file)
    sync_folder(folder)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class RowWriter:
    """Appends rows of numbers, such as the tokens of sentences, to files that `Tokens` reads."""

    def __init__(self, files: ExitStack, folder: Path, name: str, dtype: str) -> None:
        self.dtype = dtype
        paths = {kind: folder / f"{name}.{kind}" for kind in ("tokens", "offsets")}
        self._files = {kind: files.enter_context(path.open("wb")) for kind, path in paths.items()}
        self._hashes = {kind: hashlib.sha256() for kind in self._files}
        self._end = 0
        self._append("offsets", np.zeros(1, "<i8"))

    def write(self, rows: Sequence[Sequence[int]]) -> None:
        """Append rows."""
        lengths = np.array([len(row) for row in rows], dtype="<i8")
        self.write_flat(np.fromiter(chain.from_iterable(rows), self.dtype, count=int(lengths.sum())), lengths)

    def write_flat(self, numbers: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        """Append rows that stand one after the other, with the length of each."""
        ends = self._end + np.cumsum(lengths, dtype="<i8")
        self._end = int(ends[-1])
        self._append("tokens", numbers)
        self._append("offsets", ends)

    def finish(self) -> dict[str, dict[str, Any]]:
        """Flush the files; returns the size and the hash of each."""
        facts = {}
        for kind, file in self._files.items():
            facts[Path(file.name).name] = {"bytes": file.tell(), "sha256": self._hashes[kind].hexdigest()}
            _sync(file)
        return facts

    def _append(self, kind: str, values: NDArray[Any]) -> None:
        data = values.tobytes()
        self._files[kind].write(data)
        self._hashes[kind].update(data)


def _sync(file: BinaryIO | Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def read_key(folder: Path) -> dict[str, Any]:
    """Read `store.json`, and check its checksum."""
    try:
        key: dict[str, Any] = json.loads(read_bytes(folder / _KEY))
        checksum, version = key.pop("checksum", None), key["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RegardError(f"{folder / _KEY}: the content is damaged") from error
    if version != _VERSION and checksum in (None, _checksum(key)):
        raise RegardError(f"{folder / _KEY}: written by another version")
    if checksum != _checksum(key):
        raise RegardError(f"{folder / _KEY}: the content is damaged")
    return key

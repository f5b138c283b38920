"""Data and folder of a run that several ranks share: prepared once on each machine, and checked to be the same.

Where all machines see one disk, rank 0 prepares the data for all. A machine with a disk of its own prepares its own
copy, once. Afterwards every rank must have the same data, settings and versions as rank 0.
"""

import hashlib
import json
import platform
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from regard.base.errors import RegardError
from regard.base.files import unwritable
from regard.base.ranks import Ranks
from regard.data.store import read_key
from regard.runs.folder import RunFolder, open_run
from regard.tasks.run import Run
from regard.tasks.task import Prepared
from regard.training.progress import Progress


@contextmanager
def run_folder_of(run: Run, path: Path, free: Collection[str], ranks: Ranks) -> Iterator[tuple[RunFolder, int]]:
    """The folder of a run, and the rank that prepares the data in it, which holds its lock."""
    config = run.to_toml()
    if ranks.first:
        with open_run(path, config, free) as folder:
            _leaders(path, ranks)
            yield folder, 0
        return
    leader = _leaders(path, ranks)
    if leader != ranks.rank:
        yield RunFolder(path), leader
        return
    with open_run(path, config, free) as folder:
        yield folder, leader


def _leaders(path: Path, ranks: Ranks) -> int:
    """The rank that prepares the data in this rank's folder: rank 0, or the first on a machine with its own disk."""
    if ranks.size == 1:
        return 0
    mark = ranks.agree(f".{secrets.token_hex(8)}.tmp" if ranks.first else None)
    try:
        if ranks.first:
            (path / mark).touch()
        ranks.gather(None)
        seen = ranks.gather([(path / mark).exists(), platform.node()])
        if ranks.first:
            (path / mark).unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    sees, own = seen[ranks.rank]
    if sees:
        return 0
    return next(rank for rank, (shares, host) in enumerate(seen) if not shares and host == own)


def prepared_in_turn(run: Run, path: Path, data: Path, progress: Progress, ranks: Ranks, leader: int) -> Prepared:
    """The data: prepared by the leader of a folder first, then opened by the others, and the same on every rank."""

    def prepare() -> Prepared:
        return run.task.prepare(path, data, lambda text: progress.say(f"{text} …"))

    prepared = ranks.after(leader, "prepared", prepare)
    if ranks.size > 1:
        ranks.check_alike(facts_of(run, prepared))
    return prepared


def facts_of(run: Run, prepared: Prepared) -> dict[str, Any]:
    """What must be the same on all ranks, by name."""
    try:
        own = version("regard")
    except PackageNotFoundError:
        own = "from sources"
    settings = {name: table for name, table in run.to_dict().items() if name != "decoding"}
    return {
        "versions": f"Regard {own}, torch {torch.__version__}",
        "settings": _hash(settings),
        "data": f"{prepared.summary} ({_hash(_content(prepared))})",
    }


def _content(prepared: Prepared) -> list[Any]:
    """What tells other data: sizes, vocabularies, the number of batches, and the hashes of an encoded corpus."""
    store = getattr(prepared, "store", None)
    try:
        files = None if store is None else read_key(store.folder)["files"]
    except RegardError:
        files = None
    sample = [[str(value.tolist()) for value in _tensors(item)] for item in prepared.dev[:2]]
    return [dict(prepared.sizes), dict(prepared.tokenizers), prepared.train.epoch(), files, sample]


def _tensors(item: Any) -> list[torch.Tensor]:
    return (
        [value for value in vars(item).values() if isinstance(value, torch.Tensor)] if hasattr(item, "__dict__") else []
    )


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]

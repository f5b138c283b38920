"""Ranks: the processes that work on one run together, on one machine or on several.

torchrun starts them and tells each its number, the rank; `regard.base.joining` connects them. Rank 0 writes all files
and prints all messages. Small values travel as JSON, never pickled; tensors travel by torch.distributed.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from regard.base.errors import RegardError

_ROOM = 1_016
"""bytes of a message that travel at once; a longer one takes a second exchange"""
_POLL = 0.05
_Result = TypeVar("_Result")


class LostRankError(RegardError):
    """Another rank ended, or cannot be reached."""


class QuietError(RegardError):
    """Another rank failed and says why, so that this one ends without a word."""


@dataclass(frozen=True)
class Ranks:
    """The ranks of a run, seen from one of them; all of them call the same methods in the same order."""

    rank: int = 0
    size: int = 1
    local: int = 0
    """the number of this rank on its machine"""
    store: Any = field(default=None, compare=False)
    """torch's key-value store, which all ranks reach"""

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which writes files and messages."""
        return self.rank == 0

    def gather(self, value: Any) -> list[Any]:
        """The JSON values of all ranks, in their order, on every rank."""
        if self.size == 1:
            return [value]
        text = json.dumps(value).encode()
        heads = self._gathered(_framed(text[:_ROOM], len(text), _ROOM))
        longest = max(length for length, _ in heads)
        if longest > _ROOM:
            heads = self._gathered(_framed(text, len(text), longest))
        return [json.loads(raw[:length]) for length, raw in heads]

    def agree(self, value: Any) -> Any:
        """The JSON value of rank 0, on every rank."""
        return self.gather(value if self.first else None)[0]

    def agree_on_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Overwrite the tensors of all ranks by those of rank 0."""
        if self.size > 1:
            with lost_ranks_named():
                for tensor in tensors:
                    dist.broadcast(tensor, src=0)

    def after(self, leader: int, name: str, work: Callable[[], _Result]) -> _Result:
        """Do some work on this rank once the rank `leader` has done it, however long that takes."""
        if self.size == 1:
            return work()
        with lost_ranks_named():
            while self.rank != leader and not self.store.check([f"{name} {leader}"]):
                if self.store.check(["failed"]):
                    raise QuietError("another rank failed")
                time.sleep(_POLL)
        try:
            result = work()
        except BaseException:
            self.store.set("failed", str(self.rank))
            raise
        if self.rank == leader:
            with lost_ranks_named():
                self.store.set(f"{name} {leader}", b"done")
        return result

    def check_alike(self, facts: dict[str, Any]) -> None:
        """Raise an error if a rank has other facts than rank 0."""
        all_facts = self.gather(facts)
        for rank, theirs in enumerate(all_facts):
            for fact, ours in all_facts[0].items():
                if theirs[fact] != ours:
                    raise RegardError(
                        f"rank {rank} has other {fact} than rank 0: {theirs[fact]}, where rank 0 has {ours}; all ranks "
                        "must start with the same"
                    )

    def _gathered(self, message: Tensor) -> list[tuple[int, bytes]]:
        every = torch.empty(self.size * len(message), dtype=torch.uint8)
        with lost_ranks_named():
            dist.all_gather_single(every, message)
        rows = (row.numpy().tobytes() for row in every.view(self.size, -1))
        return [(int.from_bytes(row[:8], "little"), row[8:]) for row in rows]


ALONE = Ranks()
"""one process by itself"""
_sharing: ContextVar[Ranks] = ContextVar("sharing", default=ALONE)


@contextmanager
def sharing(ranks: Ranks) -> Iterator[None]:
    """Inside, work that `shared` is given is divided among these ranks; all of them must come here."""
    token = _sharing.set(ranks)
    try:
        yield
    finally:
        _sharing.reset(token)


def agreed_tensors(ranks: Ranks, tensors: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
    """The named tensors of rank 0, on every rank; the others give None."""
    given = dict(tensors or {})
    if ranks.size == 1:
        return given
    kinds = [[name, list(tensor.shape), str(tensor.dtype).removeprefix("torch.")] for name, tensor in given.items()]
    kinds = ranks.agree(kinds)
    if not ranks.first:
        given = {name: torch.empty(shape, dtype=getattr(torch, dtype)) for name, shape, dtype in kinds}
    local = {name: tensor.cpu().contiguous() for name, tensor in given.items()}
    ranks.agree_on_tensors(list(local.values()))
    return local


def shared(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The JSON value of `work` for each item, in order; ranks that share work each take every so-manieth item."""
    return shared_batch(lambda own: [work(item) for item in own], items)


def shared_batch(work: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any]) -> list[Any]:
    """As `shared`, for work on many items at once."""
    ranks = _sharing.get()
    own = items[ranks.rank :: ranks.size]
    parts = ranks.gather(list(work(own)) if own else [])
    return [parts[at % ranks.size][at // ranks.size] for at in range(len(items))]


@contextmanager
def lost_ranks_named() -> Iterator[None]:
    """Turn torch's errors about connections into a sentence."""
    try:
        yield
    except RuntimeError as error:
        raise LostRankError(
            "the connection to another rank was lost; what was saved is kept, start the run again to go on"
        ) from error


def _framed(text: bytes, length: int, room: int) -> Tensor:
    """A message of a fixed size: the length of the whole text in 8 bytes, then as much of it as there is room for."""
    return torch.frombuffer(bytearray(length.to_bytes(8, "little") + text.ljust(room, b"\0")), dtype=torch.uint8)

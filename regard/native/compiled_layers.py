"""The compiled layers of a Transformer: an encoder, or a decoder with its output layer and beam search.

Callers have checked the sizes of all tensors that they hand over.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.base.errors import UsageError
from regard.native.kernels import Kernels
from regard.native.structures import LinearWeights, Packer, StackWeights

_BLOCK = 6 * 32
"""panels of logits that `best_words` makes at a time: 32 for each of 6 rows"""


class CompiledStack:
    """A stack of layers for the compiled functions; `packer` holds the weights that its structure points to."""

    def __init__(self, native: Kernels, weights: StackWeights, packer: Packer) -> None:
        self._library, self._weights, self._packer = native.library, weights, packer
        self._self = ctypes.byref(weights)
        self.count, self.width = int(weights.count), int(weights.width)
        self.pair_step = int(native.library.pair_step(self._self))

    def space(self, rows: int, keys: int) -> Tensor:
        """Working space for so many rows, each of which reads at most `keys` pairs."""
        return torch.empty(self._library.space_for(self._self, rows, keys))

    def pairs(self, rows: int) -> Float[Tensor, "layers rows pair"]:
        """Room for the keys and values of these rows in every layer."""
        return torch.empty(self.count, rows, self.pair_step)

    def encode(
        self,
        source: Int[Tensor, "sentences longest"],
        length: Int[Tensor, "sentences"],
        vocabulary: int,
        places: Float[Tensor, "longest width"] | None,
    ) -> tuple[Float[Tensor, "rows width"], Int[Tensor, "sentences"]]:
        """The encoded sentences one after the other, without padding, and the first row of each."""
        (sentences, longest), rows = source.shape, int(length.sum())
        if not 0 < int(length.min()) <= int(length.max()) <= longest:
            raise UsageError(f"kernels: lengths of a source must be from 1 to {longest}, but are {length.tolist()}")
        made, pairs, space = torch.empty(rows, self.width), torch.empty(rows, self.pair_step), self.space(rows, longest)
        first = torch.empty_like(length)
        fault = self._library.encode(
            *(self._self, vocabulary, source.data_ptr(), sentences, longest, length.data_ptr(), first.data_ptr()),
            *(rows, None if places is None else places.data_ptr(), pairs.data_ptr(), space.data_ptr()),
            made.data_ptr(),
        )
        if fault:
            raise UsageError(f"kernels: a source has a token that is not among the {vocabulary} of the vocabulary")
        return made, first

    def remember(self, encoded: Float[Tensor, "rows width"]) -> Float[Tensor, "layers rows pair"]:
        """The keys and values of an encoded source for every layer."""
        made = self.pairs(len(encoded))
        self._library.remember(self._self, encoded.data_ptr(), len(encoded), made.data_ptr())
        return made

    def decode(
        self,
        tokens: Int[Tensor, "rows"],
        sentences: int,
        place: Tensor | None,
        steps: "Steps",
        ancestry: Int[Tensor, "most_rows room"],
        source: "SourcePairs | None",
        space: Tensor,
        made: Float[Tensor, "most_rows width"],
    ) -> None:
        """One step: the hidden states into `made`, keys and values into the last of `steps`."""
        read: tuple[Any, ...] = (None, 0, None, None) if source is None else source.given
        self._library.decode(
            *(self._self, tokens.data_ptr(), sentences, tokens.shape[0] // sentences),
            *(None if place is None else place.data_ptr(), steps.pointers, steps.counts, steps.last),
            *(ancestry.data_ptr(), ancestry.stride(0), *read),
            *(max(steps.last + 1, 0 if source is None else source.longest), space.data_ptr(), made.data_ptr()),
        )

    def prefill(
        self,
        tokens: Int[Tensor, "given sentences"],
        places: Float[Tensor, "given numbers"] | None,
        steps: "Steps",
        ancestry: Int[Tensor, "sentences before"],
    ) -> Float[Tensor, "given sentences width"]:
        """Several steps without a source at once: the hidden states; keys and values go into the last of `steps`."""
        given, sentences = tokens.shape
        rows, first = given * sentences, steps.last + 1 - given
        pairs, space = torch.empty(rows, self.pair_step), self.space(rows, first + given)
        made = torch.empty(given, sentences, self.width)
        self._library.prefill(
            *(self._self, tokens.data_ptr(), sentences, given),
            *((None, 0) if places is None else (places.data_ptr(), places.stride(0))),
            *(steps.pointers, steps.counts, first, ancestry.data_ptr(), ancestry.stride(0)),
            *(pairs.data_ptr(), space.data_ptr(), made.data_ptr()),
        )
        return made


class SourcePairs:
    """The keys and values of a source, and where those of each sentence are."""

    def __init__(self, pairs: Float[Tensor, "layers rows pair"], first: Tensor, length: Tensor, longest: int) -> None:
        self.pairs, self.first, self.length, self.longest = pairs, first, length, longest
        self.given = (pairs.data_ptr(), pairs.shape[1], first.data_ptr(), length.data_ptr())

    def pick(self, sentences: Int[Tensor, "kept"]) -> "SourcePairs":
        """Those of some sentences; nothing is copied but numbers."""
        return SourcePairs(self.pairs, self.first[sentences], self.length[sentences], self.longest)


class Steps:
    """The keys and values of all steps of a decoder so far, as addresses.

    >>> after = steps.grown(3, [pairs])     the first three steps, and another
    """

    def __init__(self, pairs: Sequence[Float[Tensor, "layers _ pair"]] = ()) -> None:
        self._pairs = list(pairs)
        self._make()

    def _make(self) -> None:
        room = 2 * len(self._pairs) + 16
        held = [(one.data_ptr(), one.shape[1]) for one in self._pairs]
        self.pointers: Any = (ctypes.c_void_p * room)(*(address for address, _ in held))
        self.counts: Any = (ctypes.c_int64 * room)(*(count for _, count in held))

    @property
    def last(self) -> int:
        """The number of the newest step, from 0."""
        return len(self._pairs) - 1

    @property
    def size(self) -> int:
        """How many floats they are."""
        return sum(one.numel() for one in self._pairs)

    def prune(self, ancestry: Int[Tensor, "rows room"]) -> None:
        """Keep only what some hypothesis sees; the numbers of the rows in `ancestry` are changed accordingly."""
        for at, pairs in enumerate(self._pairs):
            used, place = ancestry[:, at].unique(return_inverse=True)
            if 2 * len(used) <= pairs.shape[1]:
                self._pairs[at] = pairs.index_select(1, used)
                ancestry[:, at] = place
        self._make()

    def grown(self, count: int, pairs: Sequence[Float[Tensor, "layers rows pair"]]) -> "Steps":
        """The first `count` steps and those of `pairs`: this object, unless it has gone on another way already."""
        whole = self if count == len(self._pairs) else Steps(self._pairs[:count])
        for one in pairs:
            whole.add(one)
        return whole

    def add(self, pairs: Float[Tensor, "layers rows pair"]) -> None:
        """Another step."""
        if len(self._pairs) == len(self.counts):
            self._make()
        self.pointers[len(self._pairs)], self.counts[len(self._pairs)] = pairs.data_ptr(), pairs.shape[1]
        self._pairs.append(pairs)


class BestWords:
    """The output layer with the best words of each row; its buffers are used again at every step."""

    def __init__(
        self,
        native: Kernels,
        output: LinearWeights,
        wide: int,
        *,
        rows: int,
        count: int,
        end: int,
        banned: Int[Tensor, "banned"],
    ) -> None:
        self._call, self._output, self._count, self._end = native.library.best_words, ctypes.byref(output), count, end
        self._banned, self._block = banned.contiguous(), torch.empty(_BLOCK * wide)
        self.norm, self.ending = torch.empty(rows), torch.empty(2 * rows)
        self.logits, self.tokens = torch.empty(rows, count), torch.empty(rows, count, dtype=torch.int32)
        self.given = tuple(one.data_ptr() for one in (self.norm, self.ending, self.logits, self.tokens))

    def __call__(self, x: Float[Tensor, "most_rows width"], rows: int) -> None:
        """Fill `norm`, `ending` (the logit of the token `end`), `logits` and `tokens` for the first rows of x."""
        self._call(
            *(self._output, rows, x.data_ptr(), self._end, self._banned.data_ptr(), self._banned.shape[0], self._count),
            *(self._block.data_ptr(), *self.given),
        )


@cache
def products_work(native: Kernels) -> bool:
    """Whether the compiled products compute what torch computes, for tiles of every height: a compiler may be wrong."""
    with torch.inference_mode():
        x = torch.arange(13 * 24, dtype=torch.float32).mul_(0.37).sin_().view(13, 24)
        weight = torch.arange(150 * 24, dtype=torch.float32).mul_(0.71).sin_().view(150, 24)
        packer, nothing = Packer(native.lanes), torch.empty(0, dtype=torch.long)
        output, logits = packer.linear(weight, weight[:, 0]), x @ weight.T + weight[:, 0]
        for rows in range(1, len(x) + 1):
            words = BestWords(native, output, packer.wide, rows=rows, count=4, end=3, banned=nothing)
            words(x[:rows], rows)
            pairs = [(words.norm, logits[:rows].logsumexp(1)), (words.logits, logits[:rows].topk(4).values)]
            if not all(torch.allclose(found, wanted, atol=1e-4) for found, wanted in pairs):
                return False
    return True

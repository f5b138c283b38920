"""The compiled layers of a Transformer: an encoder, or a decoder with its output layer.

Numbers are held by numpy, so that a model can be run without torch. Callers have checked the sizes of all arrays that
they hand over, and that each has its numbers in a row.
"""

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from regard.base.errors import UsageError
from regard.native.library import Library, address
from regard.native.structures import LinearWeights, Packer, StackWeights

_ALIGNED = 64


class CompiledStack:
    """A stack of layers for the compiled functions; `packer` holds the weights that its structure points to."""

    def __init__(self, native: Library, weights: StackWeights, packer: Packer) -> None:
        self._library, self.weights, self._packer = native.library, weights, packer
        self._self = ctypes.byref(weights)
        self.count, self.width = int(weights.count), int(weights.width)
        self.pair_step = int(native.library.pair_step(self._self))

    def space(self, rows: int, keys: int) -> np.ndarray:
        """Working space for so many rows, each of which reads at most `keys` pairs."""
        return numbers(self._library.space_for(self._self, rows, keys))

    def pairs(self, rows: int) -> Float[np.ndarray, "layers rows pair"]:
        """Room for the keys and values of these rows in every layer."""
        return numbers(self.count, rows, self.pair_step)

    def encode(
        self,
        source: Int[np.ndarray, "sentences longest"],
        length: Int[np.ndarray, "sentences"],
        vocabulary: int,
        places: Float[np.ndarray, "places numbers"] | None,
    ) -> tuple[Float[np.ndarray, "rows width"], Int[np.ndarray, "sentences"]]:
        """The encoded sentences one after the other, without padding, and the first row of each."""
        (sentences, longest), lengths = source.shape, length.tolist()
        if not 0 < min(lengths) <= max(lengths) <= longest:
            raise UsageError(f"kernels: lengths of a source must be from 1 to {longest}, but are {lengths}")
        rows = sum(lengths)
        made, pairs, space = numbers(rows, self.width), numbers(rows, self.pair_step), self.space(rows, longest)
        first = np.empty_like(length)
        fault = self._library.encode(
            *(self._self, vocabulary, address(source), sentences, longest, address(length), address(first)),
            *(rows, None if places is None else address(places), address(pairs), address(space), address(made)),
        )
        if fault:
            raise UsageError(f"kernels: a source has a token that is not among the {vocabulary} of the vocabulary")
        return made, first

    def remember(self, encoded: Float[np.ndarray, "rows width"]) -> Float[np.ndarray, "layers rows pair"]:
        """The keys and values of an encoded source for every layer."""
        made = self.pairs(len(encoded))
        self._library.remember(self._self, address(encoded), len(encoded), address(made))
        return made

    def decode(
        self,
        tokens: Int[np.ndarray, "rows"],
        sentences: int,
        place: np.ndarray | None,
        steps: "Steps",
        ancestry: Int[np.ndarray, "most_rows room"],
        source: "SourcePairs | None",
        space: np.ndarray,
        made: Float[np.ndarray, "most_rows width"],
    ) -> None:
        """One step: the hidden states into `made`, keys and values into the last of `steps`."""
        read: tuple[Any, ...] = (None, 0, None, None) if source is None else source.given
        self._library.decode(
            *(self._self, address(tokens), sentences, len(tokens) // sentences),
            *(None if place is None else address(place), steps.pointers, steps.counts, steps.last),
            *(address(ancestry), ancestry.shape[1], *read),
            *(max(steps.last + 1, 0 if source is None else source.longest), address(space), address(made)),
        )

    def prefill(
        self,
        tokens: Int[np.ndarray, "given sentences"],
        places: Float[np.ndarray, "given numbers"] | None,
        steps: "Steps",
        ancestry: Int[np.ndarray, "sentences before"],
    ) -> Float[np.ndarray, "given sentences width"]:
        """Several steps without a source at once: the hidden states; keys and values go into the last of `steps`."""
        given, sentences = tokens.shape
        rows, first = given * sentences, steps.last + 1 - given
        pairs, space = numbers(rows, self.pair_step), self.space(rows, first + given)
        made = numbers(given, sentences, self.width)
        self._library.prefill(
            *(self._self, address(tokens), sentences, given),
            *((None, 0) if places is None else (address(places), places.shape[1])),
            *(steps.pointers, steps.counts, first, address(ancestry), ancestry.shape[1]),
            *(address(pairs), address(space), address(made)),
        )
        return made


class SourcePairs:
    """The keys and values of a source, and where those of each sentence are."""

    def __init__(
        self, pairs: Float[np.ndarray, "layers rows pair"], first: np.ndarray, length: np.ndarray, longest: int
    ) -> None:
        self.pairs, self.first, self.length, self.longest = pairs, first, length, longest
        self.given = (address(pairs), pairs.shape[1], address(first), address(length))

    def pick(self, sentences: Int[np.ndarray, "kept"]) -> "SourcePairs":
        """Those of some sentences; nothing is copied but numbers."""
        return SourcePairs(self.pairs, self.first[sentences], self.length[sentences], self.longest)


class Steps:
    """The keys and values of all steps of a decoder so far, as addresses.

    >>> after = steps.grown(3, [pairs])     the first three steps, and another
    """

    def __init__(self, pairs: Sequence[Float[np.ndarray, "layers _ pair"]] = ()) -> None:
        self._pairs = list(pairs)
        self._make()

    def _make(self, more: int = 16) -> None:
        room = 2 * len(self._pairs) + more
        held = [(address(one), one.shape[1]) for one in self._pairs]
        self.pointers: Any = (ctypes.c_void_p * room)(*(address for address, _ in held))
        self.counts: Any = (ctypes.c_int64 * room)(*(count for _, count in held))

    @property
    def last(self) -> int:
        """The number of the newest step, from 0."""
        return len(self._pairs) - 1

    @property
    def size(self) -> int:
        """How many floats they are."""
        return sum(one.size for one in self._pairs)

    def prune(self, ancestry: Int[np.ndarray, "rows room"]) -> None:
        """Keep only what some hypothesis sees; the numbers of the rows in `ancestry` are changed accordingly."""
        for at, pairs in enumerate(self._pairs):
            used, place = np.unique(ancestry[:, at], return_inverse=True)
            if 2 * len(used) <= pairs.shape[1]:
                self._pairs[at] = np.ascontiguousarray(pairs[:, used])
                ancestry[:, at] = place
        self._make()

    def grown(self, count: int, pairs: Sequence[Float[np.ndarray, "layers rows pair"]]) -> "Steps":
        """The first `count` steps and those of `pairs`: this object, unless it has gone on another way already."""
        whole = self if count == len(self._pairs) else Steps(self._pairs[:count])
        for one in pairs:
            whole.add(one)
        return whole

    def reserve(self, steps: int, shape: tuple[int, ...]) -> None:
        """Room for further steps of at most this shape each; `settle` keeps those that are used."""
        room = numbers(steps, *shape)
        if len(self._pairs) + steps > len(self.counts):
            self._make(steps)
        start, apart, first = address(room), room.strides[0], len(self._pairs)
        self.pointers[first : first + steps] = range(start, start + steps * apart, apart)
        self._pairs.extend(room)

    def settle(self, first: int, count: int) -> None:
        """Keep `count` steps; from `first` on, they have as many rows as `counts` says."""
        del self._pairs[count:]
        for at in range(first, count):
            layers, _, width = self._pairs[at].shape
            rows = self.counts[at]
            self._pairs[at] = self._pairs[at].reshape(-1)[: layers * rows * width].reshape(layers, rows, width)

    def add(self, pairs: Float[np.ndarray, "layers rows pair"]) -> None:
        """Another step."""
        if len(self._pairs) == len(self.counts):
            self._make()
        self.pointers[len(self._pairs)], self.counts[len(self._pairs)] = address(pairs), pairs.shape[1]
        self._pairs.append(pairs)


class OutputWeights:
    """An output layer, W and b of float32, whose rows can be packed: all of them, or those of some words."""

    def __init__(
        self, native: Library, weight: Float[np.ndarray, "vocabulary width"], bias: np.ndarray | None, scale: float
    ) -> None:
        self.native, self.weight, self.bias, self.scale = native, weight, bias, scale

    def packed(self, words: Int[np.ndarray, "words"]) -> tuple[LinearWeights, Packer]:
        """The layer of these words, and who holds its weights."""
        packer = Packer(self.native.lanes)
        bias = None if self.bias is None else self.bias[words]
        return packer.linear(self.weight[words] * np.float32(self.scale), bias), packer


class ListedWords:
    """The output layer of a shortlist: of the words that are listed for all sentences, and of each sentence's own.

    `ids` are the words' ids in the vocabulary, first the common ones, and own[s] is how many are listed for sentence s
    alone.
    """

    def __init__(
        self,
        output: OutputWeights,
        common: tuple[LinearWeights, Packer],
        ids: Int[np.ndarray, "sentences words"],
        own: Int[np.ndarray, "sentences"],
    ) -> None:
        self.common, self.ids, (sentences, words) = common[0], ids, ids.shape
        width, most, bias = output.weight.shape[1], int(own.max()), output.bias
        room = most + -most % (2 * output.native.lanes)
        self._kept = (common, numbers(sentences, room, width), numbers(sentences, room))
        self.own: Any = (LinearWeights * sentences)()
        output.native.library.pack_words(
            *(address(output.weight), None if bias is None else address(bias), output.scale, width, sentences),
            *(address(ids), words, int(self.common.outputs), address(own), room),
            *(*map(address, self._kept[1:]), ctypes.addressof(self.own)),
        )


class BestWords:
    """The output layer with the best words of each row; its buffers are used again at every step."""

    def __init__(
        self,
        native: Library,
        output: LinearWeights,
        *,
        rows: int,
        count: int,
        end: int,
        banned: Int[np.ndarray, "banned"],
    ) -> None:
        self._call, self._output = native.library.best_words, ctypes.byref(output)
        self._banned = np.ascontiguousarray(banned, np.int64)
        self._block = numbers(native.library.block_for(self._output, rows))
        self.norm, self.ending = numbers(rows), numbers(2 * rows)
        self.logits, self.tokens = numbers(rows, count), np.empty((rows, count), np.int32)
        self.given = tuple(address(one) for one in (self.norm, self.ending, self.logits, self.tokens))
        self._fixed = (end, address(self._banned), len(self._banned), count, address(self._block), *self.given)

    def __call__(self, x: Float[np.ndarray, "most_rows width"], rows: int) -> None:
        """Fill `norm`, `ending` (the logit of the token `end`), `logits` and `tokens` for the first rows of x."""
        self._call(self._output, None, None, 1, rows, address(x), *self._fixed)


class Arena:
    """Room for many small arrays at once: one allocation, and one address to ask for."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """`sizes` are bytes by name."""
        ends = list(accumulate(size + -size % _ALIGNED for size in sizes.values()))
        self.room = np.empty(ends[-1], np.uint8)
        start = address(self.room)
        self.places = dict(zip(sizes, (start + end for end in [0, *ends]), strict=False))
        """the address of each"""


def numbers(*shape: int) -> np.ndarray:
    """Room for so many float32."""
    return np.empty(shape, np.float32)


@cache
def products_work(native: Library) -> bool:
    """Whether the compiled products compute what numpy computes, for tiles of every height: a compiler may be wrong."""
    x = np.sin(0.37 * np.arange(13 * 24)).reshape(13, 24).astype(np.float32)
    weight = np.sin(0.71 * np.arange(150 * 24)).reshape(150, 24).astype(np.float32)
    packer = Packer(native.lanes)
    output = packer.linear(weight, weight[:, 0])
    return _agree(native, output, x, x @ weight.T + weight[:, 0])


@cache
def bytes_work(native: Library) -> bool:
    """Whether products of bytes give what whole numbers give; all numbers here are whole already."""
    x = np.round(127 * np.sin(0.37 * np.arange(13 * 26))).reshape(13, 26).astype(np.float32)
    x[:, 3] = -127
    weight = np.round(63 * np.sin(0.71 * np.arange(150 * 26))).reshape(150, 26).astype(np.float32)
    scale, bias = np.full(150, 1e-4, np.float32), weight[:, 0]
    packer = Packer(native.lanes)
    output = packer.quantized(weight.astype(np.int8), scale, bias)
    return _agree(native, output, x, (x @ weight.T) * scale + bias)


def _agree(native: Library, output: LinearWeights, x: np.ndarray, logits: np.ndarray) -> bool:
    for rows in range(1, len(x) + 1):
        words = BestWords(native, output, rows=rows, count=4, end=3, banned=np.empty(0, np.int64))
        words(x[:rows], rows)
        most, best = logits[:rows].max(1), -np.sort(-logits[:rows], 1)[:, :4]
        norm = most + np.log(np.exp(logits[:rows] - most[:, None]).sum(1))
        if not (np.allclose(words.norm, norm, atol=1e-4) and np.allclose(words.logits, best, atol=1e-4)):
            return False
    return True

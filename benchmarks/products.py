"""The matrix products of a Transformer on a batch, and nothing else: what no implementation in float32 can avoid.

A layer's product of x [rows, k] and W [n, k] is done once forward and twice backward (for x and for W); so are the two
products of attention, of every head. The time of all of them, done one after the other into memory that is there
already, is the limit that a training step is measured against.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

BLOCK, FEWEST = 2**22, 256
"""entries of the logits made at a time, and rows at least, as ours does: all at once they would not fit any cache"""


@dataclass(frozen=True)
class Sizes:
    """Of a Transformer whose layers are all alike."""

    encoder_layers: int
    decoder_layers: int
    width: int
    feedforward: int
    heads: int
    vocabulary: int


@dataclass(frozen=True)
class Product:
    """[batch, m, k] times [batch, k, n], done `times` times."""

    batch: int
    m: int
    k: int
    n: int
    times: int

    @property
    def flops(self) -> int:
        """Floating-point operations: a multiplication and an addition each."""
        return 2 * self.batch * self.m * self.k * self.n * self.times


@dataclass(frozen=True)
class Shape:
    """Of a batch: so many pairs, their lengths with padding, and how many tokens of each side are real."""

    pairs: int
    source: int
    target: int
    source_tokens: int
    target_tokens: int


def forward(sizes: Sizes, shape: Shape) -> list[Product]:
    """The products of a forward pass; layers see real tokens alone, attention the padded rectangle."""
    width, inner, heads = sizes.width, sizes.feedforward, sizes.heads
    head = width // heads

    def linear(rows: int, k: int, n: int, times: int) -> Product:
        return Product(1, rows, k, n, times)

    def attention(queries: int, keys: int, times: int) -> list[Product]:
        return [
            Product(shape.pairs * heads, queries, head, keys, times),
            Product(shape.pairs * heads, queries, keys, head, times),
        ]

    def own(rows: int, length: int, layers: int) -> list[Product]:
        around = [linear(rows, width, 3 * width, layers), linear(rows, width, width, layers)]
        inside = [linear(rows, width, inner, layers), linear(rows, inner, width, layers)]
        return around + attention(length, length, layers) + inside

    sources, targets, layers = shape.source_tokens, shape.target_tokens, sizes.decoder_layers
    cross = [linear(targets, width, width, 2 * layers), linear(sources, width, 2 * width, layers)]
    return (
        own(sources, shape.source, sizes.encoder_layers)
        + own(targets, shape.target, layers)
        + cross
        + attention(shape.target, shape.source, layers)
        + [linear(targets, width, sizes.vocabulary, 1)]
    )


def backward(products: list[Product]) -> list[Product]:
    """The products of the way back: two for each of the way there."""
    for_left = [Product(p.batch, p.m, p.n, p.k, p.times) for p in products]
    for_right = [Product(p.batch, p.k, p.m, p.n, p.times) for p in products]
    return for_left + for_right


def training(sizes: Sizes, shape: Shape) -> list[Product]:
    """All products of a training step."""
    there = forward(sizes, shape)
    return there + backward(there)


def decoding(sizes: Sizes, sentences: int, beams: int, source: int, target: int) -> list[Product]:
    """The products of translating sentences into `target` tokens each, the beams of a sentence sharing its source."""
    width, inner, heads, layers = sizes.width, sizes.feedforward, sizes.heads, sizes.decoder_layers
    head, rows = width // heads, sentences * beams
    alone = Sizes(sizes.encoder_layers, 0, width, inner, heads, 1)
    encoder = forward(alone, Shape(sentences, source, 1, sentences * source, 1))
    every = [
        Product(1, rows, width, 3 * width, layers * target),
        Product(1, rows, width, width, 3 * layers * target),
        Product(1, rows, width, inner, layers * target),
        Product(1, rows, inner, width, layers * target),
        Product(sentences * heads, beams, head, source, layers * target),
        Product(sentences * heads, beams, source, head, layers * target),
        Product(1, rows, width, sizes.vocabulary, target),
    ]
    once = [Product(1, sentences * source, width, 2 * width, layers)]
    growing = [
        product
        for length in range(1, target + 1)
        for product in (Product(rows * heads, 1, head, length, layers), Product(rows * heads, 1, length, head, layers))
    ]
    return encoder + once + every + growing


class Workbench:
    """Does products, in memory that is kept from one to the next."""

    def __init__(self) -> None:
        self._kept: dict[str, torch.Tensor] = {}

    def do(self, products: list[Product]) -> None:
        """All of them, one after the other."""
        for product in products:
            for _ in range(product.times):
                self._multiply(product)

    def _multiply(self, p: Product) -> None:
        if p.batch > 1:
            left, right = self._of("a", p.batch, p.m, p.k), self._of("b", p.batch, p.k, p.n)
            torch.bmm(left, right, out=self._of("c", p.batch, p.m, p.n))
            return
        rows = max(FEWEST, BLOCK // p.n)
        right = self._of("b", p.n, p.k).T
        left = self._of("a", p.m, p.k)
        for first in range(0, p.m, rows):
            some = left[first : first + rows]
            torch.mm(some, right, out=self._of("c", len(some), p.n))

    def _of(self, name: str, *shape: int) -> torch.Tensor:
        size = 1
        for length in shape:
            size *= length
        if name not in self._kept or self._kept[name].numel() < size:
            self._kept[name] = torch.randn(size)
        return self._kept[name][:size].view(shape)


def in_threads(work: list[Callable[[], None]]) -> None:
    """Each piece of work in a thread that computes alone."""

    def run(one: Callable[[], None]) -> None:
        torch.set_num_threads(1)  # for this thread; the others keep theirs
        one()

    threads = [threading.Thread(target=partial(run, one)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

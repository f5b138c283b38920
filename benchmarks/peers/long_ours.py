"""Regard's side of benchmarks/long.py: long_ours.py [LAYER LENGTH]."""

import sys
from collections.abc import Callable

import torch
from driver import serve
from long_common import BLOCK, FEATURES, HEADS, RANDOM, SLOTS, WIDTH, keep_memory, layer_inputs, timed
from torch import Tensor

from regard import Attention, attend, masks, normalizers, scores
from regard.attention.memories.compressed import Compressed
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.models.xlnet import XLNet

SOFTMAX = {"score": scores.ScaledDot(), "normalizer": normalizers.Softmax()}
RATIO = normalizers.Ratio()
PERFORMER = scores.Kernel("exponential", FEATURES)


def way(name: str, length: int) -> Callable[[], Tensor]:
    """One way to attend over random heads."""
    sides = [torch.randn(1, HEADS, length, WIDTH // HEADS, requires_grad=True) for _ in range(3)]
    window = masks.Window(BLOCK + 1)
    bigbird = masks.Window(BLOCK + 1) | masks.GlobalTokens(BLOCK) | masks.RandomBlocks(BLOCK, RANDOM, length)
    given = {
        "plain": SOFTMAX | {"backend": "plain"},
        "fused": SOFTMAX | {"backend": "fused"},
        "blockwise": SOFTMAX | {"backend": "blockwise"},
        "window": SOFTMAX | {"mask": window},
        "bigbird": SOFTMAX | {"mask": bigbird},
        "performer": {"score": PERFORMER, "normalizer": RATIO},
        "linear": {"score": scores.Kernel(), "normalizer": RATIO},
    }
    if name != "linformer":
        return lambda: attend(*sides, **given[name]).output
    one = WIDTH // HEADS
    sizes = Sizes(width=WIDTH, heads=HEADS, key_heads=HEADS, query_width=one, key_width=one, value_width=one)
    memory, reading = Compressed(SLOTS, length).build(sizes), Reading(SOFTMAX["score"], SOFTMAX["normalizer"])
    query, key, value = sides
    return lambda: memory.start(reading).extend(key, value).read(reading, query, torch.arange(length))


def layer(name: str, length: int) -> Callable[[], Tensor]:
    """A layer like the peer's."""
    x = layer_inputs(length)
    if name == "xlnet":
        model = XLNet(layers=2, width=WIDTH, heads=HEADS, feedforward=4 * WIDTH, dropout=0.0).build({"text": 100})
        tokens = torch.randint(4, 100, (1, length), generator=torch.Generator().manual_seed(1))
        memories = tuple(torch.randn(1, length, WIDTH) for _ in range(2))
        sees = torch.rand(1, length, length, generator=torch.Generator().manual_seed(2)) < 0.5
        asked = torch.arange(length // 6)[None]
        return lambda: model.two_streams(tokens, torch.tensor([length]), sees, asked, memories).query
    bigbird = masks.Window(BLOCK + 1) | masks.GlobalTokens(BLOCK) | masks.RandomBlocks(BLOCK, RANDOM, length)
    alike = {"heads": HEADS, "bias": False, "output_bias": True}  # as theirs
    designs = {
        "performer": Attention(score=PERFORMER, normalizer=RATIO, **alike),
        "performer, causal": Attention(score=PERFORMER, normalizer=RATIO, mask="causal", **alike),
        "linformer": Attention(memory=Compressed(SLOTS, length), **alike),
        "linear": Attention(score="kernel", normalizer=RATIO, **alike),
        "linear, causal": Attention(score="kernel", normalizer=RATIO, mask="causal", **alike),
        "bigbird": Attention(heads=HEADS, mask=bigbird),
    }
    built = designs[name].build(WIDTH)
    return lambda: built(x)


def main() -> None:
    """Answer until the process is ended."""
    ways: dict[tuple[str, int], Callable[[], Tensor]] = {}

    def attended(way_: str, length: int, fresh: bool) -> dict[str, float]:
        if (way_, length) not in ways:
            ways[way_, length] = way(way_, length)
        return timed(ways[way_, length], fresh)

    keep_memory()
    if len(sys.argv) > 1:
        made = layer(sys.argv[1], int(sys.argv[2]))
        serve(layer=lambda: timed(made))
    else:
        serve(attend=lambda way, length, fresh: attended(way, length, fresh))


if __name__ == "__main__":
    main()

"""Block-sparse attention: tiles that the mask hides are skipped, so that a window costs time linear in the length.

Queries and keys are cut into blocks, the masks tell which tiles are empty, and another backend computes the others.
Beltagy et al., Longformer, 2020, https://arxiv.org/abs/2004.05150;
Zaheer et al., Big Bird, 2020, https://arxiv.org/abs/2007.14062
"""

from dataclasses import dataclass
from typing import ClassVar

from regard.attention.backend import Attended, Backend, choose
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.tiled import read_tiles
from regard.attention.tiling import Tiling, tiling
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Sparse(Backend):
    """For masks that leave most tiles empty, with any score and normalizer."""

    rank: ClassVar[int] = 5
    block: int = 64
    """the block size of queries and of keys"""
    most: float = 0.5
    """the largest share of visible tiles; above it, dense attention is faster"""
    from_keys: int = 512
    """with fewer keys, dense attention is faster"""

    def __post_init__(self) -> None:
        check_at_least("sparse", 1, block=self.block)

    def hesitation(self, call: Call) -> str | None:
        if not call.masks:
            return "no mask says what could be left out"
        if call.key.shape[2] < self.from_keys:
            return f"there are only {call.key.shape[2]} keys"
        share = self._tiling(call).share if call.query.numel() else 0.0
        return f"{share:.0%} of the tiles would be computed" if share > self.most else None

    def __call__(self, call: Call) -> Attended:
        if not (call.query.numel() and call.key.numel()):
            return define(call)._replace(weights=None)
        return Attended(read_tiles(call, self._tiling(call), lambda few: choose(few)(few).output))

    def _tiling(self, call: Call) -> Tiling:
        return tiling(call, min(self.block, call.query.shape[2]), self.block)

"""Only what somebody may see is computed: a window of fixed size takes time that grows linearly with the length.

Queries and keys are cut into blocks, the masks are asked which tiles nobody may see, and another backend computes the
others. Beltagy et al., Longformer, 2020, https://arxiv.org/abs/2004.05150;
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
    """queries of a block, and keys of a block"""
    most: float = 0.5
    """a larger share of tiles is faster computed with all others"""
    from_keys: int = 512
    """with fewer keys it is not worth asking the masks"""

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

"""Non-local blocks: every pixel of a feature map reads from all pixels.

    z_i = x_i + W_z y_i,  y_i = Σ_j f(x_i, x_j) / C · g(x_j)

| kind              | f(x_i, x_j)                    | C           |
|-------------------|--------------------------------|-------------|
| gaussian          | exp(x_i · x_j)                 | Σ_j f       |
| embedded_gaussian | exp(θ(x_i) · φ(x_j))           | Σ_j f       |
| dot_product       | θ(x_i) · φ(x_j)                | pixels      |
| concatenation     | relu(w · [θ(x_i); φ(x_j)])     | pixels      |

Wang et al., Non-local Neural Networks, 2018, https://arxiv.org/abs/1711.07971. W_z is zero at first, so that a new
block changes nothing. It is attention: a score and a normalizer between 1 × 1 convolutions.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.normalizer import NORMALIZERS
from regard.attention.part import Sizes
from regard.attention.positions.grid import Grid
from regard.attention.reading import Reading
from regard.attention.score import SCORES
from regard.base.errors import ConfigError, check_at_least, check_one_of

NonLocalKind = Literal["gaussian", "embedded_gaussian", "dot_product", "concatenation"]
BlockSteps = Literal["none", "learned", "sloped"]
_PARTS: dict[str, tuple[Any, str]] = {
    "gaussian": ("dot", "softmax"),
    "embedded_gaussian": ("dot", "softmax"),
    "dot_product": ("dot", "per_key"),
    "concatenation": ("leaky_sum(slope=0.0)", "per_key"),
}


@dataclass(frozen=True, kw_only=True)
class NonLocal:
    """Settings of a non-local block.

    >>> block = NonLocal(kind="dot_product").build(64)
    >>> torch.equal(block(x), x)                     # until it has learned something
    True
    """

    kind: NonLocalKind = "embedded_gaussian"
    """how two pixels are compared"""
    width: int | None = None
    """the channels inside each head; by default half of those outside"""
    heads: int = 1
    """how many times pixels are compared; what they read then stands side by side, as in multi-head attention"""
    steps: BlockSteps = "none"
    """learned: a relative position bias, a number for each step in rows and columns from one pixel to another, is added
    to their comparison, as in Swin (Liu et al., 2021), so that a head can look for what is near or far; sloped: the
    same, but at first every second head prefers what is near and the others what is far, by slopes as in ALiBi"""
    score: Any = None
    """by default that of the kind; scaled_dot divides by the root of the width, as some implementations do"""

    def __post_init__(self) -> None:
        check_one_of("non_local", get_args(NonLocalKind), kind=self.kind)
        check_one_of("non_local", get_args(BlockSteps), steps=self.steps)
        check_at_least("non_local", 1, width=1 if self.width is None else self.width, heads=self.heads)
        if self.kind == "gaussian" and self.heads > 1:
            raise ConfigError("non_local: all heads of kind gaussian would be the same, since it embeds no pixel")

    def build(self, channels: int, grid: tuple[int, int] | None = None) -> "NonLocalBlock":
        """Build the block for feature maps with so many channels; learned steps need their rows and columns."""
        if self.steps != "none" and grid is None:
            raise ConfigError(f"non_local: steps = '{self.steps}' needs the rows and columns of the map")
        return NonLocalBlock(self, channels, None if self.steps == "none" else grid)


class NonLocalBlock(nn.Module):
    """θ in `query`, φ in `key`, g in `value`, W_z in `output`."""

    def __init__(self, design: NonLocal, channels: int, grid: tuple[int, int] | None) -> None:
        super().__init__()
        inside = design.width or max(1, channels // 2)
        compared = channels if design.kind == "gaussian" else inside
        embeds, self.heads, wide = design.kind != "gaussian", design.heads, design.heads * inside
        self.query = nn.Conv2d(channels, wide, 1) if embeds else nn.Identity()
        self.key = nn.Conv2d(channels, wide, 1) if embeds else nn.Identity()
        self.value, self.output = nn.Conv2d(channels, wide, 1), nn.Conv2d(wide, channels, 1)
        score, normalizer = _PARTS[design.kind]
        sizes = Sizes(
            width=channels,
            heads=design.heads,
            key_heads=design.heads,
            query_width=compared,
            key_width=compared,
            value_width=inside,
        )
        table = None if grid is None else Grid(*grid).build(sizes)
        if table is not None and design.steps == "sloped":
            table.weight.data.copy_(sloped_steps(design.heads, table.layout))
        self.reading = Reading(
            SCORES.make(design.score or score, "non_local.score").build(sizes),
            NORMALIZERS.make(normalizer, "non_local.normalizer").build(sizes),
            table,
        )
        for part in (self.query, self.key, self.value):
            if isinstance(part, nn.Conv2d):
                nn.init.normal_(part.weight, std=channels**-0.5)
        nn.init.zeros_(self.output.weight)
        for part in (self.query, self.key, self.value, self.output):
            if isinstance(part, nn.Conv2d) and part.bias is not None:
                nn.init.zeros_(part.bias)

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch channels height width"]:
        """The map, to which each pixel's reading is added."""
        query, key, value = (
            part(x).unflatten(1, (self.heads, -1)).flatten(3).mT for part in (self.query, self.key, self.value)
        )
        read = self.reading(query, key, value).mT.flatten(1, 2).unflatten(2, x.shape[2:])
        changed: Tensor = x + self.output(read)
        return changed


def sloped_steps(heads: int, grid: Grid) -> Float[Tensor, "heads steps"]:
    """slope_h · √(rows² + columns²) of each step, with slopes -1, 1, -½, ½, -¼, …: near and far by turns."""
    down, right = (torch.arange(1 - size, size) for size in (grid.rows, grid.columns))
    length = (down[:, None].square() + right.square()).float().sqrt().flatten()
    slopes = torch.tensor([(-1) ** (head + 1) * 0.5 ** (head // 2) for head in range(heads)])
    return slopes[:, None] * length

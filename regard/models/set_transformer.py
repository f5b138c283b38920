"""Set Transformer: elements attend to each other, and learned seeds attend to the set.

    encoder: X ← SAB(X), or ISAB(X) with induced points;  pooling: PMA(X), then SAB among its seeds;  output: W · pooled

Lee et al., 2019, https://arxiv.org/abs/1810.00825; the blocks are in `layers/set_attention.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.normalizer import NORMALIZERS
from regard.base.errors import check_at_least
from regard.data.set_examples import real_elements
from regard.layers.set_attention import AttentionPooling, InducedBlock, SelfAttentionBlock, SetNorm
from regard.models.model import Design, weights_in
from regard.models.set_model import SetModel


@dataclass(frozen=True, kw_only=True)
class SetTransformer(Design):
    """Settings of a Set Transformer."""

    width: int = 64
    """the width of the features"""
    heads: int = 4
    """the number of attention heads"""
    layers: int = 2
    """the number of blocks that let elements see each other"""
    induced: int | None = None
    """the number of induced points (ISAB), which makes large sets cheap; none: every element sees every other (SAB)"""
    seeds: int = 1
    """the vectors that a set is pooled to (PMA)"""
    seed_layers: int | None = None
    """the number of blocks that let the pooled vectors see each other; none: they do not"""
    normalizer: Annotated[Any, NORMALIZERS] = "softmax"
    """what makes weights of the scores of the pooling: softmax reads a mean of the elements, sigmoid a sum, which tells
    large sets from small ones"""
    norm: SetNorm = "none"
    """layer: each block normalizes its features; none, as in the authors' code"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "induced": {"induced": 16},
        "clusters": {"width": 128, "induced": 32, "seeds": 4, "seed_layers": 1},
    }
    needs: ClassVar[tuple[str, ...]] = ("elements", "outputs")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("induced", "seed_layers"):
            check_at_least("set_transformer", 1, **{name: 1 if getattr(self, name) is None else getattr(self, name)})

    def build(self, sizes: Mapping[str, int]) -> "SetTransformerModel":
        return SetTransformerModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        seen = length if self.induced is None else 2 * self.induced
        pairs = 2 * self.width * length * (seen * self.layers + self.seeds)
        return 0.0, weights_in(model.inputs, model.blocks) * length + pairs + weights_in(model.output)


class SetTransformerModel(SetModel):
    """Blocks, pooling by attention, output."""

    def __init__(self, design: SetTransformer, elements: int, outputs: int) -> None:
        super().__init__()
        width, how = design.width, (design.width, design.heads)
        self.inputs = nn.Linear(elements, width)
        self.blocks = nn.ModuleList(
            SelfAttentionBlock(*how, design.norm)
            if design.induced is None
            else InducedBlock(*how, design.induced, design.norm)
            for _ in range(design.layers)
        )
        self.pooling = AttentionPooling(*how, design.seeds, design.norm, design.normalizer)
        self.after = nn.ModuleList(SelfAttentionBlock(*how, design.norm) for _ in range(design.seed_layers or 0))
        self.output = nn.Linear(design.seeds * width, outputs)

    def encode(
        self, elements: Float[Tensor, "batch size element"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch size width"], Bool[Tensor, "batch size"]]:
        x, keep = self.inputs(elements), real_elements(elements, lengths)
        for block in self.blocks:
            x = block(x, keep)
        return x, keep

    def pooled(
        self, features: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"]
    ) -> Float[Tensor, "batch pooled"]:
        x = self.pooling(features, keep)
        for block in self.after:
            x = block(x)
        return x.flatten(1)

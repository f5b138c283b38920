"""Low-rank adapters: each linear map of the layers gets two thin matrices that learn, and a new head learns whole.

    W' = W + α / r · B A

Hu et al., LoRA, 2021, https://arxiv.org/abs/2106.09685. The model file holds the merged matrices W'.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from torch import nn

from regard.base.errors import ConfigError, check_at_least, check_one_of
from regard.layers.block import Block
from regard.layers.dropout import check_share
from regard.layers.low_rank import LowRank
from regard.training.tuning import Tuning, fix_all_but_head, is_head


@dataclass(frozen=True)
class Adapters(Tuning):
    """Adapters and the head learn; everything else stays as it is."""

    rank: int = 8
    """r: the width between the two matrices of an adapter"""
    alpha: float = 16.0
    """α: the adapter's product is scaled by α / r"""
    dropout: float = 0.0
    """dropout on the input of each adapter"""
    maps: Literal["attention", "all"] = "all"
    """which linear maps have adapters: the projections of attention, or those of the feed-forward too"""

    def __post_init__(self) -> None:
        check_at_least("tuning", 1, rank=self.rank)
        check_share("tuning: dropout", self.dropout)
        check_one_of("tuning", ("attention", "all"), maps=self.maps)
        if not self.alpha > 0:
            raise ConfigError(f"tuning: alpha must be more than 0, but is {self.alpha}")

    def prepare(self, model: nn.Module, new: Collection[str]) -> None:
        places = [
            (parent, name)
            for block in model.modules()
            if isinstance(block, Block)
            for path, parent in block.named_modules()
            if self.maps == "all" or path.startswith(("self_attention", "cross"))
            for name, child in parent.named_children()
            if type(child) is nn.Linear
        ]
        if not places:
            raise ConfigError(f"training.tuning: a {type(model).__name__} has no layers that adapters fit into")
        if any(is_head(name, new) for name, _ in model.named_parameters()):
            fix_all_but_head(model, new, "adapters")
        else:
            model.requires_grad_(False)
        for parent, name in places:
            linear = parent.get_submodule(name)
            if isinstance(linear, nn.Linear):
                setattr(parent, name, LowRank(linear, self.rank, self.alpha, self.dropout))

"""Pegasus: `PegasusForConditionalGeneration`: Marian with pre-norm, which is how our Transformers are unless set.

Zhang et al., 2020, https://arxiv.org/abs/1912.08777
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.positions.sinusoidal import Sinusoidal
from regard.interop.families.marian import Marian


@dataclass(frozen=True)
class Pegasus(Marian):
    """The names of Pegasus; both languages always share one vocabulary."""

    tasks: ClassVar[Mapping[str, str]] = {"PegasusForConditionalGeneration": "translate"}
    defaults: ClassVar[Mapping[str, Any]] = {
        **Marian.defaults,
        "vocab_size": 50265, "decoder_start_token_id": 0, "pad_token_id": 0,
    }  # fmt: skip
    checked: ClassVar[Mapping[str, Any]] = {**Marian.checked, "normalize_before": True, "add_final_layer_norm": True}
    place: ClassVar[str] = "before"

    def rows(self, config: Mapping[str, Any]) -> dict[str, int]:
        return dict.fromkeys(self.sides, int(config["vocab_size"]))

    def sized(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {"vocab_size": sizes["source"]}

    def further(self, config: Mapping[str, Any]) -> dict[str, Tensor]:
        """The sinusoids, which transformers would compute itself, but not without a warning."""
        at = torch.arange(int(config["max_position_embeddings"]))
        waves = Sinusoidal(order="halves").vectors(at, int(config["d_model"])).float()
        return {f"model.{side}.embed_positions.weight": waves.clone() for side in ("encoder", "decoder")}

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().settings(config), "tie": "all"}

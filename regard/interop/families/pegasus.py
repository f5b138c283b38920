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
        **{name: usual for name, usual in Marian.defaults.items() if name != "share_encoder_decoder_embeddings"},
        "vocab_size": 50265, "decoder_start_token_id": 0, "pad_token_id": 0,
    }  # fmt: skip
    checked: ClassVar[Mapping[str, Any]] = {**Marian.checked, "normalize_before": True, "add_final_layer_norm": True}
    place: ClassVar[str] = "before"

    def shares(self, config: Mapping[str, Any]) -> bool:
        return True

    def apart(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        written = super().config(model)
        return {name: value for name, value in written.items() if name != "share_encoder_decoder_embeddings"}

    def rows(self, config: Mapping[str, Any]) -> dict[str, int]:
        return dict.fromkeys(self.sides, int(config["vocab_size"]))

    def sized(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {"vocab_size": sizes["source"]}

    def further(self, config: Mapping[str, Any]) -> dict[str, Tensor]:
        """The sinusoids, which transformers would compute itself, but not without a warning."""
        at = torch.arange(int(config["max_position_embeddings"]))
        waves = Sinusoidal(order="halves").vectors(at, int(config["d_model"])).float()
        return {f"model.{side}.embed_positions.weight": waves.clone() for side in ("encoder", "decoder")}

    def repeated(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        tied = config.get("tie_word_embeddings", True)
        return {} if tied else {"model.shared.weight": "model.encoder.embed_tokens.weight"}

"""Qwen2: LLaMA's layers with biases in the projections to queries, keys and values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.base.errors import RegardError
from regard.interop.families.llama import Llama


@dataclass(frozen=True)
class Qwen2(Llama):
    """The names of Qwen2; sliding windows are not read."""

    tasks: ClassVar[Mapping[str, str]] = {"Qwen2ForCausalLM": "language"}
    more_keys: ClassVar[frozenset[str]] = Llama.more_keys | {"layer_types"}
    defaults: ClassVar[Mapping[str, Any]] = {
        **Llama.defaults,
        "num_key_value_heads": 32, "intermediate_size": 22016, "vocab_size": 151936,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {
        "use_sliding_window": False,
        "rope_scaling": None,
        "is_encoder_decoder": False,
    }
    silent: ClassVar[frozenset[str]] = frozenset({"max_position_embeddings", "sliding_window", "max_window_layers"})
    bias: ClassVar[str] = "projections"
    opening: ClassVar[str] = "</s>"

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        others = set(config.get("layer_types") or ()) - {"full_attention"}
        if others:
            raise RegardError(f"layer_types has {', '.join(sorted(others))}, but only full_attention can be read")
        return super().settings(config)

"""A model of Hugging Face's transformers that reads embeddings: BERT, GPT-2, LLaMA and their kin."""

import inspect
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.audit.adapters.layer_module import LayerModule
from regard.audit.subject import Claims, Inputs
from regard.base.errors import UsageError

_RELATIVE = ("t5", "xlnet", "deberta", "deberta-v2", "bloom", "mpt")


class HuggingFaceModel(LayerModule):
    """The hidden states of a whole model, given embeddings and a mask of padding (`attention_mask`)."""

    rank: ClassVar[int] = 0

    def __init__(self, target: Any, width: int | None = None) -> None:
        self._known = inspect.signature(target.forward).parameters
        super().__init__(target, width)
        if "inputs_embeds" not in self._known or getattr(target.config, "is_encoder_decoder", False):
            raise UsageError(f"audit: {self.name} does not read embeddings alone; encoders and decoders can be audited")
        causal = any(getattr(part, "is_causal", False) is True for part in target.modules())
        config = target.config
        rotary = any(getattr(config, name, None) for name in ("rope_parameters", "rope_theta", "rope_scaling"))
        relative = rotary or config.model_type in _RELATIVE
        self.claims = Claims(
            causal=causal, positions="relative" if relative else "absolute", masks="padding", deep=True
        )

    @classmethod
    def suits(cls, target: Any) -> bool:
        """Its base class, without importing the library."""
        return any(
            kind.__name__ == "PreTrainedModel" and kind.__module__.startswith("transformers.")
            for kind in type(target).__mro__
        )

    def own_precision(self) -> torch.dtype:
        return torch.float32  # which many of them round to inside

    def width_of(self, target: Any) -> int:
        return int(target.get_input_embeddings().embedding_dim)

    def _output(self, x: Tensor, **more: Any) -> Any:
        made = self.module(inputs_embeds=x, **more)
        return made, made.logits if hasattr(made, "logits") else made.last_hidden_state

    def __call__(self, inputs: Inputs, keep: Tensor | None) -> Tensor:
        padding = None if keep is None else keep.any(1).long()
        output: Tensor = self._output(inputs["x"], attention_mask=padding)[1]
        return output

    def cached(self, inputs: Inputs, cut: int) -> Tensor | None:
        if not self.claims.causal or "past_key_values" not in self._known:
            return None
        first, second = inputs["x"].tensor_split([cut], dim=1)
        made, before = self._output(first, use_cache=True)
        _, after = self._output(second, past_key_values=made.past_key_values, use_cache=True)
        return torch.cat([before, after], dim=1)

    def shifted(self, inputs: Inputs, by: int) -> Tensor | None:
        if "position_ids" not in self._known:
            return None
        x = inputs["x"]
        places = torch.arange(by, by + x.shape[1]).expand(len(x), -1)
        output: Tensor = self._output(x, position_ids=places)[1]
        return output

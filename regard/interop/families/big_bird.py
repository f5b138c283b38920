"""BigBird: BERT's layers, with sparse attention for long texts.

`transformers` itself attends to all tokens of a text of at most (5 + 2 · num_random_blocks) · block_size tokens, 704 by
default. A folder with `attention_type = "block_sparse"` is read for texts up to that length, where both give the same
numbers; longer ones would depend on blocks that are drawn at random there. Zaheer et al., 2020,
https://arxiv.org/abs/2007.14062
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from regard.interop.families.bert import Bert
from regard.interop.family import Entry, affine


@dataclass(frozen=True)
class BigBird(Bert):
    """The names of BigBird."""

    tasks: ClassVar[Mapping[str, str]] = {
        "BigBirdForMaskedLM": "masked",
        "BigBirdForPreTraining": "masked",
        "BigBirdForSequenceClassification": "classify",
        "BigBirdForTokenClassification": "tag",
        "BigBirdModel": "embed",
    }
    more_keys: ClassVar[frozenset[str]] = Bert.more_keys | {"attention_type", "block_size", "num_random_blocks"}
    defaults: ClassVar[Mapping[str, Any]] = {
        **Bert.defaults,
        "vocab_size": 50358, "max_position_embeddings": 4096, "hidden_act": "gelu_new",
        "attention_type": "block_sparse", "block_size": 64, "num_random_blocks": 3,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {
        "is_decoder": False,
        "add_cross_attention": False,
        "use_bias": True,
        "rescale_embeddings": False,
    }
    checked: ClassVar[Mapping[str, Any]] = {"position_embedding_type": "absolute", "is_encoder_decoder": False}
    same_positions: ClassVar[bool] = False
    usual: ClassVar[Mapping[str, Any]] = {"attention_type": "original_full"}

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        found = super().settings(config)
        return found | {"positions": f"learned({_longest(config)})", "pooled_activation": found["activation"]}

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().config(model), "attention_type": "original_full"}

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        for entry in super().entries(model, task, config):
            if entry.ours == "source.positions.weight" and "max_position_embeddings" in config:
                yield replace(entry, reads=partial(_first, _longest(config)))
            else:
                yield entry

    def head(self, model: Mapping[str, Any], task: str) -> Iterator[Entry]:
        if task == "classify":
            yield from affine("head.inner", "classifier.dense")
            yield from affine("head.outer", "classifier.out_proj")
            return
        yield from super().head(model, task)


def _first(count: int, table: Tensor) -> Tensor:
    return table[:count]


def _longest(config: Mapping[str, Any]) -> int:
    """The most tokens at which attention is full there too."""
    places = int(config["max_position_embeddings"])
    if config.get("attention_type", "block_sparse") == "original_full":
        return places
    return min(places, (5 + 2 * int(config.get("num_random_blocks", 3))) * int(config.get("block_size", 64)))

"""ViT: `ViTForImageClassification`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.interop.family import ACTIVATIONS_THERE, Entry, Family, activation_here, affine, one_side


@dataclass(frozen=True)
class Vit(Family):
    """The names of ViT."""

    design: ClassVar[str] = "vit"
    prefix: ClassVar[str] = "vit."
    reads: ClassVar[str] = "pictures"
    tasks: ClassVar[Mapping[str, str]] = {"ViTForImageClassification": "pictures"}
    names: ClassVar[Mapping[str, str]] = {
        "layers": "num_hidden_layers",
        "width": "hidden_size",
        "heads": "num_attention_heads",
        "feedforward": "intermediate_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "norm_epsilon": "layer_norm_eps",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset({"hidden_act", "patch_size", "image_size", "num_channels"})
    defaults: ClassVar[Mapping[str, Any]] = {
        "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "image_size": 224, "patch_size": 16, "num_channels": 3,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {"qkv_bias": True}
    checked: ClassVar[Mapping[str, Any]] = {"is_encoder_decoder": False}
    silent: ClassVar[frozenset[str]] = frozenset({"encoder_stride", "pooler_output_size", "pooler_act"})
    unread: ClassVar[str] = r"pooler\."

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "patch": one_side(config["patch_size"], "patch_size"),
            "activation": activation_here(config["hidden_act"], "hidden_act"),
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {"patch_size": model["patch"], "hidden_act": ACTIVATIONS_THERE[model["activation"]]}

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        inside = f"{self.prefix}embeddings."
        yield Entry("class_token", (f"{inside}cls_token",))
        yield Entry("positions", (f"{inside}position_embeddings",))
        yield from affine("embedding.projection", f"{inside}patch_embeddings.projection")
        for at in range(model["layers"]):
            ours, theirs = f"encoder.layers.{at}", f"{self.prefix}encoder.layer.{at}"
            mixed = tuple(f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value"))
            yield from affine(f"{ours}.self_attention.projections.joint", mixed)
            yield from affine(f"{ours}.self_attention.output", f"{theirs}.attention.output.dense")
            yield from affine(f"{ours}.norms.self_attention", f"{theirs}.layernorm_before")
            yield from affine(f"{ours}.feedforward.inner", f"{theirs}.intermediate.dense")
            yield from affine(f"{ours}.feedforward.outer", f"{theirs}.output.dense")
            yield from affine(f"{ours}.norms.feedforward", f"{theirs}.layernorm_after")
        yield from affine("encoder.norm", f"{self.prefix}layernorm")
        yield from affine("head", "classifier")

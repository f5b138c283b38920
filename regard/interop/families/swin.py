"""Swin, version 1: `SwinForImageClassification`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.base.errors import RegardError
from regard.interop.family import ACTIVATIONS_THERE, Entry, Family, activation_here, affine, one_side, two_sides


@dataclass(frozen=True)
class Swin(Family):
    """The names of Swin."""

    design: ClassVar[str] = "swin"
    prefix: ClassVar[str] = "swin."
    reads: ClassVar[str] = "pictures"
    tasks: ClassVar[Mapping[str, str]] = {"SwinForImageClassification": "pictures"}
    names: ClassVar[Mapping[str, str]] = {
        "width": "embed_dim",
        "tile": "window_size",
        "feedforward_ratio": "mlp_ratio",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "stochastic_depth": "drop_path_rate",
        "norm_epsilon": "layer_norm_eps",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset(
        {"hidden_act", "patch_size", "image_size", "num_channels", "depths", "num_heads"}
    )
    defaults: ClassVar[Mapping[str, Any]] = {
        "embed_dim": 96, "depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24], "window_size": 7, "mlp_ratio": 4.0,
        "hidden_act": "gelu", "layer_norm_eps": 1e-5, "image_size": 224, "patch_size": 4, "num_channels": 3,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "drop_path_rate": 0.1,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {"qkv_bias": True, "use_absolute_embeddings": False}
    checked: ClassVar[Mapping[str, Any]] = {"is_encoder_decoder": False}
    also_called: ClassVar[Mapping[str, str]] = {"num_attention_heads": "num_heads", "num_hidden_layers": "num_layers"}
    silent: ClassVar[frozenset[str]] = frozenset(
        {"encoder_stride", "hidden_size", "num_layers", "out_features", "out_indices", "stage_names", "path_norm"}
    )
    unread: ClassVar[str] = r"relative_position_index$"

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        settings = {
            "patch": one_side(config["patch_size"], "patch_size"),
            "stage_layers": [int(count) for count in config["depths"]],
            "stage_heads": [int(count) for count in config["num_heads"]],
            "feedforward_ratio": float(config["mlp_ratio"]),
            "activation": activation_here(config["hidden_act"], "hidden_act"),
        }
        side, halvings = min(two_sides(config["image_size"])), len(config["depths"]) - 1
        cells = -(-side // (settings["patch"] * 2**halvings))
        if cells < int(config["window_size"]):
            raise RegardError(
                f"window_size is {config['window_size']}, but pictures of {side} pixels have {cells} × {cells} cells "
                "in the last stage, which is less"
            )
        return settings

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        depths = list(model["stage_layers"])
        return {
            "patch_size": model["patch"],
            "depths": depths,
            "num_heads": list(model["stage_heads"]),
            "hidden_size": model["width"] * 2 ** (len(depths) - 1),
            "num_layers": len(depths),
            "hidden_act": ACTIVATIONS_THERE[model["activation"]],
        }

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        yield from affine("embedding.projection", f"{self.prefix}embeddings.patch_embeddings.projection")
        yield from affine("norm", f"{self.prefix}embeddings.norm")
        for stage, layers in enumerate(model["stage_layers"]):
            for at in range(layers):
                yield from self._layer(
                    f"stages.{stage}.blocks.{at}", f"{self.prefix}encoder.layers.{stage}.blocks.{at}"
                )
            if stage + 1 < len(model["stage_layers"]):
                merging = f"{self.prefix}encoder.layers.{stage}.downsample"
                yield from affine(f"stages.{stage}.merging.norm", f"{merging}.norm")
                yield Entry(f"stages.{stage}.merging.reduction.weight", (f"{merging}.reduction.weight",))
        yield from affine("last_norm", f"{self.prefix}layernorm")
        yield from affine("head", "classifier")

    def _layer(self, ours: str, theirs: str) -> Iterator[Entry]:
        mixed = tuple(f"{theirs}.attention.self.{part}" for part in ("query", "key", "value"))
        inside = f"{ours}.tiled_attention.attention"
        yield from affine(f"{inside}.projections.joint", mixed)
        table = f"{theirs}.attention.self.relative_position_bias_table"
        yield Entry(f"{inside}.reading.positions.weight", (table,), turned=True)
        yield from affine(f"{inside}.output", f"{theirs}.attention.output.dense")
        yield from affine(f"{ours}.norms.tiled_attention", f"{theirs}.layernorm_before")
        yield from affine(f"{ours}.feedforward.inner", f"{theirs}.intermediate.dense")
        yield from affine(f"{ours}.feedforward.outer", f"{theirs}.output.dense")
        yield from affine(f"{ours}.norms.feedforward", f"{theirs}.layernorm_after")

"""T5: `T5ForConditionalGeneration`, versions 1.0 (ReLU, tied, scaled) and 1.1 (gated, not tied).

Whether the output is tied, the weights tell: transformers 5 writes `tie_word_embeddings` as true for both, and reads
false as "version 1.1, whose outputs are not scaled". The decoder starts after `<pad>`; here that is `<s>`, which T5 has
not: its embedding is a copy of that of the token there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import BOS
from regard.interop.family import ACTIVATIONS_THERE, Entry, Family, activation_here

_GATED = "gated-"


@dataclass(frozen=True)
class T5(Family):
    """The names of T5."""

    design: ClassVar[str] = "t5"
    prefix: ClassVar[str] = ""
    sides: ClassVar[tuple[str, ...]] = ("source", "target")
    tasks: ClassVar[Mapping[str, str]] = {"T5ForConditionalGeneration": "translate"}
    also: ClassVar[frozenset[str]] = frozenset({"spans"})
    names: ClassVar[Mapping[str, str]] = {
        "encoder_layers": "num_layers",
        "width": "d_model",
        "heads": "num_heads",
        "head_width": "d_kv",
        "feedforward": "d_ff",
        "dropout": "dropout_rate",
        "norm_epsilon": "layer_norm_epsilon",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset(
        {
            *("num_decoder_layers", "relative_attention_num_buckets", "relative_attention_max_distance"),
            *("feed_forward_proj", "tie_word_embeddings", "scale_decoder_outputs", "decoder_start_token_id"),
            *("dense_act_fn", "is_gated_act"),
        }
    )
    defaults: ClassVar[Mapping[str, Any]] = {
        "num_layers": 6, "num_decoder_layers": None, "d_model": 512, "num_heads": 8, "d_kv": 64, "d_ff": 2048,
        "vocab_size": 32128, "layer_norm_epsilon": 1e-6, "feed_forward_proj": "relu",
        "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128, "dropout_rate": 0.1,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {"is_encoder_decoder": True, "is_decoder": False}
    usual: ClassVar[Mapping[str, Any]] = {"decoder_start_token_id": BOS}
    silent: ClassVar[frozenset[str]] = frozenset({"initializer_factor", "n_positions"})
    also_called: ClassVar[Mapping[str, str]] = {
        "hidden_size": "d_model", "num_attention_heads": "num_heads", "num_hidden_layers": "num_layers",
        "head_dim": "d_kv",
    }  # fmt: skip
    output: ClassVar[str] = "lm_head.weight"
    copies: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", output), "shared.weight"
    )
    unread: ClassVar[str] = (
        r"embed_tokens\.weight$|lm_head\.weight$|layer\.1\.EncDecAttention\.relative_attention_bias\.weight$"
    )

    def told(
        self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], where: str
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        scaled = config.get("scale_decoder_outputs", config.get("tie_word_embeddings") is not False)
        made, kept = super().told({**config, "tie_word_embeddings": True}, tensors, where)
        return {**made, "scale_decoder_outputs": scaled}, kept

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        kind = config["feed_forward_proj"]
        gated = kind.startswith(_GATED)
        name = "gelu_new" if kind == f"{_GATED}gelu" else kind.removeprefix(_GATED)
        activation = activation_here(name, "feed_forward_proj")
        for key, follows in (("dense_act_fn", name), ("is_gated_act", gated)):
            if config.get(key, follows) != follows:
                raise RegardError(f"{key} is {config[key]!r}, but feed_forward_proj '{kind}' makes it {follows!r}")
        count, farthest = config["relative_attention_num_buckets"], config["relative_attention_max_distance"]
        dropout = float(config["dropout_rate"])
        return {
            "decoder_layers": config.get("num_decoder_layers") or config["num_layers"],
            "positions": {"name": "buckets", "buckets": count, "farthest": farthest},
            "feed": {"name": "gated", "activation": activation} if gated else "plain",
            "activation": "relu" if gated else activation,
            "attention_dropout": dropout,
            "feedforward_dropout": dropout,
            "tie": "all" if config.get("tie_word_embeddings", True) else "embeddings",
            "output_scale": "width" if config.get("scale_decoder_outputs", True) else "none",
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        gated = model["feed"]["name"] == "gated"
        activation = model["feed"].get("activation") or model["activation"]
        activation = ACTIVATIONS_THERE.get(activation, activation)
        name = "gelu" if gated and activation == "gelu_new" else activation
        positions = model["positions"] or {}
        return {
            "num_decoder_layers": model["decoder_layers"],
            "relative_attention_num_buckets": positions.get("buckets", 32),
            "relative_attention_max_distance": positions.get("farthest", 128),
            "feed_forward_proj": f"{_GATED}{name}" if gated else name,
            "dense_act_fn": activation,
            "is_gated_act": gated,
            "tie_word_embeddings": model["tie"] == "all",
            "scale_decoder_outputs": model["output_scale"] == "width",
            "d_kv": model["head_width"] or model["width"] // model["heads"],
        }

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        yield Entry("target.table.weight", ("shared.weight",), vocabulary=True, side="target")
        for side in ("encoder", "decoder"):
            first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
            yield Entry(f"{side}.layers.0.self_attention.reading.positions.weight", (first,), turned=True)
            for at in range(model[f"{side}_layers"]):
                yield from self._layer(f"{side}.layers.{at}", f"{side}.block.{at}.layer", side == "decoder", model)
            yield Entry(f"{side}.norm.weight", (f"{side}.final_layer_norm.weight",))
        if model["tie"] != "all":
            yield Entry("output.weight", ("lm_head.weight",), vocabulary=True, side="target")

    def _layer(self, ours: str, theirs: str, reads: bool, model: Mapping[str, Any]) -> Iterator[Entry]:
        own, cross = f"{theirs}.0.SelfAttention", f"{theirs}.1.EncDecAttention"
        joint = tuple(f"{own}.{part}.weight" for part in "qkv")
        yield Entry(f"{ours}.self_attention.projections.joint.weight", joint)
        yield Entry(f"{ours}.self_attention.output.weight", (f"{own}.o.weight",))
        yield Entry(f"{ours}.norms.self_attention.weight", (f"{theirs}.0.layer_norm.weight",))
        if reads:
            yield Entry(f"{ours}.cross.projections.query.weight", (f"{cross}.q.weight",))
            yield Entry(f"{ours}.cross.projections.source.weight", (f"{cross}.k.weight", f"{cross}.v.weight"))
            yield Entry(f"{ours}.cross.output.weight", (f"{cross}.o.weight",))
            yield Entry(f"{ours}.norms.cross.weight", (f"{theirs}.1.layer_norm.weight",))
        feed = f"{theirs}.{2 if reads else 1}"
        gated = model["feed"]["name"] == "gated"
        inner = ("wi_0", "wi_1") if gated else ("wi",)
        yield Entry(f"{ours}.feedforward.inner.weight", tuple(f"{feed}.DenseReluDense.{name}.weight" for name in inner))
        yield Entry(f"{ours}.feedforward.outer.weight", (f"{feed}.DenseReluDense.wo.weight",))
        yield Entry(f"{ours}.norms.feedforward.weight", (f"{feed}.layer_norm.weight",))

"""LLaMA: `LlamaForCausalLM`: rotary positions, RMSNorm, a gated feed, grouped key heads, no biases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.base.errors import RegardError
from regard.interop.family import ACTIVATIONS_THERE, Entry, Family, activation_here


@dataclass(frozen=True)
class Llama(Family):
    """The names of LLaMA; Qwen2 shares most of them."""

    design: ClassVar[str] = "gpt"
    prefix: ClassVar[str] = "model."
    tasks: ClassVar[Mapping[str, str]] = {"LlamaForCausalLM": "language"}
    names: ClassVar[Mapping[str, str]] = {
        "layers": "num_hidden_layers",
        "width": "hidden_size",
        "heads": "num_attention_heads",
        "feedforward": "intermediate_size",
        "attention_dropout": "attention_dropout",
        "norm_epsilon": "rms_norm_eps",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset(
        {"hidden_act", "tie_word_embeddings", "num_key_value_heads", "rope_parameters", "rope_theta", "head_dim"}
    )
    defaults: ClassVar[Mapping[str, Any]] = {
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": None,
        "intermediate_size": 11008, "vocab_size": 32000, "hidden_act": "silu", "rms_norm_eps": 1e-6,
        "attention_dropout": 0.0, "tie_word_embeddings": False,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {
        "attention_bias": False,
        "mlp_bias": False,
        "rope_scaling": None,
        "pretraining_tp": 1,
        "is_encoder_decoder": False,
    }
    silent: ClassVar[frozenset[str]] = frozenset({"max_position_embeddings"})
    output: ClassVar[str] = "lm_head.weight"
    copies: ClassVar[Mapping[str, str]] = {output: "model.embed_tokens.weight"}
    unread: ClassVar[str] = r"rotary_emb\.inv_freq$|lm_head\.weight$"
    bias: ClassVar[str] = "none"
    """which linear layers have a bias"""
    opening: ClassVar[str] = "<s>"
    """the token that a text begins after"""

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        width = config["hidden_size"] // config["num_attention_heads"]
        if config.get("head_dim") not in (None, width):
            raise RegardError(f"head_dim is {config['head_dim']}, but only width / heads, {width}, can be read")
        turned = dict(config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", 10_000.0)})
        base, kind = turned.pop("rope_theta", config.get("rope_theta", 10_000.0)), turned.pop("rope_type", "default")
        if kind != "default":
            raise RegardError(f"rope_parameters of the type '{kind}' are not read, only default ones")
        if turned:
            raise RegardError(f"rope_parameters has {' and '.join(sorted(turned))}, but rope_theta alone can be read")
        return {
            "key_heads": config.get("num_key_value_heads") or config["num_attention_heads"],
            "positions": {"name": "rotary", "base": float(base)},
            "norm": "rms",
            "feed": {"name": "gated", "activation": activation_here(config["hidden_act"], "hidden_act")},
            "linear_bias": self.bias,
            "dropout": 0.0,
            "tie": "target" if config.get("tie_word_embeddings", False) else "none",
            "opening": self.opening,
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "num_key_value_heads": model["key_heads"] or model["heads"],
            "rope_parameters": {"rope_theta": model["positions"]["base"], "rope_type": "default"},
            "hidden_act": ACTIVATIONS_THERE[model["feed"]["activation"]],
            "tie_word_embeddings": model["tie"] == "target",
        }

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        width, heads = model["width"], model["heads"]
        keys = width // heads * (model["key_heads"] or heads)
        yield Entry("target.table.weight", (f"{self.prefix}embed_tokens.weight",), vocabulary=True)
        for at in range(model["layers"]):
            ours, theirs = f"decoder.layers.{at}", f"{self.prefix}layers.{at}"
            mixed = tuple(f"{theirs}.self_attn.{part}_proj" for part in ("q", "k", "v"))
            for end in ("weight", "bias") if self.bias == "projections" else ("weight",):
                names = tuple(f"{name}.{end}" for name in mixed)
                yield Entry(f"{ours}.self_attention.projections.joint.{end}", names, split=(width, keys, keys))
            yield Entry(f"{ours}.self_attention.output.weight", (f"{theirs}.self_attn.o_proj.weight",))
            yield Entry(f"{ours}.norms.self_attention.weight", (f"{theirs}.input_layernorm.weight",))
            gates = (f"{theirs}.mlp.gate_proj.weight", f"{theirs}.mlp.up_proj.weight")
            yield Entry(f"{ours}.feedforward.inner.weight", gates)
            yield Entry(f"{ours}.feedforward.outer.weight", (f"{theirs}.mlp.down_proj.weight",))
            yield Entry(f"{ours}.norms.feedforward.weight", (f"{theirs}.post_attention_layernorm.weight",))
        yield Entry("decoder.norm.weight", (f"{self.prefix}norm.weight",))
        if model["tie"] == "none":
            yield Entry("output.weight", ("lm_head.weight",), vocabulary=True)

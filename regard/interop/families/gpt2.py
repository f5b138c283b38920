"""GPT-2: `GPT2LMHeadModel`. Its matrices are transposed, and of the special tokens it has the end of text alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.interop.family import ACTIVATIONS_THERE, Entry, Family, activation_here, affine, places_of


@dataclass(frozen=True)
class Gpt2(Family):
    """The names of GPT-2."""

    design: ClassVar[str] = "gpt"
    prefix: ClassVar[str] = "transformer."
    tasks: ClassVar[Mapping[str, str]] = {"GPT2LMHeadModel": "language"}
    names: ClassVar[Mapping[str, str]] = {
        "layers": "n_layer",
        "width": "n_embd",
        "heads": "n_head",
        "feedforward": "n_inner",
        "dropout": "resid_pdrop",
        "attention_dropout": "attn_pdrop",
        "norm_epsilon": "layer_norm_epsilon",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset({"activation_function", "n_positions", "tie_word_embeddings"})
    defaults: ClassVar[Mapping[str, Any]] = {
        "n_layer": 12, "n_embd": 768, "n_head": 12, "n_inner": None, "n_positions": 1024, "vocab_size": 50257,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.1, "attn_pdrop": 0.1,
        "tie_word_embeddings": True,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "add_cross_attention": False,
        "is_encoder_decoder": False,
    }
    silent: ClassVar[frozenset[str]] = frozenset(
        {
            *("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"),
            *("summary_first_dropout", "embd_pdrop", "n_ctx"),
        }
    )
    also_called: ClassVar[Mapping[str, str]] = {
        "hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer",
        "max_position_embeddings": "n_positions",
    }  # fmt: skip
    output: ClassVar[str] = "lm_head.weight"
    copies: ClassVar[Mapping[str, str]] = {output: "transformer.wte.weight"}
    unread: ClassVar[str] = r"\.attn\.(masked_)?bias$|lm_head\.weight$"

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "positions": f"learned({config['n_positions']})",
            "activation": activation_here(config["activation_function"], "activation_function"),
            "tie": "target" if config.get("tie_word_embeddings", True) else "none",
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "n_positions": places_of(model["positions"]),
            "activation_function": ACTIVATIONS_THERE[model["activation"]],
            "tie_word_embeddings": model["tie"] == "target",
            "embd_pdrop": model["dropout"],
        }

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        yield Entry("target.table.weight", (f"{self.prefix}wte.weight",), vocabulary=True)
        yield Entry("target.positions.weight", (f"{self.prefix}wpe.weight",))
        for at in range(model["layers"]):
            ours, theirs = f"decoder.layers.{at}", f"{self.prefix}h.{at}"
            yield from affine(f"{ours}.norms.self_attention", f"{theirs}.ln_1")
            yield from affine(f"{ours}.self_attention.projections.joint", f"{theirs}.attn.c_attn", turned=True)
            yield from affine(f"{ours}.self_attention.output", f"{theirs}.attn.c_proj", turned=True)
            yield from affine(f"{ours}.norms.feedforward", f"{theirs}.ln_2")
            yield from affine(f"{ours}.feedforward.inner", f"{theirs}.mlp.c_fc", turned=True)
            yield from affine(f"{ours}.feedforward.outer", f"{theirs}.mlp.c_proj", turned=True)
        yield from affine("decoder.norm", f"{self.prefix}ln_f")
        if model["tie"] == "none":
            yield Entry("output.weight", ("lm_head.weight",), vocabulary=True)

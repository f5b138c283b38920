"""XLNet: `XLNetLMHeadModel`. Its projections have an axis for the heads.

The part of its attention that tells two texts apart (`r_s_bias`, `seg_embed`) acts only where a pair of texts is given
with its segments. It is not read; transformers makes it anew from what is written here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from regard.interop.family import ACTIVATIONS_THERE, NEVER, Entry, Family, activation_here, affine


@dataclass(frozen=True)
class Xlnet(Family):
    """The names of XLNet."""

    design: ClassVar[str] = "xlnet"
    prefix: ClassVar[str] = "transformer."
    tasks: ClassVar[Mapping[str, str]] = {"XLNetLMHeadModel": "permuted"}
    names: ClassVar[Mapping[str, str]] = {
        "layers": "n_layer",
        "width": "d_model",
        "heads": "n_head",
        "feedforward": "d_inner",
        "dropout": "dropout",
        "norm_epsilon": "layer_norm_eps",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset({"ff_activation", "tie_word_embeddings", "d_head"})
    defaults: ClassVar[Mapping[str, Any]] = {
        "n_layer": 24, "d_model": 1024, "n_head": 16, "d_inner": 4096, "vocab_size": 32000,
        "ff_activation": "gelu", "layer_norm_eps": 1e-12, "dropout": 0.1, "tie_word_embeddings": True,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {
        "untie_r": True,
        "attn_type": "bi",
        "bi_data": False,
        "clamp_len": -1,
        "same_length": False,
        "is_encoder_decoder": False,
    }
    silent: ClassVar[frozenset[str]] = frozenset(
        {
            *("mem_len", "reuse_len", "use_mems_eval", "use_mems_train", "start_n_top", "end_n_top"),
            *("summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"),
            "max_position_embeddings",
        }
    )
    also_called: ClassVar[Mapping[str, str]] = {
        "hidden_size": "d_model", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer",
        "n_token": "vocab_size",
    }  # fmt: skip
    output: ClassVar[str] = "lm_loss.weight"
    copies: ClassVar[Mapping[str, str]] = {output: "transformer.word_embedding.weight"}
    unread: ClassVar[str] = r"\.rel_attn\.(r_s_bias|seg_embed)$|lm_loss\.weight$"

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "activation": activation_here(config["ff_activation"], "ff_activation"),
            "tie": "target" if config.get("tie_word_embeddings", True) else "none",
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "ff_activation": ACTIVATIONS_THERE[model["activation"]],
            "tie_word_embeddings": model["tie"] == "target",
            "d_head": model["width"] // model["heads"],
        }

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        heads, width = int(model["heads"]), int(model["width"])

        def flat(there: Tensor) -> Tensor:
            return there.flatten(1)

        def headed(here: Tensor) -> Tensor:
            return here.unflatten(1, (heads, width // heads))

        yield Entry("source.table.weight", (f"{self.prefix}word_embedding.weight",), vocabulary=True)
        yield Entry(
            "query",
            (f"{self.prefix}mask_emb",),
            reads=lambda there: there.flatten(),
            writes=lambda here: here.view(1, 1, -1),
        )
        for at in range(model["layers"]):
            ours, theirs = f"encoder.layers.{at}", f"{self.prefix}layer.{at}"
            own, rel = f"{ours}.self_attention", f"{theirs}.rel_attn"
            names = tuple(f"{rel}.{part}" for part in ("q", "k", "v"))
            yield Entry(
                f"{own}.projections.joint.weight",
                names,
                reads=lambda there: flat(there).T,
                writes=lambda here: headed(here.T),
            )
            yield Entry(f"{own}.output.weight", (f"{rel}.o",), reads=flat, writes=headed)
            yield Entry(
                f"{own}.reading.positions.weight",
                (f"{rel}.r",),
                reads=lambda there: there.transpose(0, 1),
                writes=lambda here: here.transpose(0, 1),
            )
            yield Entry(f"{own}.reading.positions.content", (f"{rel}.r_w_bias",))
            yield Entry(f"{own}.reading.positions.position", (f"{rel}.r_r_bias",))
            yield from affine(f"{ours}.norms.self_attention", f"{rel}.layer_norm")
            yield from affine(f"{ours}.feedforward.inner", f"{theirs}.ff.layer_1")
            yield from affine(f"{ours}.feedforward.outer", f"{theirs}.ff.layer_2")
            yield from affine(f"{ours}.norms.feedforward", f"{theirs}.ff.layer_norm")
        yield Entry("head.output.bias", ("lm_loss.bias",), vocabulary=True, missing=NEVER)
        if model["tie"] == "none":
            yield Entry("head.output.weight", ("lm_loss.weight",), vocabulary=True)

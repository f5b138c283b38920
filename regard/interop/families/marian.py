"""Marian: `MarianMTModel`, a post-norm Transformer with sinusoidal positions, sines before cosines.

Junczys-Dowmunt et al., 2018, https://arxiv.org/abs/1804.00344. Outputs start after `<pad>`, which is `<s>` here; the
logits have a constant bias. Sources may be numbered apart from targets, or share one matrix with them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.positions.sinusoidal import Sinusoidal
from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import BOS, EOS, PAD
from regard.interop.family import ACTIVATIONS_THERE, NEVER, Entry, Family, FolderTokenizers, activation_here, affine
from regard.interop.marian_tokenizer import read_marian
from regard.interop.sinusoid_order import in_halves

_EPSILON = 1e-5
_BIAS = "final_logits_bias"
_SAME = ("attention_heads", "ffn_dim")
_SHARED = "model.shared.weight"
_TABLES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


@dataclass(frozen=True)
class Marian(Family):
    """The names of Marian; Pegasus, which is the same with pre-norm, shares them."""

    design: ClassVar[str] = "transformer"
    prefix: ClassVar[str] = "model."
    sides: ClassVar[tuple[str, ...]] = ("source", "target")
    tasks: ClassVar[Mapping[str, str]] = {"MarianMTModel": "translate"}
    names: ClassVar[Mapping[str, str]] = {
        "encoder_layers": "encoder_layers",
        "decoder_layers": "decoder_layers",
        "width": "d_model",
        "heads": "encoder_attention_heads",
        "feedforward": "encoder_ffn_dim",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "feedforward_dropout": "activation_dropout",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset(
        {
            *("decoder_attention_heads", "decoder_ffn_dim", "activation_function", "scale_embedding"),
            *("tie_word_embeddings", "share_encoder_decoder_embeddings", "decoder_vocab_size"),
            "decoder_start_token_id",
        }
    )
    defaults: ClassVar[Mapping[str, Any]] = {
        "encoder_layers": 12, "decoder_layers": 12, "d_model": 1024, "vocab_size": 58101,
        "encoder_attention_heads": 16, "decoder_attention_heads": 16, "activation_function": "gelu",
        "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "decoder_start_token_id": 58100, "pad_token_id": 58100,
        "max_position_embeddings": 1024, "dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0,
        "scale_embedding": False, "tie_word_embeddings": True, "share_encoder_decoder_embeddings": True,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {"is_encoder_decoder": True, "is_decoder": False}
    checked: ClassVar[Mapping[str, Any]] = {
        "normalize_before": False,
        "normalize_embedding": False,
        "static_position_embeddings": True,
        "add_final_layer_norm": False,
        "add_bias_logits": False,
    }
    usual: ClassVar[Mapping[str, Any]] = {
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": EOS,
        "max_position_embeddings": 512,
        "max_length": 512,
        "num_beams": 5,
        "early_stopping": True,
        "bad_words_ids": [[PAD], [BOS]],
    }
    silent: ClassVar[frozenset[str]] = frozenset(
        {
            *("encoder_layerdrop", "decoder_layerdrop", "init_std", "max_position_embeddings"),
            *("classif_dropout", "extra_pos_embeddings", "force_bos_token_to_be_generated"),
        }
    )
    also_called: ClassVar[Mapping[str, str]] = {
        "hidden_size": "d_model", "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }  # fmt: skip
    output: ClassVar[str] = "lm_head.weight"
    unread: ClassVar[str] = r"embed_positions\.weight$|embed_tokens\.weight$|lm_head\.weight$|shared\.weight$"
    place: ClassVar[str] = "after"
    """where the layers are normalized"""

    def tied(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        if not config["tie_word_embeddings"]:
            return {}
        return dict.fromkeys((*_TABLES, self.output), _SHARED) if self.shares(config) else {self.output: _TABLES[1]}

    def shares(self, config: Mapping[str, Any]) -> bool:
        """Whether both languages have one matrix, if it is that of the output too."""
        return bool(config["share_encoder_decoder_embeddings"])

    def apart(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a model without shared matrices."""
        return {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": config["vocab_size"]}

    def told(
        self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], where: str
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """An output that differs from shared embeddings is read as three matrices, as transformers writes them."""
        made, kept = super().told(config, tensors, where)
        if self.shares(config) and not made["tie_word_embeddings"]:
            made |= self.apart(config)
            if config["tie_word_embeddings"]:
                kept |= {name: kept[_SHARED].clone() for name in _TABLES if _SHARED in kept}
        for side in ("encoder", "decoder"):
            name = f"model.{side}.embed_positions.weight"
            if name in kept and not _are_sinusoids(kept[name]):
                raise RegardError(
                    f"{where}: {name} are no sinusoids, and other positions of {self.type()} are not read"
                )
        return made, kept

    def vocabularies(self, folder: Path, config: Mapping[str, Any]) -> FolderTokenizers:
        if (folder / "tokenizer.json").is_file():
            return super().vocabularies(folder, config)
        return FolderTokenizers(*read_marian(folder))

    def rows(self, config: Mapping[str, Any]) -> dict[str, int]:
        return {"source": config["vocab_size"], "target": config.get("decoder_vocab_size") or config["vocab_size"]}

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        for name in _SAME:
            one, other = config[f"encoder_{name}"], config[f"decoder_{name}"]
            if one != other:
                raise RegardError(f"encoder_{name} is {one} and decoder_{name} {other}, but must be equal")
        return {
            "norm_place": self.place,
            "norm_epsilon": _EPSILON,
            "positions": "sinusoidal(order='halves')",
            "activation": activation_here(config["activation_function"], "activation_function"),
            "embedding_scale": "width" if config["scale_embedding"] else "none",
            "tie": "none" if not config["tie_word_embeddings"] else "all" if self.shares(config) else "target",
            "output_bias": "fixed",
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "decoder_attention_heads": model["heads"],
            "decoder_ffn_dim": model["feedforward"],
            "activation_function": ACTIVATIONS_THERE.get(model["activation"], model["activation"]),
            "scale_embedding": model["embedding_scale"] == "width",
            "tie_word_embeddings": model["tie"] != "none",
            "share_encoder_decoder_embeddings": model["tie"] == "all",
        }

    def sized(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {"vocab_size": sizes["source"], "decoder_vocab_size": sizes["target"]}

    def named(self, tensors: Mapping[str, Tensor], wanted: set[str], where: str) -> dict[str, Tensor]:
        """The tensors by their full names; a bias that is not there is 0."""
        full = super().named(tensors, wanted, where)
        table = full.get("model.shared.weight", full.get("model.decoder.embed_tokens.weight"))
        if table is not None and _BIAS not in full:
            full[_BIAS] = table.new_zeros(1, len(table))
        return full

    def written_from(self, design: Any, weights: Mapping[str, Tensor]) -> tuple[Any, Mapping[str, Tensor]]:
        design, weights = in_halves(design, weights)
        if design.output_bias == "none":
            zeros = torch.zeros(len(weights["target.table.weight"]))
            return replace(design, output_bias="fixed"), {**weights, "output.bias": zeros}
        return design, weights

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        one = model["tie"] == "all"
        place = "model.shared.weight" if one else "model.decoder.embed_tokens.weight"
        yield Entry("target.table.weight", (place,), vocabulary=True, side="target")
        if not one:
            names = ("model.encoder.embed_tokens.weight",)
            yield Entry("source.table.weight", names, vocabulary=True, side="source")
        if model["tie"] == "none":
            yield Entry("output.weight", ("lm_head.weight",), vocabulary=True, side="target")
        bias: dict[str, Any] = {"vocabulary": True, "side": "target", "missing": NEVER, "once": True, "row": True}
        yield Entry("output.bias", (_BIAS,), **bias)
        for side in ("encoder", "decoder"):
            for at in range(model[f"{side}_layers"]):
                yield from _layer(f"{side}.layers.{at}", f"model.{side}.layers.{at}", reads=side == "decoder")
            if model["norm_place"] == "before":
                yield from affine(f"{side}.norm", f"model.{side}.layer_norm")


def _are_sinusoids(found: Tensor) -> bool:
    waves = Sinusoidal(order="halves").vectors(torch.arange(len(found)), found.shape[1]).float()
    return torch.allclose(found.float(), waves, rtol=0, atol=max(1e-5, torch.finfo(found.dtype).eps))


def _layer(ours: str, theirs: str, *, reads: bool) -> Iterator[Entry]:
    joint = tuple(f"{theirs}.self_attn.{part}_proj" for part in "qkv")
    yield from affine(f"{ours}.self_attention.projections.joint", joint)
    yield from affine(f"{ours}.self_attention.output", f"{theirs}.self_attn.out_proj")
    yield from affine(f"{ours}.norms.self_attention", f"{theirs}.self_attn_layer_norm")
    if reads:
        pair = tuple(f"{theirs}.encoder_attn.{part}_proj" for part in "kv")
        yield from affine(f"{ours}.cross.projections.query", f"{theirs}.encoder_attn.q_proj")
        yield from affine(f"{ours}.cross.projections.source", pair)
        yield from affine(f"{ours}.cross.output", f"{theirs}.encoder_attn.out_proj")
        yield from affine(f"{ours}.norms.cross", f"{theirs}.encoder_attn_layer_norm")
    yield from affine(f"{ours}.feedforward.inner", f"{theirs}.fc1")
    yield from affine(f"{ours}.feedforward.outer", f"{theirs}.fc2")
    yield from affine(f"{ours}.norms.feedforward", f"{theirs}.final_layer_norm")

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

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import BOS, EOS, PAD
from regard.interop.family import ACTIVATIONS_THERE, NEVER, Entry, Family, FolderTokenizers, activation_here, affine
from regard.interop.marian_tokenizer import read_marian
from regard.interop.sinusoid_order import in_halves

_EPSILON = 1e-5
_BIAS = "final_logits_bias"
_SAME = ("attention_heads", "ffn_dim")
_SEARCHED: Mapping[str, tuple[Any, ...]] = {
    "do_sample": (False,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0.0,),
    "repetition_penalty": (1.0,),
    "encoder_repetition_penalty": (1.0,),
    "encoder_no_repeat_ngram_size": (0,),
    "min_new_tokens": (0,),
    "forced_bos_token_id": (),
    "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],),
    "sequence_bias": ({},),
}
"""settings of their search that change its outputs, with the values that searches here have; not set is one of them"""


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
            *("encoder_layerdrop", "decoder_layerdrop", "init_std", "max_position_embeddings", "num_hidden_layers"),
            *("max_length", "num_beams", "length_penalty", "early_stopping", "bad_words_ids", "forced_eos_token_id"),
            *("classif_dropout", "extra_pos_embeddings", "force_bos_token_to_be_generated", "_num_labels"),
            *("no_repeat_ngram_size", "min_length"),
        }
    )
    unread: ClassVar[str] = r"embed_positions\.weight$|embed_tokens\.weight$|lm_head\.weight$|shared\.weight$"
    place: ClassVar[str] = "after"
    """where the layers are normalized"""

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
        shared, tied = config.get("share_encoder_decoder_embeddings", True), config.get("tie_word_embeddings", True)
        if shared and not tied:
            raise RegardError("tie_word_embeddings is False, which goes with embeddings of two languages")
        return {
            "norm_place": self.place,
            "norm_epsilon": _EPSILON,
            "positions": "sinusoidal(order='halves')",
            "activation": activation_here(config["activation_function"], "activation_function"),
            "embedding_scale": "width" if config.get("scale_embedding") else "none",
            "tie": "all" if shared else "target" if tied else "none",
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

    def decoding(self, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """Their `max_length` counts the tokens before and after an output too, their `min_length` the one before it."""
        self._refuse_other_searches(config)
        longest = config.get("max_length")
        how: dict[str, Any] = {} if longest is None else {"max_length": max(1, int(longest) - 2)}
        if int(config.get("min_length") or 0) > 1:
            how["min_length"] = int(config["min_length"]) - 1
        if config.get("no_repeat_ngram_size"):
            how["no_repeat_ngram"] = int(config["no_repeat_ngram_size"])
        beams = int(config.get("num_beams") or 1)
        if beams == 1:
            return {"name": "greedy", **how}
        patience = 1.0 if config.get("early_stopping") is True else None
        penalty = config.get("length_penalty")
        return {
            "name": "beam",
            "size": beams,
            "patience": patience,
            **how,
            "length_penalty": 1.0 if penalty is None else float(penalty),
        }

    def _refuse_other_searches(self, config: Mapping[str, Any]) -> None:
        for name, known in _SEARCHED.items():
            value = config.get(name)
            if value is not None and value not in known:
                usual = f"{known[0]!r}, or leave it out" if known else "null"
                raise RegardError(f"{name} is {value!r}, which searches here do not have; set it to {usual}")
        never = {config.get("pad_token_id"), config.get("decoder_start_token_id")}
        others = [words for words in config.get("bad_words_ids") or () if len(words) != 1 or words[0] not in never]
        if others:
            raise RegardError(f"bad_words_ids has {others[0]}, but searches here can leave out <pad> alone")

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

"""BERT: `BertForMaskedLM`, `BertForSequenceClassification` and `BertForTokenClassification`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.interop.family import ACTIVATIONS_THERE, NEVER, Entry, Family, activation_here, affine, places_of


@dataclass(frozen=True)
class Bert(Family):
    """The names of BERT; RoBERTa shares most of them."""

    design: ClassVar[str] = "bert"
    prefix: ClassVar[str] = "bert."
    tasks: ClassVar[Mapping[str, str]] = {
        "BertForMaskedLM": "masked",
        "BertForSequenceClassification": "classify",
        "BertForPreTraining": "masked",
        "BertForTokenClassification": "tag",
        "BertModel": "embed",
    }
    names: ClassVar[Mapping[str, str]] = {
        "layers": "num_hidden_layers",
        "width": "hidden_size",
        "heads": "num_attention_heads",
        "feedforward": "intermediate_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "norm_epsilon": "layer_norm_eps",
        "segments": "type_vocab_size",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset({"hidden_act", "max_position_embeddings", "tie_word_embeddings"})
    defaults: ClassVar[Mapping[str, Any]] = {
        "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "vocab_size": 30522, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
        "tie_word_embeddings": True,
    }  # fmt: skip
    silent: ClassVar[frozenset[str]] = frozenset(
        {
            *("directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"),
            *("pooler_size_per_head", "pooler_type"),
        }
    )
    fixed: ClassVar[Mapping[str, Any]] = {
        "is_decoder": False,
        "add_cross_attention": False,
        "position_embedding_type": "absolute",
        "is_encoder_decoder": False,
    }
    unread: ClassVar[str] = r"position_ids$|predictions\.bias$|decoder\.(weight|bias)$|seq_relationship|pooler\."
    aliases: ClassVar[Mapping[str, str]] = {"cls.predictions.decoder.bias": "cls.predictions.bias"}
    output: ClassVar[str] = "cls.predictions.decoder.weight"
    copies: ClassVar[Mapping[str, str]] = {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "positions": f"learned({config['max_position_embeddings'] - self.offset(config)})",
            "activation": activation_here(config["hidden_act"], "hidden_act"),
            "tie": "target" if config.get("tie_word_embeddings", True) else "none",
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "max_position_embeddings": places_of(model["positions"]) + self.offset({"pad_token_id": 0}),
            "hidden_act": ACTIVATIONS_THERE[model["activation"]],
            "tie_word_embeddings": model["tie"] == "target",
        }

    def repeated(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        return {} if config.get("tie_word_embeddings", True) else {old: new for new, old in self.aliases.items()}

    def offset(self, config: Mapping[str, Any]) -> int:
        """How many rows of the position table are not used."""
        return 0

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        inside, stack = f"{self.prefix}embeddings.", f"{self.prefix}encoder.layer."
        yield Entry("source.table.weight", (f"{inside}word_embeddings.weight",), vocabulary=True)
        places = (f"{inside}position_embeddings.weight",)
        yield Entry("source.positions.weight", places, skipped=self.offset(config))
        if model["segments"] is not None:
            yield Entry("segments.weight", (f"{inside}token_type_embeddings.weight",))
        yield from affine("norm", f"{inside}LayerNorm")
        for at in range(model["layers"]):
            ours, theirs = f"encoder.layers.{at}", f"{stack}{at}"
            mixed = tuple(f"{theirs}.attention.self.{part}" for part in ("query", "key", "value"))
            yield from affine(f"{ours}.self_attention.projections.joint", mixed)
            yield from affine(f"{ours}.self_attention.output", f"{theirs}.attention.output.dense")
            yield from affine(f"{ours}.norms.self_attention", f"{theirs}.attention.output.LayerNorm")
            yield from affine(f"{ours}.feedforward.inner", f"{theirs}.intermediate.dense")
            yield from affine(f"{ours}.feedforward.outer", f"{theirs}.output.dense")
            yield from affine(f"{ours}.norms.feedforward", f"{theirs}.output.LayerNorm")
        yield from self.head(model, task)

    def head(self, model: Mapping[str, Any], task: str) -> Iterator[Entry]:
        """The tensors of the head."""
        if task == "embed":
            return
        if task == "tag":
            yield from affine("head.outer", "classifier")
            return
        if task == "classify":
            yield from affine("head.inner", f"{self.prefix}pooler.dense")
            yield from affine("head.outer", "classifier")
            return
        yield from affine("head.inner", "cls.predictions.transform.dense")
        yield from affine("head.norm", "cls.predictions.transform.LayerNorm")
        if model["tie"] == "target":
            yield Entry("head.output.bias", ("cls.predictions.bias",), vocabulary=True, missing=NEVER)
            return
        yield Entry("head.output.weight", ("cls.predictions.decoder.weight",), vocabulary=True)
        yield Entry("head.output.bias", ("cls.predictions.decoder.bias",), vocabulary=True, missing=NEVER)

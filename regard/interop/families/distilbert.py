"""DistilBERT: BERT without segments; its classification head has a ReLU."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.interop.family import ACTIVATIONS_THERE, NEVER, Entry, Family, activation_here, affine, places_of

_EPSILON = 1e-12


@dataclass(frozen=True)
class Distilbert(Family):
    """The names of DistilBERT."""

    design: ClassVar[str] = "bert"
    prefix: ClassVar[str] = "distilbert."
    tasks: ClassVar[Mapping[str, str]] = {
        "DistilBertForMaskedLM": "masked",
        "DistilBertForSequenceClassification": "classify",
        "DistilBertForTokenClassification": "tag",
        "DistilBertModel": "embed",
    }
    names: ClassVar[Mapping[str, str]] = {
        "layers": "n_layers",
        "width": "dim",
        "heads": "n_heads",
        "feedforward": "hidden_dim",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
    }
    more_keys: ClassVar[frozenset[str]] = frozenset(
        {"activation", "max_position_embeddings", "tie_word_embeddings", "sinusoidal_pos_embds"}
    )
    defaults: ClassVar[Mapping[str, Any]] = {
        "n_layers": 6, "dim": 768, "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522,
        "activation": "gelu", "max_position_embeddings": 512, "dropout": 0.1, "attention_dropout": 0.1,
        "tie_word_embeddings": True, "sinusoidal_pos_embds": False,
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, Any]] = {"is_encoder_decoder": False}
    silent: ClassVar[frozenset[str]] = frozenset({"qa_dropout", "seq_classif_dropout", "tie_weights_"})
    unread: ClassVar[str] = r"position_ids$|vocab_projector\.weight$"
    also_called: ClassVar[Mapping[str, str]] = {
        "hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers",
    }  # fmt: skip
    output: ClassVar[str] = "vocab_projector.weight"
    copies: ClassVar[Mapping[str, str]] = {output: "distilbert.embeddings.word_embeddings.weight"}

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "positions": f"learned({config['max_position_embeddings']})",
            "activation": activation_here(config["activation"], "activation"),
            "tie": "target" if config.get("tie_word_embeddings", True) else "none",
            "segments": None,
            "norm_epsilon": _EPSILON,
            "pooled_activation": "relu",
        }

    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "max_position_embeddings": places_of(model["positions"]),
            "activation": ACTIVATIONS_THERE[model["activation"]],
            "tie_word_embeddings": model["tie"] == "target",
            "sinusoidal_pos_embds": False,
        }

    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        inside, stack = f"{self.prefix}embeddings.", f"{self.prefix}transformer.layer."
        yield Entry("source.table.weight", (f"{inside}word_embeddings.weight",), vocabulary=True)
        yield Entry("source.positions.weight", (f"{inside}position_embeddings.weight",))
        yield from affine("norm", f"{inside}LayerNorm")
        for at in range(model["layers"]):
            ours, theirs = f"encoder.layers.{at}", f"{stack}{at}"
            mixed = tuple(f"{theirs}.attention.{part}_lin" for part in ("q", "k", "v"))
            yield from affine(f"{ours}.self_attention.projections.joint", mixed)
            yield from affine(f"{ours}.self_attention.output", f"{theirs}.attention.out_lin")
            yield from affine(f"{ours}.norms.self_attention", f"{theirs}.sa_layer_norm")
            yield from affine(f"{ours}.feedforward.inner", f"{theirs}.ffn.lin1")
            yield from affine(f"{ours}.feedforward.outer", f"{theirs}.ffn.lin2")
            yield from affine(f"{ours}.norms.feedforward", f"{theirs}.output_layer_norm")
        if task == "embed":
            return
        if task == "tag":
            yield from affine("head.outer", "classifier")
            return
        if task == "classify":
            yield from affine("head.inner", "pre_classifier")
            yield from affine("head.outer", "classifier")
            return
        yield from affine("head.inner", "vocab_transform")
        yield from affine("head.norm", "vocab_layer_norm")
        yield Entry("head.output.bias", ("vocab_projector.bias",), vocabulary=True, missing=NEVER)
        if model["tie"] == "none":
            yield Entry("head.output.weight", ("vocab_projector.weight",), vocabulary=True)

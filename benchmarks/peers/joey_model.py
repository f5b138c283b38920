"""Joey NMT's Transformer in our sizes."""

from typing import Any

from joeynmt.config import BaseConfig
from joeynmt.model import Model, build_model
from joeynmt.vocabulary import Vocabulary
from training import DROPOUT, FEEDFORWARD, HEADS, LAYERS, WIDTH

TINY = {
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "width": WIDTH,
    "feedforward": FEEDFORWARD,
    "heads": HEADS,
}


def settings(folder: str, training: dict[str, Any] | None = None, sizes: dict[str, int] = TINY) -> dict[str, Any]:
    """Its config: layers that normalize first, one table for both embeddings and the output."""

    def side(layers: int) -> dict[str, Any]:
        return {
            "type": "transformer",
            "num_layers": layers,
            "num_heads": sizes["heads"],
            "hidden_size": sizes["width"],
            "ff_size": sizes["feedforward"],
            "dropout": DROPOUT,
            "layer_norm": "pre",
            "activation": "relu",
            "embeddings": {"embedding_dim": sizes["width"], "scale": True, "dropout": DROPOUT},
        }

    model = {
        "tied_embeddings": True,
        "tied_softmax": True,
        "initializer": "xavier_uniform",
        "bias_initializer": "zeros",
    }
    sides = {"encoder": side(sizes["encoder_layers"]), "decoder": side(sizes["decoder_layers"])}
    return {
        "name": "benchmark",
        "model_dir": folder,
        "use_cuda": False,
        "data": {"src": {"lang": "en"}, "trg": {"lang": "de"}},
        "training": {"batch_size": 4096, **(training or {})},
        "testing": {},
        "model": {**model, **sides},
    }


def build(args: BaseConfig, vocabulary: int) -> Model:
    """The model for a vocabulary of so many pieces, whose names play no part."""
    names = [str(number) for number in range(4, vocabulary)]
    pieces = Vocabulary(names, args.data["special_symbols"])
    return plain_dropout(build_model(args.model, pieces, pieces))


def plain_dropout(model: Model) -> Model:
    """The model without the dropout of attention weights and of the feed-forward's inside: nobody else here has it."""
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        layer.feed_forward.pwff_layer[2].p = 0.0
        for name in ("src_src_att", "trg_trg_att", "src_trg_att"):
            if hasattr(layer, name):
                getattr(layer, name).dropout.p = 0.0
    return model

"""Train x-transformers' XTransformer."""

from torch import Tensor, nn
from training import DROPOUT, FEEDFORWARD, HEADS, LAYERS, LONGEST, PAD, WIDTH, Batch, contest, smoothed
from x_transformers import XTransformer


def build(vocabulary: int) -> nn.Module:
    """XTransformer in our sizes; its embeddings are one table, and so is its output."""
    of_side = {
        "num_tokens": vocabulary,
        "depth": LAYERS,
        "heads": HEADS,
        "attn_dim_head": WIDTH // HEADS,
        "max_seq_len": LONGEST,
        "ff_mult": FEEDFORWARD / WIDTH,
        "emb_dropout": DROPOUT,
        "attn_sublayer_dropout": DROPOUT,
        "ff_sublayer_dropout": DROPOUT,
        "scaled_sinu_pos_emb": True,
        "attn_flash": True,
    }
    model = XTransformer(
        dim=WIDTH,
        tie_token_emb=True,
        **{f"{side}_{name}": value for side in ("enc", "dec") for name, value in of_side.items()},
    )
    net = model.decoder.net
    net.to_logits.weight = net.token_emb.emb.weight
    return model


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """The loss of a batch: its own forward leaves no place for label smoothing, so its two halves are called."""
    real = batch.source != PAD
    encoded = model.encoder(batch.source, mask=real, return_embeddings=True)
    logits = model.decoder.net(batch.target_in, context=encoded, context_mask=real)
    return smoothed(logits, batch.target_out)


if __name__ == "__main__":
    contest(build, loss_of)

"""Train torch's own `nn.Transformer`."""

import torch
from torch import Tensor, nn
from training import DROPOUT, FEEDFORWARD, HEADS, LAYERS, PAD, WIDTH, Batch, contest, sinusoids, smoothed


class Model(nn.Module):
    """`nn.Transformer` with one table for both embeddings and the output; layers normalize first, as ours do."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, WIDTH, padding_idx=PAD)
        nn.init.normal_(self.table.weight, std=WIDTH**-0.5)
        self.layers = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, FEEDFORWARD, DROPOUT, batch_first=True, norm_first=True
        )
        # Its one setting also drops attention weights and the feed-forward's inside, which nobody else here does.
        for layer in [*self.layers.encoder.layers, *self.layers.decoder.layers]:
            layer.dropout.p = 0.0
            layer.self_attn.dropout = 0.0
            if hasattr(layer, "multihead_attn"):
                layer.multihead_attn.dropout = 0.0
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("places", sinusoids(), persistent=False)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """The logits of the token that follows each position."""
        hidden = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        decoded = self.layers(
            self._embed(source),
            self._embed(target),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        return decoded @ self.table.weight.T

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.table(tokens) * WIDTH**0.5 + self.places[: tokens.shape[1]])


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """The loss of a batch."""
    return smoothed(model(batch.source, batch.target_in), batch.target_out)


if __name__ == "__main__":
    torch.set_float32_matmul_precision("highest")
    contest(Model, loss_of)

"""Train Hugging Face's Marian."""

from torch import Tensor, nn
from training import DROPOUT, FEEDFORWARD, HEADS, LAYERS, LONGEST, PAD, WIDTH, Batch, contest, smoothed
from transformers import MarianConfig, MarianMTModel


def build(vocabulary: int) -> nn.Module:
    """Marian in our sizes; its embeddings and its output are one table."""
    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=FEEDFORWARD,
        decoder_ffn_dim=FEEDFORWARD,
        activation_function="relu",
        dropout=DROPOUT,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=LONGEST,
        pad_token_id=PAD,
        eos_token_id=3,
        decoder_start_token_id=2,
        use_cache=False,
    )
    return MarianMTModel(config)


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    """The loss of a batch."""
    found = model(
        input_ids=batch.source,
        attention_mask=(batch.source != PAD).long(),
        decoder_input_ids=batch.target_in,
        use_cache=False,
    )
    return smoothed(found.logits, batch.target_out)


if __name__ == "__main__":
    contest(build, loss_of)

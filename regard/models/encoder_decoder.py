"""What encoder-decoder models of Transformer layers share: an encoder that reads the source, a decoder that writes.

x = encoder(E_source[source]);  y = decoder(E_target[target], x);  P(next token) = softmax(W y)
"""

from dataclasses import replace
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.masks.padding import Padding
from regard.attention.part import positions_of
from regard.layers.embedding import Embedding
from regard.layers.stack import Stack
from regard.models.layered import Layered
from regard.models.model import weights_in
from regard.models.writer import LayerState, State, Transducer, fitting, given


class EncoderDecoder(Transducer):
    """Embeddings, encoder, decoder and output. A subclass makes these parts; how they work together is here."""

    source: Embedding
    target: Embedding
    encoder: Stack
    decoder: Stack

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch source width"], Bool[Tensor, "batch source"]]:
        at = positions_of(source.shape[1], source)
        keep = Padding(lengths)(at[:1], at)
        return self.encoder(self.source(source), keep=keep), keep[:, 0, 0]

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        source, lengths = given(source, source_lengths)
        encoded, keep = self.encode(source, lengths)
        decoded: Tensor = self.decoder(self.target(target), source=encoded, source_keep=keep[:, None, None])
        return self.output.gathered(decoded, self.output.remember(source, encoded, keep))

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> LayerState:
        source, lengths = given(source, source_lengths)
        encoded, keep = self.encode(source, lengths)
        return LayerState(
            sentences=len(encoded),
            pointed=self.output.remember(source, encoded, keep),
            memories=self.decoder.start(),
            sources=self.decoder.remember(encoded, keep),
        )

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], LayerState]:
        before = fitting(state, LayerState, token)
        x = self.target(token[:, None], first=before.length)
        x, memories = self.decoder.advance(x, before.memories, before.sources, before.sentences)
        logits = self.output.predict(x[:, 0], before.pointed)
        return logits, replace(before, length=before.length + 1, memories=memories)


def both_sides(
    design: Layered, model: Any, length: float, encoder_layers: int, decoder_layers: int
) -> tuple[float, float]:
    """The multiplications of a source token and of a target token, which attends to half of the target on average."""
    projected = [layer.cross.projections.source for layer in model.decoder.blocks if layer.cross is not None]
    of_source = weights_in(model.encoder, *projected)
    of_target = weights_in(model.decoder, model.output) - weights_in(*projected)
    own, read = design.pairs(length), 2 * design.width * length
    return of_source + own * encoder_layers, of_target + (own / 2 + read) * decoder_layers

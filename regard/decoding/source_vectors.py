"""Vectors of source texts, from the encoder of a model that reads a source and writes a target, such as T5."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch

from regard.base.errors import UsageError
from regard.data.pairs import pad
from regard.data.subwords.tokenizer import EOS, Subwords
from regard.decoding.batching import batches
from regard.decoding.vectors import EncoderInputs, PooledVectors
from regard.models.model import Encoder
from regard.models.writer import Writer


class SourceVectors(PooledVectors):
    """`embed` gives a vector of each source text: the encoder's features of its tokens, pooled."""

    models: tuple[Writer, ...]
    source: Subwords
    batch_tokens: int
    max_source: int | None
    _device: torch.device

    @property
    def encoder(self) -> Encoder:
        """The model, of which the encoder alone works; of an ensemble, the first."""
        return cast("Encoder", self.models[0])  # a translator takes no other models

    def encodable(self, inputs: EncoderInputs) -> Iterator[tuple[list[int], tuple[Any, ...]]]:
        """Texts in batches of similar length; of a text that is too long for the model, the beginning."""
        texts = [_text(one, at) for at, one in enumerate(inputs, start=1)]
        most = None if self.max_source is None else self.max_source - 1
        rows = [[*ids[:most], EOS] for ids in self.source.encode_batch(texts)]
        for numbers in batches([len(row) for row in rows], self.batch_tokens):
            source, lengths = pad([np.array(rows[at]) for at in numbers])
            yield numbers, (source.to(self._device), lengths.to(self._device))


def _text(one: Any, number: int) -> str:
    text = one[0] if isinstance(one, list | tuple) and len(one) == 1 else one
    if not isinstance(text, str):
        raise UsageError(f"embed: input {number} must be a text, but is {one!r}")
    return text.strip()

"""Guess hidden tokens with two streams: each `<mask>` is asked for last, from all tokens that are not hidden."""

from collections.abc import Sequence

from torch import Tensor

from regard.attention.part import positions_of
from regard.data.framed import batch_of
from regard.data.subwords.tokenizer import PAD
from regard.decoding.batching import in_batches
from regard.decoding.filler import Filler
from regard.decoding.scorer import evaluating
from regard.models.xlnet import XLNetModel


class PermutedFiller(Filler):
    """A model of permuted tokens that fills hidden places; hidden tokens do not see each other."""

    model: XLNetModel

    def outputs(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Tensor]:
        device = next(self.model.parameters()).device

        def work(batch: list[tuple[Sequence[int], Sequence[int]]]) -> list[Tensor]:
            tokens, lengths, *_ = batch_of(batch).to(device).parts
            seen = tokens.ne(self.subwords.mask or PAD)[:, None].expand(-1, tokens.shape[1], -1)
            everywhere = positions_of(tokens.shape[1], tokens).expand_as(tokens)
            with evaluating([self.model]):
                found = self.model.two_streams(tokens, lengths, seen, everywhere).query
            return list(found.float().cpu().unbind())

        return in_batches(list(rows), [len(row) for row, _ in rows], work, self.batch_tokens)

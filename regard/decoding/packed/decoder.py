"""Fast Transformer decoders for a search: a model of the usual parts gets one, every other model steps by itself.

`packed(model)` wraps a Transformer or GPT of the usual parts (`packed.acceptance`) in a `Packed` (`packed.plain`), or in
a `Compiled` (`packed.compiled`) where its parts are compiled too. Their `start` and `step` equal the model's own up to
rounding. `PACK = False` goes back to the plain path.
"""

from regard.decoding.packed.acceptance import packable
from regard.decoding.packed.compiled import Compiled, compiled
from regard.decoding.packed.plain import Packed
from regard.decoding.words import Words
from regard.models.writer import Writer

__all__ = ["Packed", "packed"]

PACK = True


def packed(model: Writer, words: Words | None = None) -> Writer | Packed:
    """A `Packed` decoder of the model if it is supported, or else the model itself.

    With `words`, a `Packed` computes the logits of these alone.
    """
    if not PACK or not packable(model):
        return model
    stacks = compiled(model)
    return Packed(model, words) if stacks is None else Compiled(model, stacks, words)

"""Fast Transformer decoders for a search: a model of the usual parts gets one, every other model steps by itself.

`packed(model)` wraps a Transformer, GPT or T5 of the usual parts (`packed.acceptance`) in a `Packed`
(`packed.by_torch`), or in a `Compiled` (`packed.compiled`) where its parts are compiled too. Their `start` and `step`
equal the model's own up to rounding. `PACK = False` goes back to the plain path.
"""

from typing import Any

from regard.decoding.packed.by_torch import Packed
from regard.decoding.packed.compiled import Compiled
from regard.decoding.packed.recognized import recognized
from regard.models.writer import Writer

__all__ = ["Packed", "packed"]

PACK = True


def packed(model: Writer) -> Writer | Packed:
    """A `Packed` decoder of the model if it is supported, or else the model itself."""
    if not PACK:
        return model
    known = recognized(model)
    if not known.packable:
        return model
    usual: Any = model
    made = Packed(usual) if known.stacks is None else Compiled(usual, known.stacks)
    made.limit = known.limit
    return made

"""Cross-attention weights of a translation model on a given sentence pair."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from regard.attention.record import attention_layers, record
from regard.base.errors import UsageError
from regard.data.pairs import collate
from regard.data.subwords.tokenizer import EOS, MARK, Subwords
from regard.decoding.translator import Translator


@dataclass(frozen=True)
class Looked:
    """Attention weights of target tokens (rows) over source tokens (columns), the mean over heads of one layer."""

    weights: NDArray[np.float32]
    source: tuple[str, ...]
    target: tuple[str, ...]


def look(translator: Translator, source: str, target: str, layer: str | None = None) -> Looked:
    """Cross-attention weights of one layer on a pair, with teacher forcing; the last layer unless one is named."""
    model = translator.models[0]
    names = [name for name in attention_layers(model) if name.endswith("cross")]
    if not names:
        raise UsageError("alignment: the model has no attention over its source")
    chosen = names[-1] if layer is None else layer
    spelled = translator.opened(source)
    read, said = [*spelled.source.encode(source), EOS], [*spelled.target.encode(target), EOS]
    batch = collate([np.array(read)], [np.array(said)]).to(next(model.parameters()).device)
    with torch.inference_mode(), record(model, chosen) as seen:
        model.hidden(batch.source, batch.source_lengths, batch.target_in)
    steps = torch.cat(seen[chosen], dim=2)  # all at once, or one call for each step
    weights = steps[0].mean(0).float().cpu().numpy()
    return Looked(weights, _pieces(spelled.source, source), _pieces(spelled.target, target))


def _pieces(subwords: Subwords, text: str) -> tuple[str, ...]:
    """The tokens as a person reads them: a space alone as ␣, the end as ⏎."""
    spelled = (subwords.pieces[number].replace(MARK, " ") for number in subwords.encode(text))
    return (*(piece.strip() or "␣" for piece in spelled), "⏎")

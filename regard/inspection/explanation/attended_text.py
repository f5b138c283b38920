"""What an encoder of texts looked at: the self-attention of every layer and head, token by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.attention.record import attention_layers, watch
from regard.base.errors import UsageError
from regard.data.framed import batch_of
from regard.data.subwords.tokenizer import BOS
from regard.decoding.predictor import TextReader
from regard.decoding.scorer import evaluating
from regard.inspection.explanation.continuing import Continuation
from regard.inspection.explanation.head_effects import moved_lengths, moved_shares
from regard.inspection.explanation.text_part import Layer, layer_as_dict, measured_layer
from regard.inspection.explanation.tokens import Token, shown

START = "▸"
"""how the beginning of a text is shown"""


@dataclass(frozen=True, eq=False)
class AttendedText:
    """The tokens of a text, and the weights between them in each layer."""

    tokens: tuple[Token, ...]
    layers: tuple[Layer, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; `layers` is empty for a model without attention. Long texts are packed."""
        return {
            "tokens": [{"text": token.text, "starts": token.starts} for token in self.tokens],
            "layers": [layer_as_dict(layer, small=True) for layer in self.layers],
        }


def attend_to_texts(reader: TextReader, texts: Sequence[str]) -> AttendedText:
    """Read one example, made of one or two texts, and keep what each token looked at.

    The weights are those of the run that answers: a text that is too long is shortened as it is there.
    """
    if not 1 <= len(texts) <= 2:
        raise UsageError(f"look: an example is one text, or two, but here are {len(texts)}")
    return attend_to_row(reader, reader.frame.rows(reader.subwords, [list(texts)])[0])


def attend_to_row(reader: TextReader, row: tuple[list[int], list[int]]) -> AttendedText:
    """The same for the tokens and segments of an example."""
    model, layers = reader.model, list[Layer]()
    device = next(model.parameters()).device
    watching = watch(model, dict.fromkeys(attention_layers(model)))
    with evaluating([model]), watching as seen, moved_lengths(model) as lengths:
        model.encode(*batch_of([row]).to(device).parts)
    for name, calls in seen.items():
        if len(calls) == 1 and calls[0].shape[-2:] == (len(row[0]),) * 2:
            weights = calls[0][0].float().cpu()
            layers.append(measured_layer(name, weights, moved_shares(weights, lengths[name][0].float().cpu())))
    tokens = tuple(Token(START, True) if one == BOS else shown(reader.subwords, one) for one in row[0])
    return AttendedText(tokens, tuple(layers))


def attention_of(read: Continuation) -> AttendedText:
    """What a language model looked at while it read a text; the last row is that of the next token."""
    tokens = (Token(START, True), *(token for token in read.part.source if token.word is not None))
    return AttendedText(tokens, read.part.decoder)

"""Checks that a model translates from the sources' language into the targets', not the other way."""

from collections.abc import Sequence

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import UNK, Subwords
from regard.decoding.translator import Translator

_TRIED = 24
_CLEARLY = 0.5
"""nats a token"""

_FOREIGN = 0.5
"""the share of tokens that are unknown"""


def check_direction(translator: Translator, sources: Sequence[str], targets: Sequence[str], name: str) -> None:
    """Raise an error if the vocabulary lacks many tokens of the pairs, or if they are far likelier exchanged."""
    read, said = list(sources[:_TRIED]), list(targets[:_TRIED])
    if not read:
        return
    for side, subwords, texts in (("source", translator.source, read), ("target", translator.target, said)):
        share = _unknown(subwords, texts)
        if share > _FOREIGN:
            raise UsageError(
                f"{name}: does not know {share:.0%} of the {side}'s first lines; it was trained on another language"
            )
    right, wrong = _likelihood(translator, read, said), _likelihood(translator, said, read)
    if wrong > right + _CLEARLY:
        raise UsageError(
            f"{name}: translates the other way: it finds the first lines far likelier with source and target "
            f"exchanged (log-probability {wrong:.2f} a token, not {right:.2f}); exchange the files, or the models"
        )


def _likelihood(translator: Translator, sources: list[str], targets: list[str]) -> float:
    scores = [value for row in translator.score(sources, targets) for value in row]
    return sum(scores) / len(scores)


def _unknown(subwords: Subwords, texts: list[str]) -> float:
    tokens = [token for row in subwords.encode_batch(texts) for token in row]
    return tokens.count(UNK) / max(1, len(tokens))

"""A text as it is written: after each token, what was added to it."""

from collections.abc import Callable, Sequence

import torch

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS, Subwords
from regard.decoding.generator import Generation, Generator, generation
from regard.decoding.scorer import evaluating
from regard.decoding.search import search
from regard.decoding.strategy import Strategy
from regard.decoding.translator import Translator

_HELD = "�"
"""what the first bytes of a character decode to, before its others are there"""


def write_aloud(
    opened: Generator | Translator, prompt: str, strategy: Strategy, tell: Callable[[str], object]
) -> Generation:
    """Write the text of one prompt by greedy search or sampling; `tell` is given each piece as soon as it is there.

    A language model goes on with the prompt, which is told first; a model that reads a source writes a text of its own.
    """
    if getattr(strategy, "n_best", 1) != 1:
        raise UsageError("generate: one text can be streamed at a time; leave n_best out")
    if isinstance(opened, Generator):
        subwords, stops = opened.subwords, opened.stops
        given = [*strategy.prefix, *subwords.encode(prompt)]
        speech = _Speech(subwords, tell, given)
        (found,) = search(opened.models, None, None, strategy, [given], stops=stops, listen=speech)
        return generation(subwords, found[0], len(given))
    ids = [*opened.source.encode(prompt), EOS]
    source = torch.tensor([ids], device=next(opened.models[0].parameters()).device)
    speech = _Speech(opened.target, tell, list(strategy.prefix))
    with evaluating(opened.models):
        lengths = torch.tensor([len(ids)], device=source.device)
        (found,) = search(opened.models, source, lengths, strategy, listen=speech)
    return generation(opened.target, found[0], len(strategy.prefix))


class _Speech:
    """Tells the text of tokens piece by piece; a character that is not whole yet waits for its last byte."""

    def __init__(self, subwords: Subwords, tell: Callable[[str], object], given: Sequence[int]) -> None:
        self.subwords, self.tell, self.tokens, self.told = subwords, tell, list(given), ""
        self.waits = len(given)
        if given:
            self._tell()

    def __call__(self, sentences: torch.Tensor, tokens: torch.Tensor) -> None:
        if self.waits:  # the tokens of the prompt come first
            self.waits -= 1
            return
        token = int(tokens[0])
        if token != EOS:
            self.tokens.append(token)
            self._tell()

    def _tell(self) -> None:
        text = self.subwords.decode(self.tokens)
        if text.startswith(self.told) and not text.endswith(_HELD):
            self.tell(text[len(self.told) :])
            self.told = text

"""Guess hidden tokens: for each `<mask>` of a text, the most likely tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import MASK_NAMES
from regard.decoding.predictor import Prediction, Predictor

_MASK = re.compile("|".join(map(re.escape, MASK_NAMES)))


@dataclass(frozen=True)
class Guess:
    """A token for a hidden place, and its probability."""

    id: int
    text: str
    probability: float


class Filler(Predictor):
    """A model of masked tokens."""

    def fill(self, texts: Sequence[str], count: int = 5) -> list[list[list[Guess]]]:
        """For each text and each `<mask>` in it, the likeliest tokens, the best first."""
        places = [self.tokens(text, line) for line, text in enumerate(texts, start=1)]
        outputs = self.outputs([self.frame.row([ids]) for ids in places])
        found = []
        for ids, hidden in zip(places, outputs, strict=True):
            at = [place + 1 for place, token in enumerate(ids) if token == self.subwords.mask]
            with torch.inference_mode():
                logits = self.model.output(hidden[at].to(self.model.output.weight)).float().cpu()
            best = logits.softmax(-1).topk(min(count, logits.shape[-1]))
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            found.append(
                [[self._guess(*one) for one in zip(tokens, chances, strict=True)] for tokens, chances in pairs]
            )
        return found

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """Each line with its hidden places filled, and the guesses for each place."""
        return [self._filled(line, guesses) for line, guesses in zip(lines, self.fill(lines), strict=True)]

    def tokens(self, text: str, line: int = 1) -> list[int]:
        """The tokens of a text with hidden places; `line` is its number, for errors."""
        parts = [self.subwords.encode(part) for part in _MASK.split(text)]
        if len(parts) < 2:
            raise UsageError(f"predict: line {line} has no <mask>, the place that is to be filled")
        mask = self.subwords.mask
        ids = [token for part in parts for token in (*part, mask) if token is not None][:-1]
        longest = self.frame.longest
        if longest is not None and len(ids) + 2 > longest:
            raise UsageError(f"predict: line {line} has {len(ids) + 2} tokens, but the model has {longest} positions")
        return ids

    def _guess(self, token: int, chance: float) -> Guess:
        return Guess(token, self.subwords.decode([token]).strip(), chance)

    def _filled(self, line: str, guesses: list[list[Guess]]) -> Prediction:
        best = iter(options[0].text for options in guesses)
        shown = [[{"token": one.text, "probability": one.probability} for one in options] for options in guesses]
        return Prediction(_MASK.sub(lambda _: next(best), line), {"text": line, "guesses": shown})

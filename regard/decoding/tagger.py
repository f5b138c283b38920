"""Tag the words of sentences; a word with a factor, such as its part of speech, is written word|NN."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import Subwords
from regard.data.tags import word_row
from regard.decoding.predictor import Prediction, Predictor
from regard.models.headed import Headed

_Pair = tuple[str, str]
"""a word and its factor"""


class Tagger(Predictor):
    """A model of tags; a sentence that is longer than its positions is tagged in parts."""

    def __init__(
        self,
        model: Headed,
        subwords: Subwords,
        tags: Sequence[str],
        columns: tuple[int | None, int | None] = (None, None),
        factors: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(model, subwords, **settings)
        self.tags, self.factors = tuple(tags), tuple(factors)
        self.column, self.factor = columns
        self._factor_number = {factor: at for at, factor in enumerate(self.factors, start=1)}

    def tag(
        self, sentences: Sequence[Sequence[str]], factors: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        """The tag of each word of each sentence; `factors` go with their words, if the model reads any."""
        if any(isinstance(sentence, str) for sentence in sentences):
            raise UsageError("tag: give each sentence as a list of words")
        parts = [part for at, words in enumerate(sentences) for part in self._parts(self._pairs(at, words, factors))]
        rows = [self._row(part) for part in parts]
        outputs = iter(self.outputs([row for row, _ in rows]))
        tagged = []
        for _, places in rows:
            best = iter(self._best(next(outputs), [at for at in places if at is not None]))
            tagged += [self._nothing if at is None else self.tags[next(best)] for at in places]
        found, start = [], 0
        for sentence in sentences:
            found.append(tagged[start : start + len(sentence)])
            start += len(sentence)
        return found

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The tags of each line's words, which stand between spaces."""
        sentences = [self._read(line) for line in lines]
        words = [[word for word, _ in sentence] for sentence in sentences]
        tagged = self.tag(words, [[factor for _, factor in sentence] for sentence in sentences])
        return [
            Prediction(" ".join(tags), {"words": own, "tags": tags}) for own, tags in zip(words, tagged, strict=True)
        ]

    def line_row(self, line: str) -> tuple[list[int], list[int]]:
        """The tokens and segments of a line."""
        return self._row(self._read(line))[0]

    @property
    def _nothing(self) -> str:
        """The tag of a word that has no token."""
        return "O" if "O" in self.tags else self.tags[0]

    def _read(self, line: str) -> list[_Pair]:
        """The words of a line, each with its factor."""
        if not self.factors:
            return [(word, "") for word in line.split()]
        pairs = [word.rpartition("|") for word in line.split()]
        for word, _, factor in pairs:
            if not word:
                raise UsageError(
                    f"tag: the model reads a factor of each word, such as {self.factors[0]}: write word|factor, "
                    f"not {factor}"
                )
        return [(word, factor) for word, _, factor in pairs]

    def _pairs(self, at: int, words: Sequence[str], factors: Sequence[Sequence[str]] | None) -> list[_Pair]:
        """The words of a sentence, each with its factor."""
        if self.factors and (factors is None or len(factors[at]) != len(words)):
            raise UsageError(f"tag: sentence {at + 1} needs a factor for each word, such as {self.factors[0]}")
        return list(zip(words, factors[at] if self.factors and factors else [""] * len(words), strict=True))

    def _row(self, pairs: Sequence[_Pair]) -> tuple[tuple[list[int], list[int]], list[int | None]]:
        factors = [self._factor_number.get(factor, 0) for _, factor in pairs] if self.factors else []
        return word_row(self.subwords, [word for word, _ in pairs], self.frame, factors)

    def _best(self, logits: Tensor, places: list[int]) -> list[int]:
        """The best tags of the words at these places: each by itself or, with a chain, together."""
        chain = self.model.chain
        if chain is None or not places:
            return [int(tag) for tag in logits[places].argmax(-1)]
        with torch.inference_mode():
            alone = logits[places].to(chain.first)[None]
            return [int(tag) for tag in chain.best(alone, torch.ones_like(alone[:, :, 0], dtype=torch.bool))[0]]

    def _parts(self, words: list[_Pair]) -> list[list[_Pair]]:
        """The sentence, halved until each part fits."""
        longest, text = self.frame.longest, " ".join(word for word, _ in words)
        if longest is None or len(words) < 2 or len(self.subwords.encode(text)) + 2 <= longest:
            return [words] if words else []
        half = len(words) // 2
        return [*self._parts(words[:half]), *self._parts(words[half:])]

"""Tag the words of sentences."""

from collections.abc import Sequence
from typing import Any

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import Subwords
from regard.data.tags import word_row
from regard.decoding.predictor import Prediction, Predictor
from regard.models.headed import Headed


class Tagger(Predictor):
    """A model of tags; a sentence that is longer than its positions is tagged in parts."""

    def __init__(
        self, model: Headed, subwords: Subwords, tags: Sequence[str], column: int | None = None, **settings: Any
    ) -> None:
        super().__init__(model, subwords, **settings)
        self.tags, self.column = tuple(tags), column

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tag of each word of each sentence."""
        if any(isinstance(sentence, str) for sentence in sentences):
            raise UsageError("tag: give each sentence as a list of words")
        parts = [part for sentence in sentences for part in self._parts(list(sentence))]
        rows = [word_row(self.subwords, part, self.frame) for part in parts]
        outputs = iter(self.outputs([row for row, _ in rows]))
        tagged = []
        for _, places in rows:
            best = next(outputs).argmax(-1).tolist()
            tagged += [self._nothing if at is None else self.tags[best[at]] for at in places]
        found, start = [], 0
        for sentence in sentences:
            found.append(tagged[start : start + len(sentence)])
            start += len(sentence)
        return found

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The tags of each line's words, which stand between spaces."""
        sentences = [line.split() for line in lines]
        return [
            Prediction(" ".join(tags), {"words": words, "tags": tags})
            for words, tags in zip(sentences, self.tag(sentences), strict=True)
        ]

    @property
    def _nothing(self) -> str:
        """The tag of a word that has no token."""
        return "O" if "O" in self.tags else self.tags[0]

    def _parts(self, words: list[str]) -> list[list[str]]:
        """The sentence, halved until each part fits."""
        longest = self.frame.longest
        if longest is None or len(words) < 2 or len(self.subwords.encode(" ".join(words))) + 2 <= longest:
            return [words] if words else []
        half = len(words) // 2
        return [*self._parts(words[:half]), *self._parts(words[half:])]

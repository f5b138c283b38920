"""An encoder with several heads: the answer of each, and the features that they share."""

from collections.abc import Mapping, Sequence

from regard.base.errors import UsageError, unknown
from regard.decoding.predictor import Answering, Prediction, Predictor, TextReader


class Multitasker(TextReader, Answering):
    """A model of several tasks; `heads` answers for each of them by itself.

    >>> load("runs/chunks", expect=Multitasker).heads["pos"].predict(["a dog barks"])
    """

    def __init__(self, heads: Mapping[str, Predictor], whole: TextReader) -> None:
        super().__init__(whole.model, whole.subwords, frame=whole.frame, batch_tokens=whole.batch_tokens)
        self.heads = dict(heads)

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The answers of all heads to each line, split at tabs, in the order of the heads; details have all of them."""
        made = []
        for own in zip(*(head.predict(lines) for head in self.heads.values()), strict=True):
            details = {name: one.details for name, one in zip(self.heads, own, strict=True)}
            made.append(Prediction("\t".join(one.text.partition("\t")[0] for one in own), details))
        return made

    def head(self, name: str) -> Predictor:
        """The head of this name."""
        if name not in self.heads:
            raise UsageError(unknown("head", name, self.heads, "heads"))
        return self.heads[name]

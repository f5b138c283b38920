"""One or several models as one distribution over the next token.

An ensemble's probability is the mean of its models': p(y) = 1/M Σ_m p_m(y), computed as log-mean-exp. Its models may
differ in everything but the target vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from math import log
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.base.errors import CombinationError, UsageError
from regard.decoding.packed.decoder import Packed, packed
from regard.decoding.packed.recognized import positions_limit
from regard.decoding.topk import LogSumExp
from regard.decoding.words import Words
from regard.layers.pointer_generator import PointerGenerator
from regard.models.writer import State, Transducer, Writer

_LOGITS_AT_ONCE = 2**21


@dataclass(frozen=True)
class EnsembleState:
    """The states of all models of an ensemble, which share sentences and beams."""

    parts: tuple[State, ...]
    words: Words | None = None
    """the shortlisted words, if not the whole vocabulary"""

    def spread(self, beams: int) -> Self:
        """Repeat each sentence's one row in every model's state."""
        return replace(self, parts=tuple(part.spread(beams) for part in self.parts))

    def reorder(self, rows: Int[Tensor, "rows"]) -> Self:
        """Reorder the rows of every model's state."""
        return replace(self, parts=tuple(part.reorder(rows) for part in self.parts))

    def keep(self, sentences: Int[Tensor, "kept"]) -> Self:
        """Keep some of the sentences in every model's state."""
        words = None if self.words is None else self.words.pick(sentences)
        return replace(self, parts=tuple(part.keep(sentences) for part in self.parts), words=words)


class Scorer:
    """Steps one model or an ensemble, over the whole vocabulary or over shortlisted words."""

    def __init__(self, models: Writer | Sequence[Writer]) -> None:
        self.models = tuple(models) if isinstance(models, Sequence) else (models,)
        if not self.models:
            raise UsageError("search: there is no model to search with")
        several = len(self.models) > 1
        if several and len({isinstance(model, Transducer) for model in self.models}) > 1:
            raise CombinationError("search: an ensemble cannot mix language models with models that read a source")
        if several and len(set(map(copies, self.models))) > 1:
            raise CombinationError("search: an ensemble cannot mix models that copy words of the source with others")
        self._steppers = [packed(model) for model in self.models]
        self._words: Words | None = None
        self._log_sum_exp = LogSumExp()

    def listing(self, words: Words) -> Self:
        """The same over shortlisted words."""
        _check_words(words, min(model.output.out_features for model in self.models))
        made = copy(self)
        made._words = words
        made._steppers = [one.listing(words) if isinstance(one, Packed) else one for one in self._steppers]
        return made

    @property
    def alone(self) -> "Writer | Packed | None":
        """What steps the one model; None for an ensemble."""
        return self._steppers[0] if len(self._steppers) == 1 else None

    @property
    def limit(self) -> int | None:
        """How many tokens the models can read in a row; None: any number."""
        each = [one.limit if isinstance(one, Packed) else positions_limit(one) for one in self._steppers]
        return min((limit for limit in each if limit is not None), default=None)

    @property
    def reads(self) -> bool:
        """Whether the models read a source."""
        return isinstance(self.models[0], Transducer)

    @property
    def first(self) -> int:
        """The token that outputs start after."""
        return self.models[0].first

    @property
    def device(self) -> torch.device:
        """The device of the models."""
        return next((weight.device for weight in self.models[0].parameters()), torch.device("cpu"))

    def start(self, source: Tensor | None, source_lengths: Tensor | None, rows: int) -> EnsembleState:
        """The states before the first token, one row per sentence."""
        parts = tuple(one.start(source, source_lengths, rows) for one in self._steppers)
        return EnsembleState(parts, self._words)

    def step(
        self, token: Int[Tensor, "rows"], states: EnsembleState
    ) -> tuple[Float[Tensor, "rows vocabulary"], Float[Tensor, "rows"], EnsembleState]:
        """The logits of the next token, the log of the sum of their exponentials, and the states after this token.

        The caller may change the logits in place.
        """
        words = states.words
        token = token if words is None else words.vocabulary(token)
        steps = [one.step(token, part) for one, part in zip(self._steppers, states.parts, strict=True)]
        each = [
            logits.float() if words is None or isinstance(one, Packed) else words.select(logits.float())
            for one, (logits, _) in zip(self._steppers, steps, strict=True)
        ]
        after = replace(states, parts=tuple(state for _, state in steps))
        if len(each) == 1:
            return each[0], self._log_sum_exp(each[0]), after
        if words is None and not copies(self.models[0]):  # they may be padded
            each = [one[:, : model.output.out_features] for one, model in zip(each, self.models, strict=True)]
        mean = log_mean([logits.log_softmax(-1) for logits in each])
        return mean, mean.new_zeros(len(mean)), after

    def read(
        self, given: Int[Tensor, "sentences given"], forced: Int[Tensor, "sentences given"], states: EnsembleState
    ) -> tuple[Float[Tensor, "sentences given"], EnsembleState]:
        """Read the given tokens at once (prefill): the log-probability of the forced token after each, and the states.

        Only where `reads_at_once`.
        """
        (stepper,) = self._steppers
        if not isinstance(stepper, Packed):
            raise UsageError("search: only a packed decoder reads several tokens at once")
        hidden, after = stepper.read(given, states.parts[0])
        values = []
        rows = max(1, _LOGITS_AT_ONCE // stepper.model.output.out_features)
        for part, tokens in zip(hidden.split(rows), forced.flatten().split(rows), strict=True):
            logits = stepper.logits(part).float()
            values.append(logits.gather(1, tokens[:, None])[:, 0] - self._log_sum_exp(logits))
        return torch.cat(values).view(given.shape), replace(states, parts=(after,))

    @property
    def reads_at_once(self) -> bool:
        """Whether `read` can be used: a packed decoder over the whole vocabulary."""
        return self._words is None and len(self._steppers) == 1 and isinstance(self._steppers[0], Packed)


def _check_words(words: Words, vocabulary: int) -> None:
    """Raise an error for a word that is not in the vocabulary."""
    highest = int(words.tokens.max())
    if highest >= vocabulary:
        raise UsageError(f"search: the shortlist has token {highest}, but the vocabulary has {vocabulary} tokens")


def copies(model: nn.Module) -> bool:
    """Whether a model copies words of the source, also those outside its vocabulary."""
    return isinstance(getattr(model, "output", None), PointerGenerator)


def most_positions(models: Sequence[nn.Module]) -> int | None:
    """How many tokens the models can read in a row, as their learned positions allow; None: any number."""
    return min((limit for limit in map(positions_limit, models) if limit is not None), default=None)


def log_mean(log_probabilities: Sequence[Tensor]) -> Tensor:
    """The log of the mean of probabilities, given their logs."""
    if len(log_probabilities) == 1:
        return log_probabilities[0]
    if len({tensor.shape for tensor in log_probabilities}) > 1:
        sizes = ", ".join(str(tensor.shape[-1]) for tensor in log_probabilities)
        raise CombinationError(f"ensemble: its models must share one target vocabulary, but theirs have {sizes} tokens")
    return torch.stack(list(log_probabilities)).logsumexp(0) - log(len(log_probabilities))


@contextmanager
def evaluating(models: Sequence[nn.Module]) -> Iterator[None]:
    """Evaluation mode without gradients inside; afterwards, each model's training mode is restored."""
    training = [model for model in models if model.training]
    for model in training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for model in training:
            model.train()

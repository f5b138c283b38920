"""Text generation with a language model."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS, Subwords
from regard.decoding.batching import in_batches
from regard.decoding.chat import ChatTemplate
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.scorer import Scorer, evaluating, log_mean, most_positions
from regard.decoding.scoring import log_probabilities
from regard.decoding.search import search
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy, strategy_for
from regard.models.writer import Recalling, Writer


@dataclass(frozen=True)
class Generation:
    """A generated text."""

    text: str
    """the whole text, the prompt included"""
    tokens: tuple[int, ...]
    """the tokens that the model generated"""
    score: float
    """the sum of their log-probabilities, `</s>` included"""
    added: str | None = None
    """the text of these tokens alone; None where it is the whole text"""

    @property
    def written(self) -> str:
        """What the model wrote, without the prompt."""
        return self.text if self.added is None else self.added


class Generator:
    """A language model, or an ensemble, with its tokenizer. The default strategy samples up to 100 tokens.

    `stops` are tokens that end a text as `</s>` does, such as those that end a turn of a chat; `chat` is the template
    that makes prompts of messages, if the tokenizer has one.

    >>> load("runs/novels", expect=Generator).generate(["Once upon a time"], n_best=2)[0][0].text
    """

    def __init__(
        self,
        models: Writer | Sequence[Writer],
        subwords: Subwords,
        strategy: Strategy | None = None,
        *,
        batch_tokens: int = 4096,
        stops: Sequence[int] = (),
        chat: ChatTemplate | None = None,
    ) -> None:
        scorer = Scorer(models)
        if scorer.reads:
            raise UsageError("generator: the model reads a source; use Translator")
        self.models, self.subwords, self._device = scorer.models, subwords, scorer.device
        self.strategy = Sample(max_length=100) if strategy is None else strategy
        self.batch_tokens, self.stops, self.chat = batch_tokens, tuple(stops), chat

    def generate(
        self, prompts: Sequence[str], strategy: Strategy | str | None = None, n_best: int | None = None
    ) -> list[list[Generation]]:
        """Generate continuations of each prompt, the likeliest first; an empty prompt is the beginning of a text.

        >>> generator.generate(["Once upon a time"], "sample(top_k=20, max_length=50)", n_best=3)
        """
        if isinstance(prompts, str):
            raise UsageError("generate: give a list of prompts, not one text")
        chosen = strategy_for(strategy, self.strategy, n_best)
        starts = self.subwords.encode_batch(prompts)
        stops = self.stops if isinstance(chosen, Greedy | Sample) else ()

        def work(batch: list[list[int]]) -> list[list[Hypothesis]]:
            return search(self.models, None, None, chosen, batch, stops=stops)

        found = in_batches(starts, [len(start) + 1 for start in starts], work, self.batch_tokens)
        forced = [len(chosen.prefix) + len(start) for start in starts]
        return [
            [self._generation(one, given) for one in hypotheses]
            for hypotheses, given in zip(found, forced, strict=True)
        ]

    def score(self, lines: Sequence[str], window: int = 512) -> list[float]:
        """The log-probability of each token of a running text, and of the end of each of its lines.

        The text is read in windows that overlap by half: all but the first tokens have at least half a window of
        context. A window is no longer than the learned positions. A model that recalls earlier segments reads each
        token once.
        """
        window = min(window, most_positions(self.models) or window)
        stream = [EOS]
        for ids in self.subwords.encode_batch(lines):
            stream += [*ids, EOS]
        if len(self.models) == 1 and isinstance(self.models[0], Recalling):
            return self._score_segments(self.models[0], stream, window)
        scores: list[float] = []
        while len(scores) < len(stream) - 1:
            start = max(0, len(scores) - window // 2)
            piece = torch.tensor([stream[start : start + window + 1]], device=self._device)
            with evaluating(self.models):
                logits = [model(None, None, piece[:, :-1]).float() for model in self.models]
            found = log_mean([log_probabilities(one, piece[:, 1:]) for one in logits])
            scores += found[0, len(scores) - start :].tolist()
        return scores

    def remember_more(self, size: int) -> None:
        """Let a model that recalls earlier segments see `size` tokens back, such as more than in training."""
        for model in self.models:
            if not isinstance(model, Recalling):
                raise UsageError(
                    f"memory: a {type(model).__name__} has no memory of earlier segments; transformer_xl has one"
                )
            model.remember_more(size)

    def _score_segments(self, model: Recalling, stream: list[int], length: int) -> list[float]:
        """The log-probability of each token of a text, read segment by segment, each recalling what is before it."""
        scores: list[float] = []
        memories: tuple[Tensor, ...] = ()
        for start in range(0, len(stream) - 1, length):
            piece = torch.tensor([stream[start : start + length + 1]], device=self._device)
            with evaluating(self.models):
                hidden, memories = model.segment(piece[:, :-1], memories)
                found = log_probabilities(model.output(hidden).float(), piece[:, 1:])
            scores += found[0].tolist()
        return scores

    def _generation(self, one: Hypothesis, given: int) -> Generation:
        return generation(self.subwords, one, given)


def generation(subwords: Subwords, one: Hypothesis, given: int) -> Generation:
    """What was found after so many given tokens."""
    whole, before = subwords.decode(one.tokens), subwords.decode(one.tokens[:given])
    added = whole[len(before) :] if whole.startswith(before) else subwords.decode(one.tokens[given:])
    return Generation(whole, one.tokens[given:], sum(one.token_scores[given:]), added)

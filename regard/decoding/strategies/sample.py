"""Sampling from the model's distribution: temperature, top-k and top-p (nucleus) sampling."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int32
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least, check_at_most
from regard.decoding.gumbel import gumbel_noise
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_way import walk
from regard.decoding.rules import Offer
from regard.decoding.strategy import SearchTask, Strategy
from regard.decoding.topk import top

_ROUNDING = 5e-5
"""logits that differ by less may change places, because rounding depends on a batch's shape"""
_SHARE = 1e-6
"""the same, as a share of the numbers themselves"""
_TIE = 2 * _ROUNDING
"""logits that differ by less from the last that is kept are kept too"""
_SPARE = 8
"""tokens beyond `top_k` that may be as likely as the last of it"""
_LEAST = 1e-12

_Picks = dict[int, Int[Tensor, "rows"]]
"""the tokens drawn at each step"""


@dataclass(frozen=True, kw_only=True)
class Sample(Strategy):
    """y_t is drawn from softmax(logits / temperature), restricted to its likeliest tokens.

    `top_k` keeps the k likeliest (Fan et al. 2018, arXiv:1805.04833), 0 all of them; `top_p` keeps the fewest that
    together have this probability (nucleus sampling, Holtzman et al. 2020, arXiv:1904.09751), after `top_k`.
    Tokens as likely as the last that is kept, up to rounding, are kept too. Scores are those of the whole distribution.

    Sampling is deterministic: a draw depends only on the seed, the source, the prefix, the number of the output and the
    step, so that the same text gets the same output in every batch: tokens race by their logits and Gumbel noise of
    their own, and where the first two are as close as rounding, the sentence is computed alone to decide. For several
    outputs per text, set `n_best`.
    """

    temperature: float = 1.0
    """divides the logits: below 1 likely tokens become likelier, above 1 the distribution becomes flatter"""
    top_k: int = 0
    """draw among this many of the likeliest tokens; 0: among all"""
    top_p: float = 1.0
    """nucleus sampling: draw among the fewest tokens that together have this probability; 1: among all"""
    seed: int = 1
    """another seed gives other outputs; the same one the same"""
    n_best: int = 1
    """the number of outputs for each text"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("sample", 0, top_k=self.top_k, seed=self.seed)
        check_at_least("sample", 1, n_best=self.n_best)
        check_at_most("sample", 10_000, n_best=self.n_best)
        check_at_most("sample", 2**63 - 1, seed=self.seed)
        if not self.temperature > 0:
            raise ConfigError(
                f"sample: temperature must be more than 0, but is {self.temperature}; greedy is what 0 would mean"
            )
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"sample: top_p must be more than 0 and at most 1, but is {self.top_p}")

    def run(self, task: SearchTask) -> list[list[Hypothesis]]:
        return self._walk(task)[0]

    def _walk(self, task: SearchTask) -> tuple[list[list[Hypothesis]], _Picks]:
        """The outputs, and of a task of one sentence the tokens drawn at each step."""
        steps = int(task.rules.most.max()) + 1
        keys = torch.stack([self._keys(identity, steps) for identity in task.identities]).to(task.rules.most.device)
        picks: _Picks = {}
        decided: dict[int, tuple[list[list[Hypothesis]], _Picks]] = {}

        def decide(sentence: int) -> None:
            if task.alone is not None and sentence not in decided:
                decided[sentence] = self._walk(replace(task.alone(sentence), trace=None, listen=None))

        def choose(offer: Offer, sentences: Tensor, step: int) -> Tensor:
            words = None if task.states.words is None else task.states.words.tokens[sentences]
            names = None if words is None else words.repeat_interleave(self.n_best, 0)
            token, doubtful = self.draw(offer.logits, keys[sentences, :, step].flatten(0, 1), names)
            if task.alone is None:
                picks[step] = token
                return token
            if bool(doubtful.any()):
                for at in doubtful.view(-1, self.n_best).any(1).nonzero()[:, 0].tolist():
                    decide(int(sentences[at]))
            for at, sentence in enumerate(sentences.tolist() if decided else ()):
                if sentence in decided and step in decided[sentence][1]:
                    token.view(-1, self.n_best)[at] = decided[sentence][1][step]
            return token

        found = walk(task, choose, rows=self.n_best)
        for sentence, own in enumerate(found):
            if any(_may_change_places(one, other) for one, other in pairwise(own)):
                decide(sentence)
        for sentence, (alone, _) in decided.items():
            found[sentence] = alone[0]
        return found, picks

    def _keys(self, identity: tuple[int, ...], steps: int) -> Int32[Tensor, "outputs steps 2"]:
        """The keys of the noise for each output and step of a sentence."""

        def streams() -> Iterator[np.ndarray]:
            for number in range(self.n_best):
                content = np.array([self.seed, number, *identity], dtype=np.int64).tobytes()
                digest = blake2b(content, digest_size=16).digest()
                drawn = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
                yield drawn.integers(-(2**31), 2**31, (steps, 2), dtype=np.int32)

        return torch.from_numpy(np.stack(list(streams())))

    def draw(
        self,
        logits: Float[Tensor, "rows vocabulary"],
        keys: Int32[Tensor, "rows 2"],
        names: Int[Tensor, "rows vocabulary"] | None = None,
    ) -> tuple[Int[Tensor, "rows"], Bool[Tensor, "rows"]]:
        """The token that wins the race of each row, and whether rounding could let another one win.

        `names` are the ids that decide the tokens' noise, their indices unless given.
        """
        tokens, sure, kept = None, None, None
        if 0 < self.top_k < logits.shape[1]:
            logits, tokens = _top(logits, self.top_k)
            edge = logits[:, self.top_k - 1, None] - _TIE
            sure, kept = logits >= edge + _ROUNDING, logits >= edge - _ROUNDING
        elif self.top_p < 1:
            logits, tokens = logits.sort(descending=True, stable=True)
        if self.top_p < 1:
            sure = self._nucleus(logits, sure, _TIE + _ROUNDING, _TIE - _ROUNDING)
            kept = self._nucleus(logits, kept, _TIE - _ROUNDING, _TIE + _ROUNDING)
        if names is None:
            names = torch.arange(logits.shape[1], device=logits.device)[None] if tokens is None else tokens
        elif tokens is not None:
            names = names.gather(1, tokens)
        times = gumbel_noise(keys, names).mul_(self.temperature).add_(logits)
        if kept is not None:
            times.masked_fill_(~kept, -torch.inf)
        (first, second), (winner, _) = (side.unbind(1) for side in top(times, 2))
        doubtful = first - second < _ROUNDING + _SHARE * first.abs()
        winner = winner[:, None]
        if sure is not None:
            doubtful |= ~sure.gather(1, winner)[:, 0]
        return (winner if tokens is None else tokens.gather(1, winner))[:, 0].clone(), doubtful

    def _nucleus(
        self, logits: Float[Tensor, "rows tokens"], kept: Bool[Tensor, "rows tokens"] | None, less: float, tie: float
    ) -> Bool[Tensor, "rows tokens"]:
        """The fewest of the kept tokens that have `top_p` together, the likeliest first, and those that tie."""
        if kept is not None:
            logits = logits.masked_fill(~kept, -torch.inf)
        probabilities = (logits.double() / self.temperature).softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        inside = before < max(self.top_p - less / self.temperature, _LEAST)
        return logits >= logits.masked_fill(~inside, torch.inf).amin(-1, keepdim=True) - tie


def _top(logits: Float[Tensor, "rows vocabulary"], count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row, those that may tie with the last of them, and some more; their indices."""
    found, tokens = top(logits, min(count + _SPARE, logits.shape[1]))
    edge = found[:, count - 1, None] - 2 * _TIE
    if bool(((found[:, -1:] >= edge) & found[:, -1:].isfinite()).any()):  # more ties than the spare ones
        found, tokens = logits.sort(descending=True, stable=True)
    return found, tokens


def _may_change_places(one: Hypothesis, other: Hypothesis) -> bool:
    """Whether rounding could rank two neighboring outputs the other way round."""
    close = _ROUNDING * max(len(one), len(other)) + _SHARE * abs(one.rank)
    return one.tokens != other.tokens and abs(one.rank - other.rank) < close

"""Sampling from the model's distribution: temperature, top-k and top-p (nucleus) sampling."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least, check_at_most
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_way import walk
from regard.decoding.rules import Offer
from regard.decoding.strategy import SearchTask, Strategy
from regard.decoding.topk import top

_TIE = 1e-5
"""logits, and shares of probability, that differ by less are equal but for rounding, which a batch's shape changes"""
_SPARE = 8
"""tokens beyond `top_k` that may be as likely as the last of it"""
_LEAST = 1e-12


@dataclass(frozen=True, kw_only=True)
class Sample(Strategy):
    """y_t is drawn from softmax(logits / temperature), restricted to its likeliest tokens.

    `top_k` keeps the k likeliest (Fan et al. 2018, arXiv:1805.04833), 0 all of them; `top_p` keeps the fewest that
    together have this probability (nucleus sampling, Holtzman et al. 2020, arXiv:1904.09751), after `top_k`.
    Tokens as likely as the last that is kept, up to rounding, are kept too. Scores are those of the whole distribution.

    Sampling is deterministic: a draw depends only on the seed, the source, the prefix, the number of the output and the
    step, so that the same text gets the same output in every batch. For several outputs per text, set `n_best`.
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
        steps = int(task.rules.most.max()) + 1
        draws = torch.stack([self._draws(identity, steps) for identity in task.identities]).to(task.rules.most.device)

        def choose(offer: Offer, sentences: Tensor, step: int) -> Tensor:
            return self._pick(offer.logits, draws[sentences, :, step].flatten())

        return walk(task, choose, rows=self.n_best)

    def _draws(self, identity: tuple[int, ...], steps: int) -> Tensor:
        """Random numbers from [0, 1) for each output and step of a sentence."""

        def streams() -> Iterator[np.ndarray]:
            for number in range(self.n_best):
                content = np.array([self.seed, number, *identity], dtype=np.int64).tobytes()
                digest = blake2b(content, digest_size=16).digest()
                yield np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little"))).random(steps)

        return torch.from_numpy(np.stack(list(streams())))

    def _pick(self, logits: Tensor, draws: Tensor) -> Tensor:
        """The first token at which the cumulative probability exceeds the random number."""
        vocabulary = logits.shape[1]
        tokens = None
        if 0 < self.top_k < vocabulary:
            logits, tokens = _top_and_ties(logits, self.top_k)
        elif self.top_p < 1:
            logits, tokens = logits.sort(descending=True, stable=True)
        probabilities = (logits.double() / self.temperature).softmax(-1)
        if self.top_p < 1:
            before = probabilities.cumsum(-1) - probabilities
            inside = before < max(self.top_p - _TIE, _LEAST)
            last = probabilities.masked_fill(~inside, 1.0).amin(-1, keepdim=True)
            probabilities = probabilities.masked_fill(probabilities < last * (1 - _TIE), 0.0)
        if tokens is not None:
            # Summed in the order of their ids, not of their probabilities: rounding, which differs with the shape of a
            # batch, lets tokens that are equally likely to the last digits change places, and the number drawn would
            # then fall on the other of the two.
            tokens, order = tokens.sort(-1)
            probabilities = probabilities.gather(1, order)
        cumulative = probabilities.cumsum(-1)
        reached = cumulative > (draws[:, None] * cumulative[:, -1:])
        picked = reached.to(torch.uint8).argmax(-1)
        return picked if tokens is None else tokens.gather(1, picked[:, None])[:, 0]


def _top_and_ties(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row, those that tie with the last of them, and some that are -inf; their indices."""
    found, tokens = top(logits, min(count + _SPARE, logits.shape[1]))
    edge = found[:, count - 1, None] - _TIE
    if bool(((found[:, -1:] >= edge) & found[:, -1:].isfinite()).any()):  # more ties than the spare ones
        found, tokens = logits.sort(descending=True, stable=True)
    return found.masked_fill(found < edge, -torch.inf), tokens

"""Constraints on outputs for all strategies: lengths, a forced prefix, suppressed tokens and no repeated n-grams.

Rules restrict the choice of tokens; they do not change probabilities. Scores stay the model's own log-probabilities,
and are not renormalized over the tokens that the rules allow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.topk import top, top_of_all

FREE = -1


@dataclass(frozen=True)
class Rules:
    """The rules for the sentences of a batch."""

    suppress: Int[Tensor, "suppressed"]
    no_repeat_ngram: int
    forced: Int[Tensor, "sentences prefix"]
    """the forced prefixes, padded with FREE"""
    least: Int[Tensor, "sentences"]
    """the fewest tokens before `</s>`, prefix included"""
    most: Int[Tensor, "sentences"]
    """the most tokens before `</s>`, prefix included"""

    @cached_property
    def _soonest(self) -> int:
        return int(self.most.min())

    @cached_property
    def _latest(self) -> int:
        return int(self.least.max())

    @cached_property
    def _may_be_stuck(self) -> bool:
        return self.no_repeat_ngram > 0 or self._latest > 0 or bool((self.suppress == EOS).any())

    @property
    def are_plain(self) -> bool:
        """Whether there are no rules but suppressed tokens and a longest length."""
        return not self.forced.shape[1] and not self._may_be_stuck

    @property
    def shared(self) -> int:
        """The number of steps at which every sentence has a forced token."""
        return int((self.forced != FREE).sum(1).min())

    def keep(self, sentences: Int[Tensor, "kept"]) -> "Rules":
        """The rules of some of the sentences."""
        return replace(self, forced=self.forced[sentences], least=self.least[sentences], most=self.most[sentences])

    def within(self, positions: int | None) -> "Rules":
        """The rules with no output longer than a model has positions for; one is taken by the token it starts after."""
        if positions is None:
            return self
        given = int((self.forced != FREE).sum(1).max())
        if given >= positions:
            raise UsageError(
                f"search: a prefix has {given} tokens, but the model has learned {positions} positions; "
                f"give at most {positions - 1}"
            )
        return replace(self, most=self.most.clamp(max=positions - 1))

    def offer(
        self,
        logits: Float[Tensor, "rows vocabulary"],
        norm: Float[Tensor, "rows"],
        history: Int[Tensor, "sentences beams step"],
    ) -> "Offer":
        """The tokens that may come next. The logits are changed in place."""
        beams, step = history.shape[1:]
        must = self._must(step)
        rows = must.repeat_interleave(beams) if must is not None else None
        end = logits[:, EOS].clone() if self._may_be_stuck else None
        value = None if rows is None else logits.gather(1, rows.clamp(min=0)[:, None])[:, 0]
        self._ban(logits, history, step)
        if end is not None:
            stuck = logits.amax(-1) == -torch.inf
            if stuck.any():
                free = stuck if rows is None else stuck & (rows == FREE)
                rows = torch.where(free, EOS, FREE if rows is None else rows)
                value = torch.where(free, end, end if value is None else value)
        return Offer(logits, norm, rows, value)

    def _must(self, step: int) -> Tensor | None:
        prefix = step < self.forced.shape[1]
        if not prefix and step < self._soonest:
            return None
        must = self.forced[:, step] if prefix else torch.full_like(self.most, FREE)
        return torch.where(self.most <= step, EOS, must)

    def _ban(self, logits: Tensor, history: Tensor, step: int) -> None:
        if len(self.suppress):
            logits.index_fill_(1, self.suppress, -torch.inf)
        if step < self._latest:
            early = (self.least > step).repeat_interleave(history.shape[1])
            logits[:, EOS].masked_fill_(early, -torch.inf)
        if 0 < self.no_repeat_ngram <= step:
            _ban_repeats(logits, history.flatten(0, 1), self.no_repeat_ngram)


def _ban_repeats(logits: Tensor, history: Tensor, size: int) -> None:
    """Ban tokens that would repeat an n-gram of `size` tokens in a row."""
    windows = history.unfold(1, size, 1)
    last = history[:, history.shape[1] - size + 1 :]
    row, window = (windows[:, :, :-1] == last[:, None]).all(-1).nonzero(as_tuple=True)
    logits[row, windows[row, window, -1]] = -torch.inf


@dataclass(frozen=True)
class Offer:
    """The next tokens that the rules allow."""

    logits: Float[Tensor, "rows vocabulary"]
    """minus infinity where a token is not allowed"""
    norm: Float[Tensor, "rows"]
    """the log of the sum of exponentials: subtracted from the logits, it gives log-probabilities"""
    must: Int[Tensor, "rows"] | None
    """the forced token of a row, or FREE"""
    value: Float[Tensor, "rows"] | None
    """the logit of that token"""

    def top(self, count: int) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
        """The likeliest tokens of each row, with their log-probabilities; forbidden tokens have minus infinity."""
        values, tokens = top(self.logits, min(count, self.logits.shape[1]))
        if self.must is not None and self.value is not None:
            forced = self.must != FREE
            tokens[:, 0] = torch.where(forced, self.must, tokens[:, 0])
            values[:, 1:].masked_fill_(forced[:, None], -torch.inf)
            values[:, 0] = torch.where(forced, self.value, values[:, 0])
        return values - self.norm[:, None], tokens

    def best(
        self, score: Float[Tensor, "sentences beams"], count: int
    ) -> tuple[Float[Tensor, "sentences count"], Float[Tensor, "sentences count"], Tensor, Tensor]:
        """The likeliest continuations of each sentence's beams, whose scores so far are given.

        Returns for each the new score, the token's log-probability, the token, and the beam that it continues.
        """
        sentences, beams = score.shape
        if self.must is None:
            norm = self.norm.view(sentences, beams)
            total, logit, beam, token = top_of_all(
                self.logits, score - norm, min(count, self.logits.numel() // sentences)
            )
            return total, logit.sub_(norm.gather(1, beam)), token, beam
        values, tokens = self.top(count)
        each = values.shape[1]
        total = (score[:, :, None] + values.view(sentences, beams, each)).view(sentences, -1)
        total, at = total.topk(min(count, beams * each))
        values, tokens = (side.view(sentences, -1).gather(1, at) for side in (values, tokens))
        return total, values, tokens, at.div(each, rounding_mode="floor")

    def settle(self, chosen: Int[Tensor, "rows"]) -> tuple[Int[Tensor, "rows"], Float[Tensor, "rows"]]:
        """The chosen tokens, replaced by forced ones where there are, with their log-probabilities."""
        value = self.logits.gather(1, chosen[:, None])[:, 0]
        if self.must is not None and self.value is not None:
            forced = self.must != FREE
            chosen, value = torch.where(forced, self.must, chosen), torch.where(forced, self.value, value)
        return chosen, value - self.norm


def forced_tokens(rows: Sequence[Sequence[int]], device: torch.device) -> Int[Tensor, "sentences prefix"]:
    """Prefixes as one tensor, padded with FREE."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[FREE] * (width - len(row))] for row in rows], dtype=torch.long, device=device).view(
        len(rows), width
    )

"""A linear-chain conditional random field (CRF): the tags of a sentence are judged together, not each by itself.

    score(y | x) = a[y_1] + Σ_t x_t[y_t] + Σ_t T[y_(t-1), y_t] + e[y_n],  p(y | x) = exp score(y) / Σ_y' exp score(y')

x_t are the logits of word t, T, a and e are learned: how well a tag follows another, begins and ends. The sum over all
taggings is taken by the forward algorithm, the best one is found by Viterbi's, both in words · tags² steps. Lafferty
et al., 2001, https://repository.upenn.edu/cis_papers/159; over a network: Collobert et al., 2011,
https://www.jmlr.org/papers/v12/collobert11a.html.
"""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn


class Chain(nn.Module):
    """Learned scores of tags that follow each other."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = nn.Parameter(torch.zeros(tags)), nn.Parameter(torch.zeros(tags))

    def surprise(
        self,
        logits: Float[Tensor, "batch words tags"],
        tags: Int64[Tensor, "batch words"],
        keep: Bool[Tensor, "batch words"],
    ) -> Float[Tensor, "batch"]:
        """-log p(y | x) of each sentence; its words come first, then padding, where `keep` is False."""
        return self._all(logits, keep) - self._one(logits, tags, keep)

    def best(
        self, logits: Float[Tensor, "batch words tags"], keep: Bool[Tensor, "batch words"]
    ) -> Int64[Tensor, "batch words"]:
        """The most probable tags of each sentence (Viterbi); at padding, the tag of its last word."""
        score, back = self.first + logits[:, 0], []
        same = torch.arange(logits.shape[2], device=logits.device).expand(len(logits), -1)
        for at in range(1, logits.shape[1]):
            ways, came = (score[:, :, None] + self.transitions).max(1)
            here = keep[:, at, None]
            score = torch.where(here, ways + logits[:, at], score)
            back.append(torch.where(here, came, same))
        path = [(score + self.last).argmax(1)]
        for came in reversed(back):
            path.append(came.gather(1, path[-1][:, None])[:, 0])
        return torch.stack(path[::-1], 1)

    def _all(self, logits: Tensor, keep: Tensor) -> Tensor:
        """log Σ_y exp score(y)."""
        score = self.first + logits[:, 0]
        for at in range(1, logits.shape[1]):
            following = (score[:, :, None] + self.transitions).logsumexp(1) + logits[:, at]
            score = torch.where(keep[:, at, None], following, score)
        return (score + self.last).logsumexp(1)

    def _one(self, logits: Tensor, tags: Tensor, keep: Tensor) -> Tensor:
        """score(y)."""
        own = logits.gather(2, tags[:, :, None])[:, :, 0]
        follows = self.transitions[tags[:, :-1], tags[:, 1:]] * keep[:, 1:]
        ends = tags.gather(1, keep.sum(1, keepdim=True) - 1)[:, 0]
        return self.first[tags[:, 0]] + (own * keep).sum(1) + follows.sum(1) + self.last[ends]

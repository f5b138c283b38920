from itertools import product

import pytest
import torch
from torch import Tensor

from regard.layers.chain import Chain

TAGS, LENGTHS = 3, (4, 1, 2)


@pytest.fixture
def chain() -> Chain:
    torch.manual_seed(1)
    made = Chain(TAGS)
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made


def score(chain: Chain, logits: Tensor, tags: tuple[int, ...]) -> Tensor:
    """The definition, in a loop."""
    found = chain.first[tags[0]] + chain.last[tags[-1]]
    for at, tag in enumerate(tags):
        found = found + logits[at, tag] + (chain.transitions[tags[at - 1], tag] if at else 0)
    return found


def test_it_equals_the_sum_over_all_taggings(chain: Chain) -> None:
    logits = torch.randn(len(LENGTHS), max(LENGTHS), TAGS)
    tags = torch.randint(0, TAGS, logits.shape[:2])
    keep = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    surprise, best = chain.surprise(logits, tags, keep), chain.best(logits, keep)
    for row, length in enumerate(LENGTHS):
        every = list(product(range(TAGS), repeat=length))
        scores = torch.stack([score(chain, logits[row], one) for one in every])
        own = score(chain, logits[row], tuple(tags[row, :length].tolist()))
        assert torch.allclose(surprise[row], scores.logsumexp(0) - own, atol=1e-5)
        assert tuple(best[row, :length].tolist()) == every[int(scores.argmax())]


def test_a_sentence_does_not_depend_on_padding(chain: Chain) -> None:
    logits = torch.randn(1, 5, TAGS)
    other = torch.cat([logits, torch.full((1, 3, TAGS), 99.0)], 1)
    tags, keep = torch.zeros(1, 8, dtype=torch.long), torch.arange(8)[None] < 5
    alone = chain.surprise(logits, tags[:, :5], keep[:, :5])
    assert torch.equal(chain.surprise(other, tags, keep), alone)
    assert torch.equal(chain.best(other, keep)[:, :5], chain.best(logits, keep[:, :5]))
    chain.surprise(other, tags, keep).sum().backward()
    assert chain.transitions.grad is not None
    assert chain.transitions.grad.isfinite().all()

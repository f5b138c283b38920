"""Word dropout: the rate, what stays, and that the draws follow from the position alone."""

import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.framed import FramedTexts
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import UNK
from regard.data.word_dropout import WordDropout

TOKENS = torch.full((50, 200), 7)
TOKENS[:, 0], TOKENS[:, -1] = 2, 0
TEXTS = FramedTexts(TOKENS, torch.full((50,), 199), torch.zeros_like(TOKENS))


def test_the_share_of_tokens_that_is_replaced() -> None:
    found = WordDropout(rate=0.2)(TEXTS, BatchPosition(epoch=0, index=3))
    changed = found.tokens != TOKENS
    assert (found.tokens[changed] == UNK).all() and not changed[:, [0, -1]].any()
    assert changed[:, 1:-1].float().mean().item() == pytest.approx(0.2, abs=4 * (0.16 / 9900) ** 0.5)
    assert torch.equal(WordDropout(rate=0.2)(TEXTS, BatchPosition(epoch=0, index=3)).tokens, found.tokens)
    assert not torch.equal(WordDropout(rate=0.2)(TEXTS, BatchPosition(epoch=1, index=3)).tokens, found.tokens)
    assert WordDropout()(TEXTS, BatchPosition(epoch=0, index=3)) is TEXTS


def test_a_rate_is_a_share() -> None:
    with pytest.raises(ConfigError, match="rate must be at least 0 and below 1"):
        WordDropout(rate=1.0)

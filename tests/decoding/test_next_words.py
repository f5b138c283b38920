"""The distribution over next words, against one that is added up over all tokens."""

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import BOS, EOS, MARK, PAD, UNK
from regard.decoding.generator import Generator
from regard.decoding.next_words import END_OF_LINE, log_next, next_words
from regard.models.gpt import Gpt

TEXTS = ["ab ba a", "a b ab."]


def generator(kind: str, **settings: object) -> Generator:
    torch.manual_seed(3)
    subwords = learn_subwords(TEXTS, SubwordSettings(kind=kind, min_count=1))  # type: ignore[arg-type]
    design = Gpt(width=8, heads=2, layers=2, feedforward=8, **settings)  # type: ignore[arg-type]
    return Generator(design.build({"text": len(subwords)}).eval(), subwords)


def test_of_whole_words_it_is_the_distribution_over_tokens_and_their_ends() -> None:
    model = generator("word")
    found = next_words(model, "ab ba", count=3)
    ids = model.subwords.encode("ab ba")
    logits = model.models[0](None, None, torch.tensor([[EOS, *ids]]))[0, -1]
    logits[[PAD, UNK, BOS]] = -torch.inf
    right = logits.log_softmax(-1)
    assert found == sorted(found, key=lambda word: -word.log_probability)
    for word in found:
        if word.text == END_OF_LINE:
            assert word.tokens[-1] == EOS
        assert word.probability <= right[word.tokens[0]].exp() + 1e-2


def test_a_word_of_letters_is_their_product_and_a_boundary() -> None:
    model = generator("character")
    found = {word.text: word for word in next_words(model, "ab", count=20)}
    pieces = model.subwords.pieces
    ids = model.subwords.encode("ab")
    a, mark = pieces.index("a"), pieces.index(MARK)

    def chances(more: list[int]) -> np.ndarray:
        own = log_next(model, [[*ids, *more]])[0]
        return own.numpy()

    ends = [
        at for at, piece in enumerate(pieces) if (not piece[0].isalnum() or at == EOS) and at not in (PAD, UNK, BOS)
    ]
    ways = []  # a word that is spelled with several spaces before it is the same word
    for spaces in range(1, 9):
        way = [mark] * spaces + [a]
        ways.append(sum(chances(way[:at])[way[at]] for at in range(len(way))) + np.logaddexp.reduce(chances(way)[ends]))
    assert found["a"].tokens == (mark, a)
    assert ways[0] < found["a"].log_probability <= np.logaddexp.reduce(ways) + 1e-4
    assert found["a"].log_probability == pytest.approx(np.logaddexp.reduce(ways[:4]), abs=0.05)
    assert "‑a" in found  # the word goes on: aba
    assert sum(word.probability for word in found.values()) <= 1 + 1e-4


def test_the_same_text_of_other_tokens_is_one_word() -> None:
    words = [word.text for word in next_words(generator("bpe"), "a", count=30)]
    assert len(words) == len(set(words))


def test_learned_positions_limit_what_is_read() -> None:
    model = generator("word", positions="learned(4)")
    assert len(next_words(model, "ab ba a b ab ba", count=2)) == 2


def test_a_count_of_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="count must be at least 1"):
        next_words(generator("word"), "a", count=0)

"""The compiled beam search finds what the beam search by torch finds."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.base.errors import RegardError, UsageError
from regard.decoding.packed import compiled_search as searching
from regard.decoding.packed import recognized as recognizing
from regard.decoding.search import search
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import SearchTask, Strategy
from regard.decoding.trace import Trace
from regard.decoding.workers import one_core
from regard.layers.inference import precision
from regard.layers.inference.int8 import Int8Linear
from regard.models.t5 import T5
from regard.models.transformer import Transformer

VOCABULARY = 90

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with one_core():
        yield


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each search was compiled."""
    found: list[bool] = []
    ask = SearchTask.compiled

    def note(self: SearchTask, *given: Any, **named: Any) -> Any:
        made = ask(self, *given, **named)
        found.append(made is not None)
        return made

    monkeypatch.setattr(SearchTask, "compiled", note)
    return found


def model(design: Any = Transformer, tie: str = "none") -> Any:
    torch.manual_seed(2)
    made = design(encoder_layers=1, decoder_layers=2, width=32, heads=2, feedforward=48, tie=tie)
    built = made.build({"source": VOCABULARY, "target": VOCABULARY}).eval()
    with torch.no_grad():
        built.output.weight.mul_(3)
        built.output.weight[3].mul_(1.5 if design is Transformer else 4.0)  # outputs of all lengths
    return built


SOURCE = torch.randint(4, VOCABULARY, (9, 8), generator=torch.Generator().manual_seed(1))
LENGTHS = torch.arange(9) % 8 + 1
STRATEGIES = (
    Greedy(),
    Beam(size=1),
    Beam(size=5, n_best=3),
    Beam(size=4, patience=None, length_penalty=0.6),
    Beam(size=3, patience=2.0, max_length=4, suppress=(0, 1, 2, 7, 8)),
    Beam(size=5, max_length=40, suppress=(0, 1, 2, 3)[:3]),
    Beam(size=3, n_best=3, patience=5e18),  # more than 64 bits can count
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize(("design", "tie"), [(Transformer, "none"), (T5, "embeddings")])
def test_it_finds_the_same(
    strategy: Strategy, design: Any, tie: str, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = (model(design, tie), SOURCE, LENGTHS, strategy)
    monkeypatch.setattr(searching, "_LARGE", 0)  # what nobody sees is always dropped
    fast = search(*given)
    monkeypatch.setattr(SearchTask, "compiled", lambda *_, **__: None)
    slow = search(*given)
    assert asked == [True]
    assert len({len(own[0]) for own in fast}) > 1 or strategy.max_length == 4
    for own, other in zip(fast, slow, strict=True):
        assert [(one.tokens, one.cut) for one in own] == [(one.tokens, one.cut) for one in other]
        for one, its in zip(own, other, strict=True):
            assert (one.score, one.rank) == pytest.approx((its.score, its.rank), abs=1e-4, rel=1e-5)
            assert one.token_scores == pytest.approx(its.token_scores, abs=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize(("design", "tie"), [(Transformer, "none"), (T5, "embeddings")])
def test_so_it_does_in_a_shortlist(
    strategy: Strategy, design: Any, tie: str, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [np.unique((np.arange(at % 7) * 13 + at * 5) % (VOCABULARY - 4) + 4) for at in range(VOCABULARY)]
    given = (model(design, tie), SOURCE, LENGTHS, strategy)
    listed = Shortlist(few, np.array([20, 21, 30, 31, 32, 33]), VOCABULARY)
    fast = search(*given, shortlist=listed)
    monkeypatch.setattr(SearchTask, "compiled", lambda *_, **__: None)
    slow = search(*given, shortlist=listed)
    assert asked == [2 * getattr(strategy, "size", 1) <= 10]
    assert [[one.tokens for one in own] for own in fast] == [[one.tokens for one in own] for own in slow]
    scores = [[one.score for own in found for one in own] for found in (fast, slow)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4, rel=1e-5)


def test_so_it_does_in_a_shortlist_where_weights_stand_in_memory_in_another_order() -> None:
    plain, turned = model(), model()
    turned.output.weight = nn.Parameter(turned.output.weight.detach().T.contiguous().T)
    listed = Shortlist([np.arange(40, 60)] * VOCABULARY, np.array([20, 21]), VOCABULARY)
    found = [search(one, SOURCE, LENGTHS, Beam(size=2), shortlist=listed) for one in (plain, turned)]
    assert [[one.tokens for one in own] for own in found[0]] == [[one.tokens for one in own] for own in found[1]]


def test_a_shortlist_of_words_that_are_not_in_the_vocabulary_is_told() -> None:
    for far in (VOCABULARY, 9 * 10**8):
        listed = Shortlist([np.array([far])] * VOCABULARY, np.array([20, 21]), far + 1)
        with pytest.raises(UsageError, match=f"the shortlist has token {far}, but the vocabulary has 90 tokens"):
            search(model(), SOURCE, LENGTHS, Beam(size=2), shortlist=listed)


@pytest.mark.usefixtures("int8")
@pytest.mark.parametrize("least", [0, 2000], ids=["every product", "the output layer"])
def test_so_it_does_in_int8(least: int, asked: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "LEAST", least)
    given = (precision.in_precision(model(), "int8"), SOURCE, LENGTHS, Beam(size=5, n_best=2))
    assert type(given[0].output) is Int8Linear
    fast = search(*given)
    monkeypatch.setattr(recognizing, "kernels", lambda: None)
    slow = search(*given)
    assert asked == [True, False]
    scores = [[own[0].score for own in found] for found in (fast, slow)]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)  # a step of rounding, where hidden states differ by little
    same = sum(own[0].tokens == other[0].tokens for own, other in zip(fast, slow, strict=True))
    assert same >= 8


@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        (Beam(size=2, min_length=2), {}),
        (Beam(size=2, no_repeat_ngram=2), {}),
        (Beam(size=2, suppress=(3,), max_length=5), {}),
        (Beam(size=33), {}),
        (Beam(size=2), {"prefixes": [[5]] * 9}),
        (Beam(size=2), {"trace": Trace()}),
        (Greedy(), {"stops": [5]}),
    ],
    ids=str,
)
def test_what_it_cannot_do_is_left_to_torch(strategy: Strategy, more: Any, asked: list[bool]) -> None:
    assert len(search(model(), SOURCE, LENGTHS, strategy, **more)) == 9
    assert asked == [False]


def test_ensembles_are_left_to_torch(asked: list[bool]) -> None:
    search([model(), model()], SOURCE, LENGTHS, Beam(size=2))
    assert asked == [False]


def test_logits_that_are_no_numbers_are_told(asked: list[bool]) -> None:
    broken = model()
    with torch.no_grad():
        broken.output.weight[7] = torch.nan
    with pytest.raises(RegardError, match="logits are not numbers"):
        search(broken, SOURCE, LENGTHS, Beam(size=2))
    assert asked == [True]

"""The compiled beam search finds what the beam search by torch finds."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from regard.base.errors import RegardError
from regard.decoding.packed import compiled_search as searching
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import SearchTask, Strategy
from regard.decoding.trace import Trace
from regard.decoding.workers import one_core
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


SOURCE, LENGTHS = torch.randint(4, VOCABULARY, (9, 8)), torch.arange(9) % 8 + 1
STRATEGIES = (
    Greedy(),
    Beam(size=1),
    Beam(size=5, n_best=3),
    Beam(size=4, patience=None, length_penalty=0.6),
    Beam(size=3, patience=2.0, max_length=4, suppress=(0, 1, 2, 7, 8)),
    Beam(size=5, max_length=40, suppress=(0, 1, 2, 3)[:3]),
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

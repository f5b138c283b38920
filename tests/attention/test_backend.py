from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch

from regard.attention import backend as module
from regard.attention.backend import Attended, Backend, backend_choice_of, backends, choose
from regard.attention.backends.blockwise import Blockwise
from regard.attention.backends.fused import Fused
from regard.attention.backends.linear import Linear
from regard.attention.backends.plain import Plain
from regard.attention.backends.sparse import Sparse
from regard.attention.call import Call
from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.normalizers.ratio import Ratio
from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.sparsemax import Sparsemax
from regard.attention.scores.dot import Dot
from regard.attention.scores.kernel import Kernel
from regard.base.errors import CombinationError, ConfigError, UsageError

EVERY = {"listed", "linear", "union", "sparse", "native", "fused", "blockwise", "plain"}


def call(score: Any = None, normalizer: Any = None, keep: Any = None, backend: Any = None) -> Call:
    query, key, value = (torch.randn(1, 1, 4, 2) for _ in range(3))
    return Call(query, key, value, score=score or Dot(), normalizer=normalizer or Softmax(), keep=keep, backend=backend)


def test_the_preferred_come_first() -> None:
    ranks = [backend.rank for _, backend in backends()]
    assert ranks == sorted(ranks)
    assert {name for name, _ in backends()} == EVERY


def test_chooses_the_fastest_that_serves() -> None:
    assert isinstance(choose(call()), Fused)
    assert isinstance(choose(call(Kernel(), Ratio(), Causal())), Linear)
    assert isinstance(choose(call(Kernel(), Ratio(), Window(2))), Plain)
    assert isinstance(choose(call(normalizer=Sparsemax())), Plain)


def test_leaves_what_takes_too_much_memory_to_blocks() -> None:
    query = torch.empty(1, 1, 1, 2).expand(1, 8, 20_000, 2)
    long = Call(query, query, query, score=Dot(), normalizer=Sparsemax())
    assert isinstance(choose(long), Blockwise)
    masked = Call(query, query, query, score=Dot(), normalizer=Softmax(), keep=~Window(5))
    assert isinstance(choose(masked), Blockwise)
    window = Call(query, query, query, score=Dot(), normalizer=Softmax(), keep=Window(5))
    assert isinstance(choose(window), Sparse)
    causal = Call(query, query, query, score=Dot(), normalizer=Softmax(), keep=Causal())
    assert isinstance(choose(causal), Fused)


def test_takes_the_one_that_was_asked_for() -> None:
    assert isinstance(choose(call(backend="plain")), Plain)
    assert choose(call(backend="blockwise(block_bytes=7)")) == Blockwise(block_bytes=7)
    assert choose(call(backend=Blockwise(3))) == Blockwise(3)


def test_one_that_cannot_serve_says_why_and_who_can() -> None:
    with pytest.raises(CombinationError) as error:
        choose(call(normalizer=Sparsemax(), backend="fused"))
    assert str(error.value) == (
        "attend: fused cannot serve this call: Sparsemax is not the softmax that the kernel computes; "
        "sparse, blockwise, plain can"
    )


def test_an_unknown_one_is_named_with_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"attend: backend: unknown 'fusd' \(did you mean 'fused'\?\); backends are: "
    ):
        choose(call(backend="fusd"))


def test_explains_every_one() -> None:
    explanation = backend_choice_of(call(normalizer=Sparsemax()))
    assert explanation.chosen == "plain"
    assert set(explanation.reasons) == EVERY
    assert explanation.reasons["plain"] == "chosen: the fastest that serves this call"
    assert explanation.reasons["fused"] == "cannot: Sparsemax is not the softmax that the kernel computes"
    assert explanation.reasons["blockwise"].startswith("could, but its 0.0 MiB of logits can be held")
    shown = str(explanation).splitlines()
    assert [line[0] for line in shown].count("→") == 1
    assert "→ plain: chosen: the fastest that serves this call" in shown


def test_explains_that_one_was_asked_for() -> None:
    explanation = backend_choice_of(call(backend="plain"))
    assert explanation.chosen == "plain"
    assert explanation.reasons["plain"] == "asked for"
    assert explanation.reasons["fused"] == "could, but the chosen one is faster"


@pytest.fixture
def two_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """A backend whose file has a name of two words."""

    @dataclass(frozen=True)
    class TwoWords(Backend):
        rank: ClassVar[int] = -1

        def __call__(self, call: Call) -> Attended:
            return Attended(call.value)

    TwoWords.__module__ = "regard.attention.backends.two_words"
    backend = TwoWords()
    monkeypatch.setattr(module, "backends", lambda: (("two_words", backend), ("plain", Plain())))
    yield backend


def test_names_of_two_words_are_told_as_they_are_written(two_words: Backend) -> None:
    explanation = backend_choice_of(call())
    assert explanation.chosen == "two_words"
    assert explanation.reasons["two_words"].startswith("chosen")


def test_a_backend_that_computes_nothing_says_so() -> None:
    with pytest.raises(UsageError, match="Backend has weights"):
        Backend()(call())

import pytest
import torch

from regard.base.config import from_dict
from regard.base.errors import ConfigError, RegardError, UsageError
from regard.data.subwords.tokenizer import BOS, EOS, PAD
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import STRATEGIES, check_numbers, strategy_for

CPU = torch.device("cpu")


def test_a_strategy_is_found_by_its_name() -> None:
    assert STRATEGIES.make("beam(size=4)") == Beam(size=4)
    assert STRATEGIES.make({"name": "greedy", "max_length": 7}) == Greedy(max_length=7)
    assert from_dict({"size": 3, "prefix": [7, 8]}, Beam) == Beam(size=3, prefix=(7, 8))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"min_length": -1}, "greedy: min_length must be at least 0, but is -1"),
        ({"max_length": 0}, "max_length must be at least 1"),
        ({"max_length": 3, "min_length": 4}, "at least min_length"),
        ({"max_ratio": -0.5}, "max_ratio must be at least 0"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram"),
        ({"suppress": (0, -3)}, r"suppress\[1\]"),
        ({"prefix": (5, EOS)}, "greedy.prefix: token 3"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Greedy(**settings)


def test_lengths_follow_the_source_or_are_absolute() -> None:
    lengths = torch.tensor([3, 10])
    ratio = Greedy(max_ratio=1.5, max_extra=2, min_length=1).rules(lengths, [(), (7, 8)], CPU)
    assert ratio.most.tolist() == [4 + 2, 15 + 2 + 2]
    assert ratio.least.tolist() == [1, 3]
    assert Greedy(max_length=5).rules(lengths, [(), (7, 8)], CPU).most.tolist() == [5, 7]
    assert Greedy(max_extra=9).rules(None, [(7,)], CPU).most.tolist() == [10]
    assert Greedy(max_ratio=0.0, max_extra=0).rules(lengths, [(), ()], CPU).most.tolist() == [1, 1]


def test_special_tokens_are_suppressed_unless_allowed() -> None:
    assert {PAD, BOS} <= set(Greedy().rules(None, [()], CPU).suppress.tolist())
    assert not len(Greedy(suppress=()).rules(None, [()], CPU).suppress)


def test_scores_that_are_no_numbers_are_an_error() -> None:
    fine = [[Hypothesis((4,), -1.0, (-0.5, -0.5), -1.0)]]
    assert check_numbers(fine) is fine
    for broken in ([[Hypothesis((4,), float("nan"), (), 0.0)]], [[]]):
        with pytest.raises(RegardError, match="NaN"):
            check_numbers([*fine, *broken])


@pytest.mark.usefixtures("unchecked")
def test_a_call_may_ask_for_a_strategy_by_its_text() -> None:
    own = Beam(size=4)
    assert strategy_for(None, own) is own
    assert strategy_for("greedy(max_length=3)", own) == Greedy(max_length=3)
    assert strategy_for(Greedy(), own) == Greedy()
    with pytest.raises(ConfigError, match="strategy: unknown 'bean'"):
        strategy_for("bean", own)
    with pytest.raises(UsageError, match=r"strategy: give a strategy or its text, .* not int"):
        strategy_for(5, own)  # type: ignore[arg-type]


def test_n_best_is_asked_of_any_strategy_that_has_it() -> None:
    assert strategy_for(None, Beam(size=4), 2) == Beam(size=4, n_best=2)
    assert strategy_for(None, Beam(size=4), 9) == Beam(size=9, n_best=9)
    assert strategy_for("sample", Beam(), 3) == Sample(n_best=3)
    assert strategy_for(None, Greedy(), 1) == Greedy()
    with pytest.raises(UsageError, match=r"n_best: a greedy search gives one output; ask for strategy='beam\(n_best=2"):
        strategy_for(None, Greedy(), 2)
    with pytest.raises(ConfigError, match="n_best must be at least 1"):
        strategy_for(None, Beam(), 0)

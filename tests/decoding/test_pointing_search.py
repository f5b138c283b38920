"""The search against all answers, one by one, on a model small enough for that."""

from itertools import permutations

import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.pointing import PointingRule
from regard.decoding.pointing_search import looks, point
from regard.models.pointer import Pointer, PointerModel

POINTS = torch.rand(3, 4, 2, generator=torch.Generator().manual_seed(3))
LENGTHS = torch.tensor([4, 2, 3])
RULES = [PointingRule("all_once"), PointingRule(fewest=2), PointingRule("allowed", fewest=1, most=3)]


@pytest.fixture(scope="module")
def model() -> PointerModel:
    torch.manual_seed(2)
    small = Pointer(width=8, heads=2, encoder_layers=1, decoder_layers=1, frequencies=1).build({"coordinates": 2})
    with torch.no_grad():
        for weight in small.parameters():
            weight += 0.5 * torch.randn_like(weight)
    return small.eval()


def answers(rule: PointingRule, size: int) -> list[tuple[int, ...]]:
    """All valid answers to an input of this size that take no position twice."""
    every = [some for count in range(1, size + 1) for some in permutations(range(size), count)]
    return [one for one in every if rule.complaint(one, size) is None]


def score(model: PointerModel, row: int, answer: tuple[int, ...], rule: PointingRule) -> float:
    """log P of an answer, the product of its steps."""
    seen = looks(model, POINTS[row : row + 1, : int(LENGTHS[row])], answer, rule)
    choices = [*(at + 1 for at in answer), 0]
    return float(sum(seen[step, choice].log() for step, choice in enumerate(choices)))


@pytest.mark.parametrize("rule", RULES[:2], ids=str)
def test_a_wide_beam_finds_the_likeliest_answers_in_order(rule: PointingRule, model: PointerModel) -> None:
    for row, found in enumerate(point(model, POINTS, LENGTHS, rule, beam=80)):
        wanted = {answer: score(model, row, answer, rule) for answer in answers(rule, int(LENGTHS[row]))}
        ordered = sorted(wanted, key=lambda answer: -wanted[answer])
        assert [one.positions for one in found] == ordered
        assert [one.score for one in found] == pytest.approx([wanted[answer] for answer in ordered], abs=1e-4)
        assert sum(torch.tensor([one.score for one in found]).exp()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("beam", [1, 3])
def test_every_answer_is_valid_in_any_company(rule: PointingRule, beam: int, model: PointerModel) -> None:
    together = point(model, POINTS, LENGTHS, rule, beam)
    for row, found in enumerate(together):
        length = int(LENGTHS[row])
        assert all(rule.complaint(one.positions, length) is None for one in found)
        assert found[0].score >= found[-1].score
        (alone,) = point(model, POINTS[row : row + 1, :length], LENGTHS[row : row + 1], rule, beam)
        assert [one.positions for one in alone] == [one.positions for one in found]


def test_a_step_looks_at_what_may_be_chosen_alone(model: PointerModel) -> None:
    seen = looks(model, POINTS[:1], (2, 0, 3, 1), PointingRule("all_once"))
    torch.testing.assert_close(seen.sum(1), torch.ones(5))
    assert seen[:4, 0].eq(0).all()
    assert seen[1:, 3].eq(0).all(), "position 2 was taken in the first step"


def test_no_beam_is_refused(model: PointerModel) -> None:
    with pytest.raises(ConfigError, match="pointing: beam must be at least 1, but is 0"):
        point(model, POINTS, LENGTHS, RULES[0], beam=0)

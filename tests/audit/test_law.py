import torch

from regard.audit.law import LAWS, Law, difference, tolerance, unequal
from regard.audit.subject import Claims
from tests.audit.mutants import LayerUnderAudit


def test_every_law_asks_a_question() -> None:
    for name in LAWS:
        law = LAWS.make(name)
        assert isinstance(law, Law)
        assert law.question.endswith("?")


def test_differences_are_relative_to_the_largest_number() -> None:
    assert difference(torch.tensor([10.0, 1.0]), torch.tensor([10.0, 2.0])) == 0.1
    assert difference(torch.tensor([torch.nan]), torch.tensor([1.0])) == torch.inf
    assert difference(torch.ones(2), torch.ones(3)) == torch.inf
    assert difference(torch.ones(0), torch.ones(0)) == 0


def test_layers_on_top_of_each_other_round_more_often() -> None:
    subject = LayerUnderAudit()
    flat = tolerance(subject)
    subject.claims = Claims(deep=True)
    assert tolerance(subject) == 10 * flat
    assert unequal(subject, torch.ones(1), torch.ones(1), "two") is None
    assert unequal(subject, torch.ones(1), torch.zeros(1), "two") == "two: they differ by 1.0e+06 of the largest"

import torch

from regard.audit.example import Example
from regard.audit.subject import ADAPTERS, Claims, Subject, at_positions, computes_in_double
from tests.audit.mutants import LayerUnderAudit


def test_adapters_are_subjects() -> None:
    assert all(issubclass(ADAPTERS.get(name), Subject) for name in ADAPTERS)


def test_sight_follows_from_mask_and_claims() -> None:
    subject, example = LayerUnderAudit(), Example(1, 3, 3, ((0, 2, 1),))
    causal = subject.sight(example, example.keep)[0].int().tolist()
    assert causal == [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    chain = torch.tensor([[[1, 0, 0], [1, 0, 0], [0, 1, 0]]], dtype=torch.bool)
    subject.claims = Claims(deep=True)
    assert subject.sight(example, chain)[0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_blind_rows_see_the_first_key() -> None:
    subject = LayerUnderAudit()
    keep = subject.mask(Example(1, 2, 2, ((0, 0, 0), (0, 1, 1))))
    assert keep is not None
    assert keep[0].int().tolist() == [[1, 1], [1, 0]]
    assert subject.mask(Example()) is None


def test_some_inputs_are_changed() -> None:
    changed = at_positions({"a": torch.ones(1), "b": torch.ones(1)}, ("b",), torch.neg)
    assert (float(changed["a"]), float(changed["b"])) == (1, -1)


def test_rounding_is_noticed() -> None:
    x = torch.randn(5, dtype=torch.float64)
    assert computes_in_double(torch.tanh, x)
    assert not computes_in_double(lambda x: x.float().tanh().double(), x)

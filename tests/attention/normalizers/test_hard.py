import torch

from regard.attention.normalizers.hard import Hard


def test_one_key_gets_all() -> None:
    logits = torch.tensor([[0.1, 2.0, -3.0], [5.0, 1.0, 4.9]])
    assert Hard()(logits).tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


def test_the_first_of_equals() -> None:
    assert Hard()(torch.tensor([[1.0, 3.0, 3.0]])).tolist() == [[0.0, 1.0, 0.0]]


def test_the_best_of_what_may_be_seen() -> None:
    keep = torch.tensor([[True, False, True], [False, False, False]])
    logits = torch.tensor([[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]])
    assert Hard()(logits, keep).tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]

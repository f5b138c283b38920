import torch

from regard.attention.normalizers.per_key import PerKey


def test_logits_are_divided_by_the_number_of_keys_that_are_seen() -> None:
    logits = torch.tensor([[3.0, -6.0, 9.0], [1.0, 2.0, 3.0]])
    torch.testing.assert_close(PerKey()(logits), logits / 3)
    keep = torch.tensor([[True, False, True], [False, False, False]])
    assert PerKey()(logits, keep).tolist() == [[1.5, 0.0, 4.5], [0.0, 0.0, 0.0]]

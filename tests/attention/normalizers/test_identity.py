import torch

from regard.attention.core import attend
from regard.attention.normalizers.identity import Identity
from regard.attention.scores.dot import Dot


def test_the_weights_are_the_scores() -> None:
    logits = torch.tensor([[2.0, -1.0, 3.0]])
    assert torch.equal(Identity()(logits), logits)
    assert torch.equal(Identity()(logits, torch.tensor([[True, False, True]])), torch.tensor([[2.0, 0.0, 3.0]]))


def test_the_lecture_s_formula() -> None:
    """a = [y^e]ᵀ y^d, and y^a = [y^e] a."""
    encoded, decoded = torch.randn(5, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    read = attend(decoded[None, None], encoded[None, None], encoded[None, None], score=Dot(), normalizer=Identity())
    for t in range(3):
        scores = [float(encoded[s] @ decoded[t]) for s in range(5)]
        right = sum(score * encoded[s] for s, score in enumerate(scores))
        torch.testing.assert_close(read.output[0, 0, t], right)

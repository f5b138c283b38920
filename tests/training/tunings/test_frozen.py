import torch

from regard.training.tunings.frozen import Frozen
from tests.training.test_tuning import encoder


def test_the_head_alone_learns_from_features_without_dropout() -> None:
    model = encoder(dropout=0.5)
    Frozen().prepare(model, ())
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert learning == {name for name, _ in model.named_parameters() if name.startswith("head.")}
    tokens, lengths = torch.randint(4, 12, (3, 5)), torch.tensor([5, 2, 4])
    model.eval()
    expected, _ = model.encode(tokens, lengths)
    model.train()
    for _ in range(2):
        features, _ = model.encode(tokens, lengths)
        torch.testing.assert_close(features, expected, rtol=0, atol=0)
    assert model.head.dropout.training
    model.train()(tokens, lengths).sum().backward()
    assert all((weight.grad is not None) == (name in learning) for name, weight in model.named_parameters())

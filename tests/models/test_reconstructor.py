import torch

from regard.models.autoencoder import Autoencoder
from regard.models.reconstructor import bernoulli_loss


def test_the_code_is_the_feature_of_one_position() -> None:
    model, x = Autoencoder(code=3, width=8, layers=1).build({"numbers": 5}), torch.rand(2, 5)
    features, keep = model.encode(x)
    assert keep.all()
    torch.testing.assert_close(features[:, 0], model.code(x))
    assert model.draw_codes(model.code(x)) is None


def test_the_loss_of_binary_inputs_is_their_surprise_in_nats() -> None:
    logits, x = torch.randn(3, 4, dtype=torch.float64), torch.tensor([0.0, 1.0, 1.0, 0.3], dtype=torch.float64)
    p = logits.sigmoid()
    wanted = -(x * p.log() + (1 - x) * (1 - p).log()).sum(1)
    torch.testing.assert_close(bernoulli_loss(logits, x), wanted)

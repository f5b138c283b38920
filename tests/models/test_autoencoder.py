import torch

from regard.models.autoencoder import Autoencoder

SIZES = {"numbers": 6}
X = torch.rand(4, 6, generator=torch.Generator().manual_seed(1))


def test_losses_are_those_of_the_formulas() -> None:
    model = (
        Autoencoder(code=3, width=8, likelihood="gaussian", sparsity=0.5, code_activation="relu").build(SIZES).eval()
    )
    codes = model.code(X)
    assert (codes >= 0).all()
    found = model.losses(X)
    again = 0.5 * ((model.decode(codes) - X) ** 2).sum(1)
    torch.testing.assert_close(found["reconstruction"], again)
    torch.testing.assert_close(found["loss"], again + 0.5 * codes.sum(1))
    binary = Autoencoder(code=3, width=8).build(SIZES).eval()
    p = binary.decode(binary.code(X))
    torch.testing.assert_close(binary.losses(X)["loss"], -(X * p.log() + (1 - X) * (1 - p).log()).sum(1))


def test_noise_is_for_training_alone() -> None:
    torch.manual_seed(1)
    many = torch.ones(50, 6)
    masked = Autoencoder.preset("denoising", amount=0.25).build(SIZES)
    share = (masked.corrupted(many) == 0).float().mean()
    assert 0.15 < share < 0.35
    blurred = Autoencoder(corruption="gaussian", amount=2.0).build(SIZES).corrupted(many) - many
    assert 1.6 < blurred.std() < 2.4
    assert torch.equal(masked.eval().corrupted(many), many)

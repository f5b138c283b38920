import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.decoding.code_model import CodeModel
from regard.models.autoencoder import Autoencoder
from regard.models.vae import Vae

INPUTS = np.random.default_rng(1).random((5, 3, 2)).astype(np.float32)


@pytest.fixture
def opened() -> CodeModel:
    torch.manual_seed(1)
    return CodeModel(Vae(code=2, width=8).build({"numbers": 6}), (3, 2))


def test_codes_reconstructions_samples_and_walks(opened: CodeModel) -> None:
    codes = opened.embed(INPUTS)
    rows = torch.from_numpy(INPUTS.reshape(5, 6))
    np.testing.assert_allclose(codes, opened.model.code(rows).detach(), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(opened.embed(INPUTS, normalize=True), axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        opened.reconstruct(INPUTS), opened.model.decode(torch.from_numpy(codes)).detach(), atol=1e-6
    )
    assert opened.sample(4).shape == (4, 6)
    walks = opened.traverse(INPUTS[0], steps=3)
    assert walks.shape == (2, 3, 6)
    middle = torch.tensor([[0.0, float(codes[0, 1])]])
    np.testing.assert_allclose(walks[0, 1], opened.model.decode(middle)[0].detach(), atol=1e-6)
    way = opened.between(INPUTS[0], INPUTS[4], steps=5)
    np.testing.assert_allclose(way[[0, -1]], opened.reconstruct(INPUTS[[0, 4]]), atol=1e-6)
    half = torch.from_numpy((codes[:1] + codes[4:5]) / 2)
    np.testing.assert_allclose(way[2:3], opened.model.decode(half).detach(), atol=1e-6)
    told: list[int] = []
    assert opened.bound(INPUTS, 20, told.append) == opened.bound(INPUTS, 20) < 0
    assert told == [5]
    assert opened.losses(INPUTS)["elbo"] == pytest.approx(float(opened.model.losses(rows)["elbo"].mean()), abs=1e-4)


def test_bytes_are_pixels(opened: CodeModel) -> None:
    pixels = (INPUTS * 255).astype(np.uint8)
    np.testing.assert_allclose(opened.embed(pixels), opened.embed(pixels / np.float32(255)), atol=1e-6)


def test_mistakes_are_one_sentence(opened: CodeModel) -> None:
    with pytest.raises(UsageError, match=r"inputs must have the shape \[3, 2\], but have \[2, 2\]"):
        opened.embed(INPUTS[:, :2])
    with pytest.raises(UsageError, match="there is nothing to embed"):
        opened.embed(INPUTS[:0])
    with pytest.raises(RegardError, match="some codes hold NaN or infinity"):
        opened.embed(np.full((1, 3, 2), np.nan, np.float32))
    plain = CodeModel(Autoencoder(code=2, width=4).build({"numbers": 6}), (3, 2))
    with pytest.raises(UsageError, match="has no prior to draw codes from; a vae has"):
        plain.sample(2)
    with pytest.raises(UsageError, match="has no bound on the likelihood; a vae has"):
        plain.bound(INPUTS)

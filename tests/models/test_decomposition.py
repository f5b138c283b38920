"""Against scikit-learn's own transforms."""

import sys

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA, FastICA, sparse_encode

from regard.base.errors import ConfigError, RegardError
from regard.models.decomposition import Decomposition, DecompositionModel, sparse_codes

DRAW = np.random.default_rng(1)
ROWS = DRAW.laplace(size=(150, 4)) @ DRAW.normal(size=(4, 7)) + 0.05 * DRAW.normal(size=(150, 7)) + 1.0
X = torch.from_numpy(ROWS)


def fitted(**settings: object) -> DecompositionModel:
    model = Decomposition(**settings).build({"numbers": 7}).double()  # type: ignore[arg-type]
    model.fit(X)
    return model


def test_pca_is_scikit_learns() -> None:
    model, other = fitted(code=3), PCA(3, random_state=1).fit(ROWS)
    np.testing.assert_allclose(model.code(X).detach(), other.transform(ROWS), atol=1e-9)
    np.testing.assert_allclose(model.decode(model.code(X)).detach(), other.inverse_transform(other.transform(ROWS)))


def test_ica_is_scikit_learns() -> None:
    model, other = fitted(method="ica", code=4), FastICA(4, random_state=1, whiten="unit-variance", max_iter=500)
    np.testing.assert_allclose(model.code(X).detach(), other.fit_transform(ROWS), atol=1e-9)
    assert float(model.losses(X)["reconstruction"].mean()) < 0.05


@pytest.mark.parametrize("method", ["dictionary", "sparse"])
def test_sparse_codes_are_as_good_as_scikit_learns(method: str) -> None:
    """The same least value of ½ |x - z D|² + α |z|₁."""
    model = fitted(method=method, code=9, penalty=0.7, iterations=300)
    wanted = sparse_encode(
        ROWS - ROWS.mean(0), model.outward.detach().numpy(), algorithm="lasso_cd", alpha=0.7, max_iter=5000
    )
    codes = model.code(X).detach().numpy()

    def value(z: np.ndarray) -> np.ndarray:
        away = ROWS - ROWS.mean(0) - z @ model.outward.detach().numpy()
        return 0.5 * (away**2).sum(1) + 0.7 * np.abs(z).sum(1)

    np.testing.assert_allclose(value(codes), value(wanted), rtol=1e-3)
    np.testing.assert_allclose(model.losses(X)["loss"].detach(), value(codes))
    assert (codes == 0).mean() > 0.2


def test_a_large_penalty_leaves_nothing() -> None:
    assert not sparse_codes(X, torch.randn(5, 7).double(), 1e6, 10).any()


def test_mistakes_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="code must be at most 7 for 150 examples of 7 numbers, but is 8"):
        fitted(code=8)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(RegardError, match="decomposition: it is computed by scikit-learn: pip install"):
        fitted(code=2)

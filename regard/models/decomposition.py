"""Linear codes that scikit-learn computes: PCA, ICA, dictionary learning and sparse coding, as encoders like any other.

    pca          z = (x - m) Wᵀ, W the directions of most variance, orthonormal
    ica          z = (x - m) Wᵀ, W such that the numbers of a code are as independent as can be (FastICA)
    dictionary   z = argmin ½ |x - m - z D|² + α |z|₁, where D is learned along
    sparse       the same with a given D: examples of the training data, of length 1

Sparse codes are found by FISTA (Beck and Teboulle, 2009). There are no training steps: `fit` computes the weights from
the data. Pearson, 1901; Hyvärinen and Oja, 2000; Mairal et al., 2009; Olshausen and Field, 1996.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.base.errors import ConfigError, RegardError, check_at_least
from regard.base.extras import install_hint
from regard.models.model import Design, weights_in
from regard.models.reconstructor import Reconstructor

Method = Literal["pca", "ica", "dictionary", "sparse"]
_SPARSE = ("dictionary", "sparse")


@dataclass(frozen=True, kw_only=True)
class Decomposition(Design):
    """Settings of a linear code."""

    method: Method = "pca"
    """pca, ica, dictionary (learned), or sparse (the dictionary is made of examples)"""
    code: int = 32
    """the width of the code"""
    penalty: float = 1.0
    """α of sparse codes: the larger, the more numbers of a code are 0"""
    iterations: int = 100
    """the steps of FISTA that find a sparse code"""
    seed: int = 1
    """decides where scikit-learn's algorithms start, and which examples make up a dictionary"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {name: {"method": name} for name in ("ica", "dictionary", "sparse")}
    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("decomposition", 0, penalty=self.penalty)

    def build(self, sizes: Mapping[str, int]) -> "DecompositionModel":
        return DecompositionModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model)


class DecompositionModel(Reconstructor):
    """m in `mean`, W in `inward` (of sparse codes there is none), and the dictionary, or its like, in `outward`."""

    def __init__(self, design: Decomposition, numbers: int) -> None:
        super().__init__()
        self.design = design
        self.mean = nn.Parameter(torch.zeros(numbers))
        self.outward = nn.Parameter(torch.randn(design.code, numbers) * numbers**-0.5)
        sparse = design.method in _SPARSE
        self.inward = None if sparse else nn.Parameter(self.outward.detach().clone())

    def code(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch code"]:
        centered = inputs - self.mean
        if self.inward is not None:
            return centered @ self.inward.T
        return sparse_codes(centered, self.outward, self.design.penalty, self.design.iterations)

    def decode(self, codes: Float[Tensor, "batch code"]) -> Float[Tensor, "batch numbers"]:
        return codes @ self.outward + self.mean

    def losses(self, inputs: Float[Tensor, "batch numbers"], progress: float = 1.0) -> Mapping[str, Tensor]:
        """Half the squared error, and of sparse codes their penalty."""
        codes = self.code(inputs)
        again = 0.5 * ((self.decode(codes) - inputs) ** 2).sum(1)
        penalty = codes.abs().sum(1)
        alpha = self.design.penalty if self.inward is None else 0.0
        return {"loss": again + alpha * penalty, "reconstruction": again, "penalty": penalty}

    def fit(self, inputs: Float[Tensor, "examples numbers"]) -> None:
        """Compute the weights from all training examples, by scikit-learn."""
        design, rows = self.design, inputs.double().cpu().numpy()
        examples, numbers = rows.shape
        most = min(examples, numbers) if design.method in ("pca", "ica") else examples
        if design.code > most:
            raise ConfigError(
                f"decomposition: code must be at most {most} for {examples} examples of {numbers} numbers, "
                f"but is {design.code}"
            )
        mean, inward, outward = _computed(design, rows)
        with torch.no_grad():
            for weight, value in ((self.mean, mean), (self.inward, inward), (self.outward, outward)):
                if weight is not None:
                    weight.copy_(torch.from_numpy(np.ascontiguousarray(value)))


def _computed(design: Decomposition, rows: Any) -> tuple[Any, Any, Any]:
    """Mean, matrix to the code and matrix back."""
    try:
        from sklearn import decomposition
    except ImportError as error:
        raise RegardError(f"decomposition: it is computed by scikit-learn: {install_hint('represent')}") from error
    mean = rows.mean(0)
    if design.method == "pca":
        found = decomposition.PCA(design.code, random_state=design.seed).fit(rows)
        return found.mean_, found.components_, found.components_
    if design.method == "ica":
        found = decomposition.FastICA(design.code, random_state=design.seed, whiten="unit-variance", max_iter=500)
        found.fit(rows)
        return found.mean_, found.components_, found.mixing_.T
    if design.method == "dictionary":
        learner = decomposition.MiniBatchDictionaryLearning(
            design.code, alpha=design.penalty, random_state=design.seed, transform_algorithm="lasso_cd"
        )
        return mean, None, learner.fit(rows - mean).components_
    chosen = np.random.default_rng(design.seed).permutation(len(rows))[: design.code]
    atoms = rows[chosen] - mean
    return mean, None, atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-12)


def sparse_codes(
    inputs: Float[Tensor, "batch numbers"], dictionary: Float[Tensor, "code numbers"], penalty: float, steps: int
) -> Float[Tensor, "batch code"]:
    """argmin over z of ½ |x - z D|² + penalty · |z|₁, by FISTA; an iteration that needs all its digits."""
    with torch.autocast(inputs.device.type, enabled=False):
        return _fista(inputs, dictionary, penalty, steps)


def _fista(inputs: Tensor, dictionary: Tensor, penalty: float, steps: int) -> Tensor:
    gram, shared = dictionary @ dictionary.T, inputs @ dictionary.T
    rate = 1 / torch.linalg.matrix_norm(gram.detach(), 2).clamp(min=1e-12)
    codes, ahead, momentum = torch.zeros_like(shared), torch.zeros_like(shared), 1.0
    for _ in range(steps):
        moved = ahead - rate * (ahead @ gram - shared)
        after = moved.sign() * (moved.abs() - rate * penalty).clamp(min=0)
        faster = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = after + (momentum - 1) / faster * (after - codes)
        codes, momentum = after, faster
    return codes

"""Codes with known answers: the factors themselves, a rotation of them, noise; and formulas by loops."""

from itertools import product
from math import log

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.metrics.disentanglement import dci, factor_vae_score, mig, mutual_information, sap

FACTORS = np.array(list(product(range(3), range(4), range(5))) * 4, dtype=np.int64)
UNIT = (FACTORS - FACTORS.mean(0)) / FACTORS.std(0)
random = np.random.default_rng(6)
ROTATED = UNIT @ np.linalg.qr(random.standard_normal((3, 3)))[0]
NOISE = random.standard_normal(UNIT.shape)


def test_mutual_information_by_a_loop() -> None:
    codes = ROTATED[:, :1]
    edges = np.linspace(codes.min(), codes.max(), 21)
    bins = [max(at for at in range(20) if value >= edges[at]) for value in codes[:, 0]]
    expected = 0.0
    for one in set(bins):
        for value in range(3):
            both = np.mean([b == one and f == value for b, f in zip(bins, FACTORS[:, 0], strict=True)])
            if both:
                alone = np.mean([b == one for b in bins]) * np.mean(FACTORS[:, 0] == value)
                expected += both * log(both / alone)
    assert mutual_information(codes, FACTORS)[0, 0] == pytest.approx(expected)


def test_known_answers() -> None:
    assert mig(UNIT, FACTORS) == pytest.approx(1.0)
    assert mig(ROTATED, FACTORS) < 0.4
    assert mig(np.concatenate([UNIT, UNIT], 1), FACTORS) == pytest.approx(0.0)
    half = np.arange(len(UNIT)) % 2 == 0
    order = random.permutation(len(UNIT))
    codes, rotated, factors = UNIT[order], ROTATED[order], FACTORS[order]
    perfect = dci(codes[half], factors[half], codes[~half], factors[~half])
    assert perfect.disentanglement == pytest.approx(1.0, abs=1e-3)
    assert perfect.completeness == pytest.approx(1.0, abs=1e-3)
    assert perfect.informativeness == pytest.approx(1.0)
    mixed = dci(rotated[half], factors[half], rotated[~half], factors[~half])
    assert mixed.disentanglement < 0.5
    assert sap(codes[half], factors[half], codes[~half], factors[~half]) > sap(
        NOISE[half], factors[half], NOISE[~half], factors[~half]
    )
    assert factor_vae_score(UNIT, FACTORS, votes=100) == pytest.approx(1.0)
    assert factor_vae_score(NOISE, FACTORS, votes=100) < 0.6


def test_dead_numbers_do_not_vote() -> None:
    dead = np.concatenate([1e-3 * NOISE[:, :1], UNIT], 1)
    assert factor_vae_score(dead, FACTORS, votes=100) == pytest.approx(1.0)


@pytest.mark.parametrize(("factors", "words"), [
    (FACTORS[:5], "there are 5 rows of factors, but 240 codes"),
    (FACTORS[:, 0], "must be whole numbers"),
    (np.zeros_like(FACTORS), "factor 1 never varies"),
])  # fmt: skip
def test_factors_that_are_none(factors: np.ndarray, words: str) -> None:
    with pytest.raises(RegardError, match=words):
        mig(UNIT, factors)

import math

import torch

from regard.training.contrast_loss import nt_xent


def test_it_is_the_formula_by_a_loop() -> None:
    draw = torch.Generator().manual_seed(1)
    first, second = (torch.randn(4, 3, dtype=torch.float64, generator=draw) for _ in range(2))
    views = [*first, *second]
    total = found = 0.0
    for i, one in enumerate(views):
        cosines = [float(one @ other / (one.norm() * other.norm())) for other in views]
        other = (i + 4) % 8
        summed = sum(math.exp(cosine / 0.3) for k, cosine in enumerate(cosines) if k != i)
        total -= math.log(math.exp(cosines[other] / 0.3) / summed)
        found += other == max((k for k in range(8) if k != i), key=lambda k: cosines[k])
    loss, right = nt_xent(first, second, 0.3)
    assert math.isclose(float(loss), total / 2, rel_tol=1e-12)
    assert float(right) == found / 2


def test_equal_views_apart_from_others_are_found() -> None:
    loss, right = nt_xent(torch.eye(5), torch.eye(5), 0.05)
    assert float(right) == 5
    assert float(loss) < 1e-6

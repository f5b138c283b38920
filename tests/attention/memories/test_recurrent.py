import numpy as np
import pytest
import torch

from regard.attention.memories.recurrent import Recurrent
from regard.attention.normalizers.ratio import Ratio
from regard.attention.normalizers.softmax import Softmax
from regard.attention.reading import Reading
from regard.attention.scores.dot import Dot
from regard.attention.scores.kernel import Kernel
from regard.base.errors import CombinationError, UsageError

READING = Reading(Kernel(), Ratio())


def test_is_the_recurrence_of_the_paper() -> None:
    query, key, value = (torch.randn(1, 1, 5, 3, dtype=torch.float64) for _ in range(3))

    def lift(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x + 1, np.exp(x))

    memory, state, total = Recurrent().start(READING), np.zeros((3, 3)), np.zeros(3)
    for step in range(5):
        here = slice(step, step + 1)
        memory = memory.extend(key[:, :, here], value[:, :, here])
        q, k, v = (side[0, 0, step].numpy() for side in (query, key, value))
        state, total = state + np.outer(lift(k), v), total + lift(k)
        output = memory.read(READING, query[:, :, here], torch.tensor([step]))
        np.testing.assert_allclose(output[0, 0, 0].numpy(), lift(q) @ state / (lift(q) @ total), rtol=1e-12)


def test_stays_the_same_size() -> None:
    memory = Recurrent().start(READING)
    for length in (1, 50, 3):
        memory = memory.extend(torch.randn(2, 3, length, 4), torch.randn(2, 3, length, 5))
        assert memory.state.shape == (2, 3, 4, 5)
        assert memory.total.shape == (2, 3, 4, 1)
    assert memory.length == 54


def test_needs_features_and_their_ratio() -> None:
    for score, normalizer in ((Dot(), Softmax()), (Kernel(), Softmax())):
        names = f"{type(score).__name__} with {type(normalizer).__name__}"
        with pytest.raises(CombinationError, match=f"recurrent memory: needs a score .*Kernel with Ratio, not {names}"):
            Recurrent().start(Reading(score, normalizer))


def test_is_started_before_it_is_written_to() -> None:
    with pytest.raises(UsageError, match="Recurrent"):
        Recurrent().extend(torch.randn(1, 1, 1, 2), torch.randn(1, 1, 1, 2))

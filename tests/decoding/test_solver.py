import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.puzzles.recall import Recall
from regard.decoding.solver import Solver
from regard.models.bert import Bert
from regard.models.headed import Headed


class Knowing(Headed):
    """Knows the answers."""

    def __init__(self, keys: int) -> None:
        super().__init__()
        self.keys, self.weight = keys, torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        places = (tokens[:, :-1] == tokens[:, -1:]).int().argmax(1) + 1
        answers = tokens.gather(1, places[:, None])[:, 0] - 2 - self.keys
        return torch.nn.functional.one_hot(answers, self.keys).float()


def test_accuracy_counts_right_answers_at_any_difficulty() -> None:
    solver = Solver(Knowing(16), Recall())
    assert solver.accuracy(100) == solver.accuracy(70, length=200, pairs=12) == 1.0
    ignorant = Solver(Bert(layers=1, width=8, heads=1).build({"text": 34, "classes": 16}), Recall())
    assert ignorant.accuracy(100) < 0.5
    with pytest.raises(ConfigError, match="other symbols or answers"):
        solver.accuracy(keys=20)

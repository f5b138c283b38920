"""A model that solves puzzles, and how well it does so on others than it learned from."""

from typing import Any

import torch

from regard.base.config import from_dict
from regard.base.errors import ConfigError
from regard.data.puzzle_rows import UNASKED, Puzzle
from regard.decoding.scorer import evaluating
from regard.models.headed import Headed


class Solver:
    """A trained model with its puzzle.

    >>> load("runs/recall", expect=Solver).accuracy(length=256)
    """

    def __init__(self, model: Headed, puzzle: Puzzle) -> None:
        self.model, self.puzzle = model, puzzle

    def accuracy(self, examples: int = 256, seed: int = 9, **dials: Any) -> float:
        """The share of right answers on new examples, with some dials turned."""
        table = {**vars(self.puzzle), **dials}
        tried: Puzzle = from_dict(table, type(self.puzzle), "puzzle")
        if (tried.symbols, tried.answers) != (self.puzzle.symbols, self.puzzle.answers):
            raise ConfigError("puzzle: the model was trained for other symbols or answers; turn other dials")
        right = count = 0
        device = next(self.model.parameters()).device
        for start in range(0, examples, 64):
            item = tried.batch(min(64, examples - start), seed, start).to(device)
            with evaluating([self.model]):
                found = self.model(item.tokens, item.lengths).argmax(-1)
            asked = item.wanted != UNASKED
            right += int((found[asked] == item.wanted[asked]).sum())
            count += int(asked.sum())
        return right / max(1, count)

    def answers(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The most likely answer of each example, or at each position."""
        with evaluating([self.model]):
            best: torch.Tensor = self.model(tokens, lengths).argmax(-1)
        return best

"""Greedy search: the likeliest token at every step."""

from dataclasses import dataclass

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_way import walk
from regard.decoding.strategy import SearchTask, Strategy, check_numbers


@dataclass(frozen=True, kw_only=True)
class Greedy(Strategy):
    """y_t = argmax p(y | y_1 … y_(t-1), source): the fastest strategy; a beam search of size 1."""

    def run(self, task: SearchTask) -> list[list[Hypothesis]]:
        found = task.compiled(size=1, n_best=1, length_penalty=0.0, enough=1)
        if found is not None:
            return check_numbers(found)
        return walk(task, lambda offer, _, __: offer.top(1)[1][:, 0])

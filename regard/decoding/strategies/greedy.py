"""Greedy search: the likeliest token at every step."""

from dataclasses import dataclass

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_way import walk
from regard.decoding.strategy import SearchTask, Strategy


@dataclass(frozen=True, kw_only=True)
class Greedy(Strategy):
    """y_t = argmax p(y | y_1 … y_(t-1), source): the fastest strategy; a beam search of size 1."""

    def run(self, task: SearchTask) -> list[list[Hypothesis]]:
        return walk(task, lambda offer, _, __: offer.top(1)[1][:, 0])

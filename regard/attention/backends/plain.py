"""The definition itself: it supports every combination of parts, with memory for every pair."""

from dataclasses import dataclass
from typing import ClassVar

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call
from regard.attention.core import define


@dataclass(frozen=True)
class Plain(Backend):
    """`core.define`, as it stands; what all other backends are compared with."""

    rank: ClassVar[int] = 30

    def __call__(self, call: Call) -> Attended:
        return define(call)

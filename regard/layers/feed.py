"""A feed is the feed-forward branch of a layer, which works on each position by itself; one file each in `feeds/`.

Feed(…) is a value: the branch's settings. `build` makes the module, which maps [*batch, width] to
[*batch, output_width].
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

from torch import nn

from regard.base.catalog import Catalog
from regard.base.errors import check_at_least, check_one_of
from regard.layers.activation import ACTIVATIONS, Activation
from regard.layers.dropout import check_share

FEEDS = Catalog("regard.layers.feeds")


class Feed(ABC):
    """Settings of a feed-forward branch."""

    @abstractmethod
    def build(self, width: int, output_width: int | None = None) -> nn.Module:
        """Build the branch for inputs of `width`; outputs have the same width unless `output_width` is given."""

    @abstractmethod
    def filled(self, **defaults: Any) -> Self:
        """A copy with the given defaults for hidden, activation, dropout and bias, where the feed leaves them open."""


@dataclass(frozen=True)
class HiddenFeed(Feed):
    """A feed with one hidden layer."""

    hidden: int | None = None
    """the width of the hidden layer; by default the model's `feedforward`, or else four times the input's"""
    activation: Activation | None = None
    """by default the model's"""
    dropout: float | None = None
    """applies to the hidden layer; by default the model's `feedforward_dropout`"""
    bias: bool | None = None
    """whether its linear layers have a bias; by default as the model's `linear_bias` says, else they have"""

    def __post_init__(self) -> None:
        where = type(self).__name__.lower()
        check_at_least(where, 1, hidden=1 if self.hidden is None else self.hidden)
        check_share(f"{where}: dropout", self.dropout or 0.0)
        if self.activation is not None:
            check_one_of(where, ACTIVATIONS, activation=self.activation)

    def filled(self, **defaults: Any) -> Self:
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

"""A soft dictionary (associative memory): a dict whose keys need not match, only resemble.

    soft[query] = Σ_i normalizer(score(c(query) W_Q, c(key_i) W_K)) value_i W_V

c is the identity, or a network that makes contexts: what is stored and asked for is then compared by its context.
With a hard normalizer it is a Python mapping: a key reads what was last written for it, and a missing one is a
KeyError. With any other it answers every query with a weighted mean. The result is differentiable with respect to
query, keys, values and projections.
"""

from collections.abc import Iterator, MutableMapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.backend import Attended
from regard.attention.core import attend
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.part import Sizes
from regard.attention.score import SCORES, Score
from regard.base.errors import ShapeError, UsageError


class SoftDict(nn.Module, MutableMapping[Any, Tensor]):
    """Stores pairs of vectors and looks them up by attention; the pairs are saved with the module.

    >>> capitals = SoftDict(width=2, value_width=1)
    >>> capitals[[1.0, 0.0]] = [5.0]
    >>> capitals[[0.0, 1.0]] = [7.0]
    >>> between = capitals[[0.5, 0.5]]

    Keys and values are vectors, or anything that `torch.as_tensor` makes one of; a number counts as a vector of
    width 1. With `projected`, W_Q, W_K and W_V are learned, starting as the identity: plain lookup to begin with.
    `context` is any network that takes vectors [rows, width], such as `Perceptron(2, 16, 8)`, and is learned with it.
    """

    keys_written: Tensor
    values_written: Tensor

    def __init__(
        self,
        width: int,
        value_width: int | None = None,
        *,
        score: Score | str = "distance",
        normalizer: Normalizer | str = "softmax",
        projected: bool = False,
        context: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.width, self.value_width = width, width if value_width is None else value_width
        self.context = context
        inner = width if context is None else _output_width(context, width)
        sizes = Sizes(
            width=inner, heads=1, key_heads=1, query_width=inner, key_width=inner, value_width=self.value_width
        )
        self.score: Score = SCORES.make(score, "soft_dict.score").build(sizes)
        self.normalizer: Normalizer = NORMALIZERS.make(normalizer, "soft_dict.normalizer")
        self.projections = nn.ModuleDict()
        if projected:
            for name, size in (("query", inner), ("key", inner), ("value", self.value_width)):
                projection = nn.Linear(size, size, bias=False)
                nn.init.eye_(projection.weight)
                self.projections[name] = projection
        self.register_buffer("keys_written", torch.empty(0, width))
        self.register_buffer("values_written", torch.empty(0, self.value_width))

    def write(self, keys: Float[Tensor, "pairs width"], values: Float[Tensor, "pairs value_width"]) -> None:
        """Append pairs; a key that is there already then counts twice."""
        if keys.shape != (len(keys), self.width) or values.shape != (len(keys), self.value_width):
            raise ShapeError(
                f"soft_dict: write takes keys [pairs, {self.width}] and values [pairs, {self.value_width}], "
                f"but got {list(keys.shape)} and {list(values.shape)}"
            )
        self.keys_written = torch.cat([self.keys_written.to(keys), keys])
        self.values_written = torch.cat([self.values_written.to(values), values])

    def look_up(self, queries: Float[Tensor, "queries width"]) -> Attended:
        """The output of each query, [queries, value width], and its attention weights, [queries, pairs]."""
        if not len(self):
            raise UsageError("soft_dict: nothing was written yet, so there is nothing to look up")
        asked, stored = self._contexts(queries), self._contexts(self.keys_written)
        sides = (("query", asked), ("key", stored), ("value", self.values_written))
        query, key, value = (self._projected(name, side)[None, None] for name, side in sides)
        found = attend(query, key, value, score=self.score, normalizer=self.normalizer, weights=True)
        weights = found.weights
        return Attended(found.output[0, 0], None if weights is None else weights[0, 0])

    def __getitem__(self, query: Any) -> Tensor:
        vector = self._vector(query, self.width, "query")
        if not len(self):
            raise KeyError(query)
        if not self.normalizer.picks_one:
            return self.look_up(vector[None]).output[0]
        there = self._places(vector)
        if not there.any():
            raise KeyError(query)
        return self._projected("value", self.values_written[there][-1])

    def __setitem__(self, key: Any, value: Any) -> None:
        vector, worth = self._vector(key, self.width, "key"), self._vector(value, self.value_width, "value")
        there = self._places(vector)
        if there.any():
            self.values_written = torch.where(there[:, None], worth, self.values_written)
        else:
            self.write(vector[None], worth[None])

    def __delitem__(self, key: Any) -> None:
        there = self._places(self._vector(key, self.width, "key"))
        if not there.any():
            raise KeyError(key)
        self.keys_written, self.values_written = self.keys_written[~there], self.values_written[~there]

    def __contains__(self, key: object) -> bool:
        try:
            return bool(self._places(self._vector(key, self.width, "key")).any())
        except (ShapeError, TypeError, ValueError):
            return False

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.keys_written.unbind())

    def __len__(self) -> int:
        return len(self.keys_written)

    __hash__ = nn.Module.__hash__
    __eq__ = nn.Module.__eq__

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name in ("keys_written", "values_written"):
            if prefix + name in state_dict:  # as many pairs as were saved
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        """The settings in the module's repr."""
        return f"{len(self)} pairs, width={self.width}, value_width={self.value_width}, {self.normalizer}"

    def _contexts(self, vectors: Tensor) -> Tensor:
        return vectors if self.context is None else self.context(vectors)

    def _projected(self, name: str, vectors: Tensor) -> Tensor:
        return self.projections[name](vectors) if name in self.projections else vectors

    def _places(self, key: Tensor) -> Tensor:
        return (self.keys_written == key.to(self.keys_written)).all(-1)

    def _vector(self, value: Any, width: int, role: str) -> Tensor:
        vector = torch.as_tensor(value)
        if len(self) or not vector.is_floating_point():  # the first pair decides the precision
            vector = vector.to(self.keys_written)
        vector = vector.reshape(1) if vector.dim() == 0 else vector
        if vector.shape != (width,):
            raise ShapeError(f"soft_dict: a {role} must be a vector of width {width}, but is {list(vector.shape)}")
        return vector


def _output_width(context: nn.Module, width: int) -> int:
    """The width of the contexts that a network makes."""
    weight = next(context.parameters(), torch.empty(0))
    made = context(torch.zeros(1, width, dtype=weight.dtype, device=weight.device))
    if made.dim() != 2 or len(made) != 1:
        raise ShapeError(f"soft_dict: the context of a row must be a row, but of [1, {width}] it is {list(made.shape)}")
    return int(made.shape[1])

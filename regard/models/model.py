"""What every model offers: to training, hidden states all at once; to decoding, one step at a time.

A design (a frozen dataclass, one file each) says what a model is made of; `build` makes it for the sizes of its data.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.memory import Memory
from regard.base.catalog import Catalog
from regard.base.config import from_dict
from regard.base.errors import ConfigError, ShapeError, UsageError, check_at_least, check_one_of, unknown
from regard.layers.dropout import check_share
from regard.layers.feeds.experts import idle_weights
from regard.layers.mixer import MixerState
from regard.layers.output import LinearOutput

MODELS = Catalog("regard.models", besides=("model", "layered"))
Tie = Literal["none", "target", "all"]
"""which embeddings and output weights are one matrix"""


class Design(ABC):
    """The settings of a model; its file name is its name in a config."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """named settings, such as the sizes that a paper published"""
    needs: ClassVar[tuple[str, ...]] = ("source", "target")
    """the sizes of the data that it is built for: of the vocabularies of both sides, or of the one of a `text`"""

    def __post_init__(self) -> None:
        """Choices are among those offered, parts are made from their names, shares are shares."""
        where = self.where
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            value = getattr(self, name)
            if get_origin(hint) is Literal:
                check_one_of(where, get_args(hint), **{name: value})
            for catalog in _catalogs(hint):
                object.__setattr__(self, name, catalog.make(value, f"{where}.{name}"))
            if name.endswith("dropout"):
                check_share(f"{where}: {name}", value)
            if hint is int:
                check_at_least(where, 1, **{name: value})

    @property
    def where(self) -> str:
        """The design's name in a config, with which errors begin."""
        return type(self).__module__.rpartition(".")[2]

    @classmethod
    def migrate(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings of a file, in today's words where an older version wrote others."""
        return table

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The design with the named settings, some of them changed."""
        if name not in cls.presets:
            raise ConfigError(unknown(cls.__name__, name, cls.presets, "presets"))
        return from_dict(_merged(cls.presets[name], changes), cls)

    @abstractmethod
    def build(self, sizes: Mapping[str, int]) -> "Model":
        """The model, with fresh weights, for data of these sizes, such as its vocabularies; see `needs`."""

    def sizes_from(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The sizes that the design needs, in the order of `needs`, out of those given."""
        if not sizes.keys() >= set(self.needs):
            listed, given = ", ".join(self.needs), ", ".join(sizes) or "none"
            raise ConfigError(f"{self.where}: it needs the sizes of: {listed}; but was given those of: {given}")
        return tuple(sizes[name] for name in self.needs)

    @abstractmethod
    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        """How often a built model multiplies for one source token and for one target token, forward alone.

        `length` is that of a typical sentence, which decides how many pairs attention looks at.
        """

    def training_flops(
        self,
        source_tokens: float,
        target_tokens: float,
        sizes: Mapping[str, int],
        *,
        length: float = 30.0,
        utilization: float = 1.0,
    ) -> float:
        """The floating-point operations that training on so many tokens takes, forward and backward.

        `length` is that of a typical sentence. Many papers count time × peak speed of the machine instead of the
        operations done; a `utilization` below 1 gives that figure for a machine that is kept so busy.

            flops = 6 · Σ multiplications · tokens / utilization: a product and a sum, once forward and twice backward
        """
        with torch.device("meta"):
            model = self.build(sizes)
        of_source, of_target = self.multiplications(model, length)
        return 6 * (of_source * source_tokens + of_target * target_tokens) / utilization


@dataclass(frozen=True, kw_only=True)
class State(ABC):
    """What a decoder carries from step to step. A value: a step makes a new one.

    Its rows are hypotheses: `beams` neighboring rows for each sentence, which share what was made of the source.
    """

    sentences: int
    beams: int = 1

    @abstractmethod
    def pick_rows(self, rows: Int[Tensor, "rows"]) -> Self:
        """What belongs to each row, picked anew."""

    @abstractmethod
    def pick_sentences(self, sentences: Int[Tensor, "kept"]) -> Self:
        """What the rows of a sentence share, picked anew."""

    def spread(self, beams: int) -> Self:
        """The state with every sentence's one row repeated `beams` times; the source is not copied."""
        if self.beams != 1:
            raise UsageError(f"state: only a state with 1 row a sentence can be spread, but this one has {self.beams}")
        rows = torch.arange(self.sentences).repeat_interleave(beams)
        return replace(self.pick_rows(rows), beams=beams)

    def reorder(self, rows: Int[Tensor, "rows"]) -> Self:
        """The state with each row taken from another row of the same sentence."""
        return self.pick_rows(rows)

    def keep(self, sentences: Int[Tensor, "kept"]) -> Self:
        """The state of some of the sentences alone, all their rows with them."""
        rows = sentences[:, None] * self.beams + torch.arange(self.beams, device=sentences.device)
        return replace(self.pick_rows(rows.flatten()).pick_sentences(sentences), sentences=len(sentences))


@dataclass(frozen=True, kw_only=True)
class LayerState(State):
    """What layers remember: of the target, with an entry a row; of the source, with one a sentence."""

    length: int = 0
    memories: tuple[MixerState, ...] = ()
    sources: tuple[Memory, ...] = ()

    def pick_rows(self, rows: Tensor) -> Self:
        return replace(self, memories=tuple(memory.reorder(rows) for memory in self.memories))

    def pick_sentences(self, sentences: Tensor) -> Self:
        return replace(self, sources=tuple(memory.reorder(sentences) for memory in self.sources))


class Model(nn.Module):
    """A model that predicts target tokens one after the other, from a source or from nothing."""

    has_source: ClassVar[bool] = True
    output: LinearOutput
    """hidden states to logits over the target vocabulary"""

    @abstractmethod
    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        """What `output` turns into logits, given the true tokens before each position (teacher forcing)."""

    def forward(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The logits of the token that follows each position."""
        logits: Tensor = self.output(self.hidden(source, source_lengths, target))
        return logits

    @abstractmethod
    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> State:
        """The state before the first token, one row a sentence; `rows` of them where there is no source."""

    @abstractmethod
    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], State]:
        """The logits of the token that follows, and the state after this one."""


def _catalogs(hint: Any) -> list[Catalog]:
    """The folder that a setting of this type is chosen from, if it is one."""
    return [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Catalog)]


def _merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the changes put in, also inside the tables it holds."""
    merged = dict(table)
    for name, change in changes.items():
        before = merged.get(name)
        both = isinstance(before, Mapping) and isinstance(change, Mapping) and "name" not in change
        merged[name] = _merged(before, change) if both and isinstance(before, Mapping) else change
    return merged


def given(source: Tensor | None, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """The source and its lengths, for a model that cannot do without."""
    if source is None or lengths is None:
        raise ShapeError("model: this model translates, so it needs a source and its lengths")
    return source, lengths


_Kind = TypeVar("_Kind", bound=State)


def fitting(state: State, kind: type[_Kind], token: Tensor) -> _Kind:
    """The state, if it is one of this model's and has a row for each token."""
    if not isinstance(state, kind):
        raise UsageError(f"model: this model goes on from a {kind.__name__}, but was given a {type(state).__name__}")
    if len(token) != state.sentences * state.beams:
        rows = f"{state.sentences} sentences of {state.beams} rows"
        raise ShapeError(f"model: the state has {rows}, but {len(token)} tokens were given")
    return state


def weights_in(*modules: nn.Module | None) -> int:
    """The entries of all matrices but embeddings: each takes one multiplication and one addition for a token.

    Of a mixture of experts, as many count as a token is sent to.
    """
    found = {
        weight
        for module in modules
        if module is not None
        for part in module.modules()
        if not isinstance(part, nn.Embedding)
        for weight in part.parameters(recurse=False)
        if weight.dim() > 1
    }
    idle = sum(idle_weights(module) for module in modules if module is not None)
    return sum(weight.numel() for weight in found) - round(idle)

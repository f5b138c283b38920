"""The interface of every model: all hidden states at once for training, one step at a time for decoding.

A design (a frozen dataclass, one file each) holds the model's settings; `build` makes it for the sizes of its data.
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
"""weight tying: which embeddings share one matrix with the output"""


class Design(ABC):
    """The settings of a model; its file name is its name in a config."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """named settings, such as the sizes of a paper"""
    needs: ClassVar[tuple[str, ...]] = ("source", "target")
    """the sizes that `build` needs: the vocabularies of source and target, or that of a `text`"""

    def __post_init__(self) -> None:
        """Check choices, counts and dropout rates, and make parts from their names."""
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
        """The design's name in a config; error messages begin with it."""
        return type(self).__module__.rpartition(".")[2]

    @classmethod
    def migrate(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Convert the settings of a file that an older version wrote."""
        return table

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The design with the named settings, some of them changed."""
        if name not in cls.presets:
            raise ConfigError(unknown(cls.__name__, name, cls.presets, "presets"))
        return from_dict(_merged(cls.presets[name], changes), cls)

    @abstractmethod
    def build(self, sizes: Mapping[str, int]) -> "Model":
        """Build the model with random weights for these sizes, such as those of its vocabularies; see `needs`."""

    def sizes_from(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Pick the sizes that the design needs, in the order of `needs`."""
        if not sizes.keys() >= set(self.needs):
            listed, given = ", ".join(self.needs), ", ".join(sizes) or "none"
            raise ConfigError(f"{self.where}: it needs the sizes of: {listed}; but was given those of: {given}")
        return tuple(sizes[name] for name in self.needs)

    @abstractmethod
    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        """The multiplications of a forward pass for one source token and for one target token.

        `length` is that of a typical sentence; it decides how many pairs attention computes.
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
        """The floating-point operations (FLOPs) of training on this many tokens, forward and backward.

        `length` is that of a typical sentence. Many papers report time × peak speed of the hardware instead of the
        operations done; a `utilization` below 1 gives that figure.

            flops = 6 · Σ multiplications · tokens / utilization: a product and a sum, once forward and twice backward
        """
        with torch.device("meta"):
            model = self.build(sizes)
        of_source, of_target = self.multiplications(model, length)
        return 6 * (of_source * source_tokens + of_target * target_tokens) / utilization


@dataclass(frozen=True, kw_only=True)
class State(ABC):
    """The state of a decoder between steps, such as its KV cache. It is a value: every step returns a new one.

    Its rows are hypotheses: `beams` neighboring rows per sentence, which share the encoded source.
    """

    sentences: int
    beams: int = 1

    @abstractmethod
    def pick_rows(self, rows: Int[Tensor, "rows"]) -> Self:
        """Select rows (hypotheses), in the given order."""

    @abstractmethod
    def pick_sentences(self, sentences: Int[Tensor, "kept"]) -> Self:
        """Select what the rows of a sentence share, in the given order."""

    def spread(self, beams: int) -> Self:
        """Repeat the one row of every sentence `beams` times; the source is not copied."""
        if self.beams != 1:
            raise UsageError(f"state: only a state with 1 row a sentence can be spread, but this one has {self.beams}")
        rows = torch.arange(self.sentences).repeat_interleave(beams)
        return replace(self.pick_rows(rows), beams=beams)

    def reorder(self, rows: Int[Tensor, "rows"]) -> Self:
        """Take each row from another row of the same sentence, as beam search does."""
        return self.pick_rows(rows)

    def keep(self, sentences: Int[Tensor, "kept"]) -> Self:
        """Keep only some of the sentences, with all their rows."""
        rows = sentences[:, None] * self.beams + torch.arange(self.beams, device=sentences.device)
        return replace(self.pick_rows(rows.flatten()).pick_sentences(sentences), sentences=len(sentences))


@dataclass(frozen=True, kw_only=True)
class LayerState(State):
    """The KV caches of the layers: of the target, with an entry per row; of the source, with one per sentence."""

    length: int = 0
    memories: tuple[MixerState, ...] = ()
    sources: tuple[Memory, ...] = ()

    def pick_rows(self, rows: Tensor) -> Self:
        return replace(self, memories=tuple(memory.reorder(rows) for memory in self.memories))

    def pick_sentences(self, sentences: Tensor) -> Self:
        return replace(self, sources=tuple(memory.reorder(sentences) for memory in self.sources))


class Model(nn.Module):
    """An autoregressive model: it predicts the next target token, with or without a source."""

    has_source: ClassVar[bool] = True
    output: LinearOutput
    """the output layer: from hidden states to logits over the target vocabulary"""

    @abstractmethod
    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        """The hidden states, which `output` turns into logits, given the true previous tokens (teacher forcing)."""

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
        """Encode the source; returns the state before the first token, with one row per sentence, or `rows` rows."""

    @abstractmethod
    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], State]:
        """Read one token per row; returns the logits of the next token and the new state."""


def _catalogs(hint: Any) -> list[Catalog]:
    """The catalog in a setting's type, if there is one."""
    return [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Catalog)]


def _merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the changes merged in, also inside nested tables."""
    merged = dict(table)
    for name, change in changes.items():
        before = merged.get(name)
        both = isinstance(before, Mapping) and isinstance(change, Mapping) and "name" not in change
        merged[name] = _merged(before, change) if both and isinstance(before, Mapping) else change
    return merged


def given(source: Tensor | None, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """Check that source and lengths are given."""
    if source is None or lengths is None:
        raise ShapeError("model: this model translates, so it needs a source and its lengths")
    return source, lengths


_Kind = TypeVar("_Kind", bound=State)


def fitting(state: State, kind: type[_Kind], token: Tensor) -> _Kind:
    """Check that the state is of this model's kind and has a row for each token."""
    if not isinstance(state, kind):
        raise UsageError(f"model: this model goes on from a {kind.__name__}, but was given a {type(state).__name__}")
    if len(token) != state.sentences * state.beams:
        rows = f"{state.sentences} sentences of {state.beams} rows"
        raise ShapeError(f"model: the state has {rows}, but {len(token)} tokens were given")
    return state


def weights_in(*modules: nn.Module | None) -> int:
    """The number of weights in all matrices but embeddings: each costs one multiplication and one addition per token.

    Of a mixture of experts, only those that a token is routed to count.
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

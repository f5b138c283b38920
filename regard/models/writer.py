"""Models that write tokens: all hidden states at once for training, one step at a time for decoding."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.memory import Memory
from regard.base.errors import ShapeError, UsageError
from regard.data.subwords.tokenizer import BOS, EOS
from regard.layers.mixer import MixerState
from regard.layers.output import LinearOutput, ScaledOutput
from regard.models.model import Encoder, Model

OutputBias = Literal["none", "learned", "fixed"]
"""the bias of the output layer; fixed numbers rule out tokens that an imported model does not have"""


@dataclass(frozen=True, kw_only=True)
class State(ABC):
    """The state of a decoder between steps, such as its KV cache. It is a value: every step returns a new one.

    Its rows are hypotheses: `beams` neighboring rows per sentence, which share the encoded source.
    """

    sentences: int
    beams: int = 1
    pointed: Any = None
    """what the output keeps of each sentence's source, if it copies words"""

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
        pointed = None if self.pointed is None else self.pointed.pick(sentences)
        kept = self.pick_rows(rows.flatten()).pick_sentences(sentences)
        return replace(kept, sentences=len(sentences), pointed=pointed)


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


class Writer(Model):
    """An autoregressive model: it predicts the next target token. It reads a source only if it is a `Transducer`."""

    output: LinearOutput
    """the output layer: from hidden states to logits over the target vocabulary"""
    first: int = EOS
    """the token that an output starts after, the same as in training. In running text every line starts after a `</s>`,
    that of the line before it, and so does the first."""

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


class Recalling(Writer):
    """A writer that recalls the segment of text before the one that it reads (segment recurrence)."""

    @abstractmethod
    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
        before: Int[Tensor, "batch context"] | None = None,
    ) -> Float[Tensor, "batch target width"]:
        """The hidden states; with the text `before` the target, which is only recalled and not learned from."""

    @abstractmethod
    def segment(
        self, tokens: Int[Tensor, "batch length"], memories: Sequence[Float[Tensor, "batch earlier width"]] = ()
    ) -> tuple[Float[Tensor, "batch length width"], tuple[Float[Tensor, "batch kept width"], ...]]:
        """The hidden states of a segment after others, and the memories for the next: each layer's last inputs."""

    @abstractmethod
    def remember_more(self, size: int) -> None:
        """Let each position see the last `size` positions, such as more than in training."""


class Transducer(Writer, Encoder):
    """A writer that reads a source first: the encoder-decoder models, such as those of translation."""

    first: int = BOS
    """a translation starts after `<s>`"""

    @abstractmethod
    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch source width"], Bool[Tensor, "batch source"]]:
        """The encoded source, and where it is not padding."""


def biased_output(width: int, vocabulary: int, bias: OutputBias, scale: float = 1.0) -> LinearOutput:
    """The output layer with the bias that a design asks for; hidden states are multiplied with `scale` before it."""
    if scale == 1:
        made = LinearOutput(width, vocabulary, bias=bias == "learned")
    else:
        made = ScaledOutput(width, vocabulary, bias=bias == "learned", scale=scale)
    if bias == "fixed":
        made.fix_bias()
    elif bias == "learned":
        nn.init.zeros_(made.bias)
    return made


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

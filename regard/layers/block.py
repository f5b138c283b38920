"""One Transformer layer: a mixer, cross-attention if there is a source, and a feed-forward, each with a residual.

    x ← join(x, mixer);  x ← join(x, cross(·, source));  x ← join(x, feed)

The parts are values: `mixer` is an `Attention` or one of `mixers/`, `feed` one of `feeds/`, and a `Residual` says how
they join the residual stream.
"""

from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.attention.multihead import Attention, MultiHead
from regard.layers.dropout import Dropout
from regard.layers.feed import Feed
from regard.layers.mixer import Mixer, MixerState, Mixing
from regard.layers.residual import Residual, Skip


class Block(nn.Module):
    """A Transformer layer, put together from values.

    >>> attention = Attention(heads=8, mask="causal")
    >>> block = Block(512, mixer=attention, feed=feeds.Gated(2048), residual=Residual(norm="rms"))
    >>> output = block(torch.randn(2, 10, 512))

    Its branches keep the width, except the last, which may change it to `output_width`.

    The mixer's weights and norm are named after the mixer's file, or `self_attention` where it is an `Attention`.
    """

    self_attention: MultiHead
    """the mixer, where it is attention"""

    def __init__(
        self,
        width: int,
        *,
        mixer: Attention | Mixer,
        cross: Attention | None = None,
        feed: Feed,
        residual: Residual = Residual(),  # noqa: B008 a frozen value
        source_width: int | None = None,
        output_width: int | None = None,
    ) -> None:
        super().__init__()
        self.output_width = width if output_width is None else output_width
        self.residual = residual
        self._mixer = "self_attention" if isinstance(mixer, Attention) else type(mixer).__module__.rpartition(".")[2]
        self.add_module(self._mixer, mixer.build(width))
        self.cross = None if cross is None else cross.build(width, width if source_width is None else source_width)
        self.feedforward: Any = feed.build(width, self.output_width)
        self.dropout, self.skip = Dropout(residual.dropout), Skip(residual.skip)
        self.shortcut = None if self.output_width == width else nn.Linear(width, self.output_width, bias=False)
        last = width if residual.place == "before" else self.output_width
        widths = {self._mixer: width} | ({} if cross is None else {"cross": width}) | {"feedforward": last}
        self.norms = nn.ModuleDict({name: residual.build(size) for name, size in widths.items()})
        gated = {} if residual.gate == "none" else {**widths, "feedforward": self.output_width}
        self.gates = nn.ModuleDict({name: residual.build_gate(size) for name, size in gated.items()})

    @property
    def mixer(self) -> Mixing:
        """The branch that mixes positions."""
        mixer: Mixing = getattr(self, self._mixer)
        return mixer

    @property
    def feed(self) -> nn.Module:
        """The feed-forward branch, which works on each position by itself."""
        branch: nn.Module = self.feedforward
        return branch

    def forward(
        self,
        x: Float[Tensor, "batch length width"],
        *,
        keep: Bool[Tensor, "..."] | Mask | None = None,
        source: Float[Tensor, "batch source source_width"] | None = None,
        source_keep: Bool[Tensor, "..."] | Mask | None = None,
        at: Int[Tensor, "*positions length"] | None = None,
    ) -> Float[Tensor, "batch length output_width"]:
        """The layer over whole sequences.

        `keep` masks the mixer's inputs and `source_keep` the source: most often a padding mask, but also a graph's
        edges. `at` are the position indices, by default 0, 1, 2, …
        """
        x = self._leave(self._mixer, x, self.mixer(self._enter(self._mixer, x), keep=keep, at=at))
        if self.cross is not None and source is not None:
            x = self._leave("cross", x, self.cross(self._enter("cross", x), source, keep=source_keep))
        return self._feed(x)

    def look(
        self,
        x: Float[Tensor, "batch length width"],
        inputs: Float[Tensor, "batch seen width"],
        *,
        keep: Bool[Tensor, "..."] | Mask | None = None,
        at: Int[Tensor, "*positions length"] | None = None,
        inputs_at: Int[Tensor, "*input_positions seen"] | None = None,
    ) -> Float[Tensor, "batch length output_width"]:
        """The layer over x, whose self-attention reads `inputs` of the layer: those of an earlier segment, and x.

        Dai et al., Transformer-XL, 2019, https://arxiv.org/abs/1901.02860
        """
        read = self._enter(self._mixer, inputs)
        change = self.self_attention(self._enter(self._mixer, x), read, keep=keep, at=at, source_at=inputs_at)
        return self._feed(self._leave(self._mixer, x, change))

    def advance(
        self,
        x: Float[Tensor, "rows length width"],
        memory: MixerState,
        source: Memory | None = None,
        sentences: int = 1,
    ) -> tuple[Float[Tensor, "rows length output_width"], MixerState]:
        """The next positions. The source holds `sentences`, each shared by neighboring rows (hypotheses)."""
        change, memory = self.mixer.advance(self._enter(self._mixer, x), memory)
        x = self._leave(self._mixer, x, change)
        if self.cross is not None and source is not None:
            x = self._leave("cross", x, self._read(self._enter("cross", x), source, sentences))
        return self._feed(x), memory

    def _read(self, x: Tensor, source: Memory, sentences: int) -> Tensor:
        """Cross-attention; the rows of a sentence query its one memory together, so that it is not copied."""
        if self.cross is None:
            return x
        return self.cross.read(x.reshape(sentences, -1, x.shape[-1]), source).reshape(x.shape)

    def _feed(self, x: Tensor) -> Tensor:
        change = self.feedforward(self._enter("feedforward", x))
        return self._leave("feedforward", x if self.shortcut is None else self.shortcut(x), change)

    def _enter(self, name: str, x: Tensor) -> Tensor:
        return self.norms[name](x) if self.residual.place == "before" else x

    def _leave(self, name: str, x: Tensor, change: Tensor) -> Tensor:
        x = x if self.residual.scale == 1 else x * self.residual.scale
        change = self.gates[name](change) if name in self.gates else change
        x = x + self.skip(self.dropout(change))
        return x if self.residual.place == "before" else self.norms[name](x)

"""One layer of a Transformer: self-attention, attention to a source if there is one, feed-forward.

Each is a branch beside the identity, normalized before or after:

    before: x + drop(branch(norm(x)))        after: norm(x + drop(branch(x)))

After: Vaswani et al., 2017, https://arxiv.org/abs/1706.03762; before: Xiong et al., 2020,
https://arxiv.org/abs/2002.04745
"""

from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.memory import Memory
from regard.attention.multihead import Attention
from regard.layers.dropout import Dropout
from regard.layers.feedforward import Activation, FeedForward

Norm = Literal["before", "after"]


class Block(nn.Module):
    """A layer whose branches keep the width, save the last, which may change it to `output_width`."""

    def __init__(
        self,
        width: int,
        *,
        attention: Attention,
        cross: Attention | None = None,
        source_width: int | None = None,
        feedforward: int,
        output_width: int | None = None,
        activation: Activation = "relu",
        norm: Norm = "before",
        dropout: float = 0.0,
        feedforward_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        output_width = width if output_width is None else output_width
        self.norm = norm
        self.self_attention = attention.build(width)
        self.cross = None if cross is None else cross.build(width, width if source_width is None else source_width)
        self.feedforward = FeedForward(width, feedforward, output_width, activation, feedforward_dropout)
        self.dropout = Dropout(dropout)
        self.shortcut = None if output_width == width else nn.Linear(width, output_width, bias=False)
        last = width if norm == "before" else output_width
        widths = {"self_attention": width} | ({} if cross is None else {"cross": width}) | {"feedforward": last}
        self.norms = nn.ModuleDict({name: nn.LayerNorm(size) for name, size in widths.items()})

    def forward(
        self,
        x: Float[Tensor, "batch length width"],
        *,
        keep: Bool[Tensor, "batch 1 1 length"] | None = None,
        source: Float[Tensor, "batch source source_width"] | None = None,
        source_keep: Bool[Tensor, "batch 1 1 source"] | None = None,
    ) -> Float[Tensor, "batch length output_width"]:
        """The layer over whole sequences; `keep` and `source_keep` hide padding."""
        x = self._leave("self_attention", x, self.self_attention(self._enter("self_attention", x), keep=keep))
        if self.cross is not None and source is not None:
            x = self._leave("cross", x, self.cross(self._enter("cross", x), source, keep=source_keep))
        return self._feed(x)

    def advance(
        self, x: Float[Tensor, "rows length width"], memory: Memory, source: Memory | None = None, sentences: int = 1
    ) -> tuple[Float[Tensor, "rows length output_width"], Memory]:
        """The next positions. The source holds `sentences`, and as many neighboring rows as fit share each."""
        change, memory = self.self_attention.advance(self._enter("self_attention", x), memory)
        x = self._leave("self_attention", x, change)
        if self.cross is not None and source is not None:
            x = self._leave("cross", x, self._read(self._enter("cross", x), source, sentences))
        return self._feed(x), memory

    def _read(self, x: Tensor, source: Memory, sentences: int) -> Tensor:
        """The rows of a sentence are so many queries to its one memory, which therefore need not be copied."""
        if self.cross is None:
            return x
        return self.cross.read(x.reshape(sentences, -1, x.shape[-1]), source).reshape(x.shape)

    def _feed(self, x: Tensor) -> Tensor:
        change = self.feedforward(self._enter("feedforward", x))
        return self._leave("feedforward", x if self.shortcut is None else self.shortcut(x), change)

    def _enter(self, name: str, x: Tensor) -> Tensor:
        return self.norms[name](x) if self.norm == "before" else x

    def _leave(self, name: str, x: Tensor, change: Tensor) -> Tensor:
        x = x + self.dropout(change)
        return x if self.norm == "before" else self.norms[name](x)

"""Token embedding: x_t = scale · E[token_t], joined with the position t where positions act at the model's input.

Vaswani et al., 2017, scale by √width, https://arxiv.org/abs/1706.03762
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.part import Sizes, positions_of
from regard.attention.position import POSITIONS, Position, PositionVectors
from regard.base.errors import ConfigError, check_at_least
from regard.layers.dropout import Dropout

PADDING = 0
"""the id of the padding token; its embedding is zero and is not learned"""


class Embedding(nn.Module):
    """The embedding table, [vocabulary, width], with scale, positions and dropout.

    Ids of an extended vocabulary, which the table does not have, are read as the token `beyond`.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        *,
        std: float | None = None,
        scale: float = 1.0,
        positions: Position | None = None,
        dropout: float = 0.0,
        beyond: int | None = None,
    ) -> None:
        super().__init__()
        check_at_least("embedding", 1, vocabulary=vocabulary, width=width)
        sizes = Sizes(width=width, heads=1, key_heads=1, query_width=width, key_width=width, value_width=width)
        self.positions: Position = Position() if positions is None else positions.build(sizes)
        own = width - self.positions.widened(0, "input")
        if own < 1:
            raise ConfigError(f"embedding: positions of width {width - own} leave nothing of width {width} for tokens")
        self.table = nn.Embedding(vocabulary, own, padding_idx=PADDING)
        nn.init.normal_(self.table.weight, std=own**-0.5 if std is None else std)
        nn.init.zeros_(self.table.weight[PADDING])
        self.scale, self.beyond = scale, beyond
        self.dropout = Dropout(dropout)

    def begin(self, ids: Int[Tensor, "tokens"], vectors: Float[Tensor, "tokens width"]) -> None:
        """Let some tokens begin with given vectors, scaled alike so that they are as large as new ones are."""
        with torch.no_grad():
            usual = self.table.weight[PADDING + 1 :].square().mean().sqrt()
            self.table.weight[ids] = (vectors * (usual / vectors.square().mean().sqrt())).to(self.table.weight)

    def forward(self, tokens: Int[Tensor, "batch length"], first: int = 0) -> Float[Tensor, "batch length width"]:
        """The embeddings of tokens, the first of which stands at position `first`."""
        if self.beyond is not None:
            tokens = tokens.masked_fill(tokens >= self.table.num_embeddings, self.beyond)
        x = self.table(tokens)
        x = x if self.scale == 1 else x * self.scale
        if type(self.positions).place is not Position.place:
            x = self.positions.place(x, positions_of(tokens.shape[1], tokens, first), "input")
        dropped: Tensor = self.dropout(x)
        return dropped


def split_positions(spec: Any, where: str = "positions") -> tuple[Position | None, Position | None]:
    """The positions that act at the model's input, and those that act inside each layer; at least one is None."""
    positions: Position | None = POSITIONS.make(spec, where)
    if isinstance(positions, PositionVectors) and positions.layers == "first":
        return positions, None
    return None, positions


def tie(output: nn.Linear, embedding: Embedding, where: str = "tie") -> None:
    """Weight tying: let the output use the embedding's matrix; `where` is the setting that asks for it.

    Press and Wolf, 2017, https://arxiv.org/abs/1608.05859
    """
    if output.weight.shape != embedding.table.weight.shape:
        ours, theirs = (list(weight.shape) for weight in (output.weight, embedding.table.weight))
        raise ConfigError(
            f"{where}: to be one matrix, output {ours} and embedding {theirs} must have the same shape; use 'none'"
        )
    output.weight = embedding.table.weight

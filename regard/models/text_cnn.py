"""A convolutional network of texts: filters of several widths look for phrases, and the best answer of each counts.

    c_t^w = relu(K^w [x_{t - w/2}; …; x_{t + w/2}] + b),  pooled = max_t [c_t^1; …; c_t^5],  logits = W pooled + b

Kim, Convolutional Neural Networks for Sentence Classification, 2014, https://arxiv.org/abs/1408.5882. A few thousand
short texts teach it more than they teach a Transformer. For tags, the features of each token are taken, not their
maximum.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.base.errors import ConfigError
from regard.layers.embedding import Embedding
from regard.layers.residual import Residual
from regard.models.headed import Headed, head_for
from regard.models.model import Design, weights_in

_STD = 0.1


@dataclass(frozen=True, kw_only=True)
class TextCnn(Design):
    """Settings of a convolutional network of texts.

    | preset | width | filters | kernels | from                                          |
    |--------|-------|---------|---------|-----------------------------------------------|
    | kim    | 300   | 100     | 3, 4, 5 | Kim, 2014                                     |
    | small  | 128   | 100     | 1 to 5  | also single words; for a few thousand texts   |
    """

    width: int = 128
    """the width of token embeddings"""
    filters: int = 100
    """how many filters each kernel size has"""
    kernels: tuple[int, ...] = (1, 2, 3, 4, 5)
    """the kernel sizes: how many tokens in a row a filter sees"""
    embedding_dropout: float = 0.25
    """dropout of embeddings"""
    dropout: float = 0.5
    """dropout of what the filters found"""

    needs: ClassVar[tuple[str, ...]] = ("text",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "kim": {"width": 300, "kernels": (3, 4, 5), "embedding_dropout": 0.0},
        "small": {},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.kernels or min(self.kernels) < 1:
            raise ConfigError(f"text_cnn: kernels must be sizes of 1 or more, but are {list(self.kernels)}")

    def build(self, sizes: Mapping[str, int]) -> "TextCnnModel":
        return TextCnnModel(self, self.sizes_from(sizes)[0], sizes)

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        filters = sum(self.width * self.filters * kernel for kernel in self.kernels)
        return 0.0, filters + weights_in(model.head)


class TextCnnModel(Headed):
    """Embeddings, filters and head."""

    def __init__(self, design: TextCnn, vocabulary: int, sizes: Mapping[str, int]) -> None:
        super().__init__()
        if "factors" in sizes:
            raise ConfigError("model.name: text_cnn reads words alone; data.factor needs a model such as bert")
        features = design.filters * len(design.kernels)
        self.source = Embedding(vocabulary, design.width, std=_STD, dropout=design.embedding_dropout)
        self.filters = nn.ModuleList(nn.Conv1d(design.width, design.filters, kernel) for kernel in design.kernels)
        self.head = head_for(
            sizes,
            features,
            Residual().build(features),
            token_activation="gelu",
            pooling="max",
            activation=None,
            dropout=design.dropout,
        )

    def encode(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, "batch"],
        segments: Int[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "batch length features"], Bool[Tensor, "batch length"]]:
        """What the filters find at each token, and where there is one; `segments` are not told apart."""
        keep = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        x = (self.source(tokens) * keep[:, :, None]).transpose(1, 2)
        found = []
        for layer in self.filters:
            assert isinstance(layer, nn.Conv1d)
            reach = layer.kernel_size[0] - 1
            found.append(layer(F.pad(x, (reach // 2, reach - reach // 2))))
        return torch.cat(found, dim=1).relu().transpose(1, 2), keep

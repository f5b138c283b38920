"""Heads: what turns an encoder's features into what a task asks for. The sizes of the data choose one:

| sizes have | the head gives                                                                    |
|------------|-----------------------------------------------------------------------------------|
| classes    | logits of each text's class, from its pooled features                             |
| tags       | logits of each token's tag                                                        |
| vector     | a vector of each text: its pooled features                                        |
| otherwise  | hidden states of each token, whose `output` gives logits over the vocabulary      |
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.base.errors import ConfigError
from regard.layers.activation import ACTIVATIONS, Activation
from regard.layers.dropout import Dropout
from regard.layers.output import LinearOutput
from regard.models.model import Encoder

Pooling = Literal["first", "mean", "max"]
"""how the features of a text become one vector: those of its first token, their mean or their maximum"""


class Headed(Encoder):
    """An encoder with a head."""

    head: nn.Module

    def forward(self, *inputs: Any, **more: Any) -> Tensor:
        """What the head makes of the features."""
        made: Tensor = self.head(*self.encode(*inputs, **more))
        return made

    @property
    def output(self) -> LinearOutput:
        """The output layer over the vocabulary, if the head has one."""
        if not isinstance(self.head, TokenHead):
            raise ConfigError(f"model: a {type(self.head).__name__} gives no logits over the vocabulary")
        return self.head.output


class TokenHead(nn.Module):
    """The masked-token head of BERT: h = norm(f(W x + b)), logits = E h + c, where E may be that of the embedding."""

    def __init__(self, width: int, vocabulary: int, activation: Activation, norm: nn.Module) -> None:
        super().__init__()
        self.inner, self.norm, self.activation = nn.Linear(width, width), norm, activation
        self.output = LinearOutput(width, vocabulary)

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        """The hidden states that `output` turns into logits."""
        hidden: Tensor = self.norm(ACTIVATIONS[self.activation](self.inner(features)))
        return hidden


class ClassHead(nn.Module):
    """Pooled classification: logits = W₂ f(W₁ pooled + b₁) + b₂."""

    def __init__(self, width: int, classes: int, pooling: Pooling, activation: Activation, dropout: float) -> None:
        super().__init__()
        self.pooling, self.activation = pooling, activation
        self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, classes)
        self.dropout = Dropout(dropout)

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch classes"]:
        """The logits of the classes."""
        pooled = ACTIVATIONS[self.activation](self.inner(pool(self.pooling, features, keep)))
        logits: Tensor = self.outer(self.dropout(pooled))
        return logits


class TagHead(nn.Module):
    """Token classification: logits = W x + b of each token."""

    def __init__(self, width: int, tags: int, dropout: float) -> None:
        super().__init__()
        self.outer, self.dropout = nn.Linear(width, tags), Dropout(dropout)

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length tags"]:
        """The logits of the tags."""
        logits: Tensor = self.outer(self.dropout(features))
        return logits


class VectorHead(nn.Module):
    """A vector of each text: its pooled features."""

    def __init__(self, pooling: Pooling) -> None:
        super().__init__()
        self.pooling = pooling

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch width"]:
        """The pooled features."""
        return pool(self.pooling, features, keep)


def head_for(
    sizes: Mapping[str, int],
    width: int,
    norm: nn.Module,
    *,
    token_activation: Activation,
    pooling: Pooling,
    activation: Activation,
    dropout: float,
) -> nn.Module:
    """The head that the sizes ask for; `norm` and `token_activation` are those of the masked-token head."""
    if "classes" in sizes:
        return ClassHead(width, sizes["classes"], pooling, activation, dropout)
    if "tags" in sizes:
        return TagHead(width, sizes["tags"], dropout)
    if "vector" in sizes:
        return VectorHead(pooling)
    return TokenHead(width, sizes["text"], token_activation, norm)


def pool(
    pooling: Pooling, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
) -> Float[Tensor, "batch width"]:
    """One vector for each row; padding counts for nothing."""
    if pooling == "first":
        return features[:, 0]
    if pooling == "max":
        return features.masked_fill(~keep[:, :, None], -torch.inf).amax(1)
    return (features * keep[:, :, None]).sum(1) / keep.sum(1, keepdim=True)

"""Heads: what turns an encoder's features into what a task asks for. The sizes of the data choose one:

| sizes have | the head gives                                                                    |
|------------|-----------------------------------------------------------------------------------|
| classes    | logits of each text's class, from its pooled features                             |
| tags       | logits of each token's tag; with `transitions`, also a chain of tags (CRF)        |
| vector     | a vector of each text: its pooled features                                        |
| NAME.tags   | a head of each name, NAME.tags or NAME.classes, on the same features (multi-task) |
| otherwise  | hidden states of each token, whose `output` gives logits over the vocabulary      |
"""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.base.errors import ConfigError
from regard.layers.activation import ACTIVATIONS, Activation
from regard.layers.chain import Chain
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

    @property
    def chain(self) -> Chain | None:
        """How tags follow each other, if the head has learned that."""
        head = getattr(self, "head", None)
        return head.chain if isinstance(head, ChainHead) else None

    def one_head(self, name: str) -> "Headed":
        """The same encoder with one of its several heads alone; weights are shared, not copied."""
        if not isinstance(self.head, SeveralHeads):
            raise ConfigError(f"model: a {type(self.head).__name__} is one head, so there is none called {name}")
        return OneOfSeveral(self, self.head.heads[name])


class OneOfSeveral(Headed):
    """An encoder with several heads, of which one answers."""

    def __init__(self, whole: Headed, head: nn.Module) -> None:
        super().__init__()
        self.whole, self.head = whole, head
        self.train(whole.training)

    def encode(self, *inputs: Any, **more: Any) -> tuple[Tensor, Tensor]:
        return self.whole.encode(*inputs, **more)


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
    """Pooled classification: logits = W₂ f(W₁ pooled + b₁) + b₂; without an activation, W₂ pooled + b₂."""

    def __init__(
        self, width: int, classes: int, pooling: Pooling, activation: Activation | None, dropout: float
    ) -> None:
        super().__init__()
        self.pooling, self.activation = pooling, activation
        self.inner = None if activation is None else nn.Linear(width, width)
        self.outer = nn.Linear(width, classes)
        self.dropout = Dropout(dropout)

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch classes"]:
        """The logits of the classes."""
        pooled = pool(self.pooling, features, keep)
        if self.inner is not None and self.activation is not None:
            pooled = ACTIVATIONS[self.activation](self.inner(pooled))
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


class ChainHead(TagHead):
    """Token classification whose tags are judged together, by how they follow each other (CRF)."""

    def __init__(self, width: int, tags: int, dropout: float) -> None:
        super().__init__(width, tags, dropout)
        self.chain = Chain(tags)


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


class SeveralHeads(nn.Module):
    """Heads by name; `log_variance` holds s = log σ² of each where their losses are weighed by uncertainty."""

    def __init__(self, heads: Mapping[str, nn.Module], pooling: Pooling, weighed: Literal["evenly", "by_uncertainty"]):
        super().__init__()
        self.heads, self.pooling = nn.ModuleDict(heads), pooling
        scalars = {name: nn.Parameter(torch.zeros(())) for name in heads} if weighed == "by_uncertainty" else {}
        self.log_variance = nn.ParameterDict(scalars)

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch width"]:
        """The pooled features, which all heads share."""
        return pool(self.pooling, features, keep)


def head_for(
    sizes: Mapping[str, int],
    width: int,
    norm: nn.Module,
    *,
    token_activation: Activation,
    pooling: Pooling,
    activation: Activation | None,
    dropout: float,
) -> nn.Module:
    """The head that the sizes ask for; `norm` and `token_activation` are those of the masked-token head."""
    named: dict[str, dict[str, int]] = {}
    for key, size in sizes.items():
        if "." in key:
            named.setdefault(key.partition(".")[0], {})[key.partition(".")[2]] = size
    if named:
        how: Any = {"token_activation": token_activation, "pooling": pooling, "activation": activation}
        heads = {name: head_for(own, width, norm, dropout=dropout, **how) for name, own in named.items()}
        return SeveralHeads(heads, pooling, "by_uncertainty" if "uncertainties" in sizes else "evenly")
    if "classes" in sizes:
        return ClassHead(width, sizes["classes"], pooling, activation, dropout)
    if "tags" in sizes:
        kind = ChainHead if "transitions" in sizes else TagHead
        return kind(width, sizes["tags"], dropout)
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

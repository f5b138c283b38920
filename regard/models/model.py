"""The interface of every model: a design (a frozen dataclass, one file each) holds its settings, `build` makes it.

A model says what it offers by its class: an `Encoder` gives features, a `Writer` writes tokens, and a `Transducer` is
both (see `writer.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.base.catalog import Catalog
from regard.base.config import from_dict
from regard.base.errors import ConfigError, check_at_least, check_one_of, unknown
from regard.layers.dropout import check_share
from regard.layers.feeds.experts import idle_weights

MODELS = Catalog(
    "regard.models",
    besides=("encoder_decoder", "headed", "layered", "model", "pictured", "reconstructor", "set_model", "writer"),
)
Tie = Literal["none", "target", "all"]
"""weight tying: which embeddings share one matrix with the output"""


class Design(ABC):
    """The settings of a model; its file name is its name in a config."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """named settings, such as the sizes of a paper"""
    needs: ClassVar[tuple[str, ...]] = ("source", "target")
    """the sizes that `build` needs: the vocabularies of source and target, or that of a `text`"""
    insertable: ClassVar[tuple[str, ...]] = ()
    """what names of weights contain whose layers are the identity while they are new, so that fine-tuning can put them
    into a trained model"""

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

    def remarks(self, length: int) -> list[str]:
        """What a person should know about settings that are allowed, but odd for texts of this length."""
        return []

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


class Model(nn.Module):
    """What a design builds. Subclasses, here and in `writer.py`, say what a model offers; tasks ask for one of them."""


class Encoder(Model):
    """A model that reads: it gives features, which a head, a probe or a pooling works on."""

    @abstractmethod
    def encode(
        self, *inputs: Any, **more: Any
    ) -> tuple[Float[Tensor, "batch positions width"], Bool[Tensor, "batch positions"]]:
        """The features of each position (token, patch), and which positions are not padding.

        A model of texts is given tokens [batch, length] and lengths [batch].
        """


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

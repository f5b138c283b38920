"""A family of models as Hugging Face writes it: how its settings and tensors are called there; one file each.

A family's file is named after its `model_type`. Reading and writing go by the same tables, so that what was read is
written as it was. What a folder sets and we do not have is refused by name, never ignored.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.base.catalog import Catalog
from regard.base.errors import RegardError, unknown

FAMILIES = Catalog("regard.interop.families")
NEVER = -1e4
"""the logit of tokens that a vocabulary has here and not there: in float32 they have no probability"""
ACTIVATIONS_THERE = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu", "tanh": "tanh"}
_ACTIVATIONS = {there: here for here, there in ACTIVATIONS_THERE.items()} | {
    "gelu_pytorch_tanh": "gelu_tanh",
    "swish": "silu",
}
_SILENT = {
    *("architectures", "dtype", "torch_dtype", "transformers_version", "_name_or_path", "model_type", "use_cache"),
    *(
        "initializer_range",
        "id2label",
        "label2id",
        "problem_type",
        "num_labels",
        "gradient_checkpointing",
        "return_dict",
    ),
    *("output_hidden_states", "output_attentions", "vocab_size", "pad_token_id", "bos_token_id", "eos_token_id"),
    *("classifier_dropout", "task_specific_params", "finetuning_task", "chunk_size_feed_forward", "unk_token_id"),
}
"""settings that change no number of a model in evaluation mode, or that are read elsewhere"""


@dataclass(frozen=True)
class Entry:
    """A tensor of ours and the tensors that it is made of there, one below the other."""

    ours: str
    theirs: tuple[str, ...]
    turned: bool = False
    """the matrices are transposed there"""
    vocabulary: bool = False
    """the rows are tokens, in the order of the vocabulary"""
    missing: float = 0.0
    """the value of rows whose tokens are not there"""
    skipped: int = 0
    """so many rows at the beginning are not used there"""
    split: tuple[int, ...] | None = None
    """the rows of each of the tensors, if they differ"""
    reads: Callable[[Tensor], Tensor] = lambda there: there
    """what makes our part of one of their tensors, where its axes differ"""
    writes: Callable[[Tensor], Tensor] = lambda here: here
    """the other way round"""

    def read(self, tensors: Mapping[str, Tensor], order: Sequence[int | None], where: str) -> Tensor:
        """Our tensor, from theirs."""
        for name in self.theirs:
            if name not in tensors:
                raise RegardError(f"{where}: has no tensor '{name}', which the model needs")
        parts = [self.reads(tensors[name].float()) for name in self.theirs]
        whole = torch.cat([part.T if self.turned else part for part in parts])[self.skipped :]
        if not self.vocabulary:
            return whole.contiguous()
        made = torch.full((len(order), *whole.shape[1:]), self.missing)
        pairs = [(new, old) for new, old in enumerate(order) if old is not None]
        new, old = (torch.tensor(side) for side in zip(*pairs, strict=True))
        made[new] = whole[old]
        return made

    def write(self, tensor: Tensor, order: Sequence[int | None]) -> dict[str, Tensor]:
        """Their tensors, from ours."""
        whole = tensor.float()
        if self.vocabulary:
            pairs = sorted((old, new) for new, old in enumerate(order) if old is not None)
            whole = whole[torch.tensor([new for _, new in pairs])]
        if self.skipped:
            whole = torch.cat([whole.new_zeros(self.skipped, *whole.shape[1:]), whole])
        parts = whole.split(list(self.split)) if self.split is not None else whole.chunk(len(self.theirs))
        return {
            name: self.writes(part.T if self.turned else part).contiguous()
            for name, part in zip(self.theirs, parts, strict=True)
        }


class Family(ABC):
    """A family of models: the names of its settings and tensors."""

    design: ClassVar[str]
    """the model of ours"""
    prefix: ClassVar[str]
    """what the names of all tensors but the head's begin with; some folders leave it out"""
    tasks: ClassVar[Mapping[str, str]]
    """what a model of each architecture is for"""
    names: ClassVar[Mapping[str, str]]
    """their name of each plain setting of ours"""
    fixed: ClassVar[Mapping[str, Any]] = {}
    """settings that must have this value, as others are not here"""
    silent: ClassVar[frozenset[str]] = frozenset()
    """settings that change no number, beside those of all families"""
    unread: ClassVar[str] = r"(?!)"
    """tensors that are not needed, such as buffers and copies, as a pattern"""
    aliases: ClassVar[Mapping[str, str]] = {}
    """tensors that some folders have under another name"""
    separators: ClassVar[int] = 1
    """how many `</s>` stand between two texts"""
    reads: ClassVar[str] = "texts"
    """texts, or pictures: then there is no tokenizer (see `picture_folder.py`)"""

    @abstractmethod
    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of the design, beside the plain ones in `names`."""

    @abstractmethod
    def config(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """The other way round: their settings beside the plain ones."""

    @abstractmethod
    def entries(self, model: Mapping[str, Any], task: str, config: Mapping[str, Any]) -> Iterator[Entry]:
        """All tensors of a model with these settings."""

    def model(self, config: Mapping[str, Any], where: str) -> dict[str, Any]:
        """The table [model] of a folder's config; a setting that we do not have is refused."""
        for key, value in config.items():
            if key in self.fixed and value != self.fixed[key]:
                raise RegardError(f"{where}: {key} is {value!r}, but only {self.fixed[key]!r} can be read")
            if key not in _SILENT | self.silent | self.fixed.keys() | self.read_keys():
                raise RegardError(f"{where}: the setting '{key}' of {self.type()} is not known here, so it is not read")
        plain = {ours: config[theirs] for ours, theirs in self.names.items() if theirs in config}
        return {"name": self.design, **plain, **self.settings(config)}

    def read_keys(self) -> set[str]:
        """The names of all settings that are read."""
        return {*self.names.values(), *self.more_keys}

    more_keys: ClassVar[frozenset[str]] = frozenset()
    """settings that `settings` reads"""

    @classmethod
    def type(cls) -> str:
        """The `model_type` of the family's configs: the name of its file."""
        return cls.__module__.rpartition(".")[2]

    def task_of(self, config: Mapping[str, Any], where: str) -> tuple[str, str]:
        """The architecture of a folder, and what it is for."""
        found = list(config.get("architectures") or [])
        for name in found:
            if name in self.tasks:
                return name, self.tasks[name]
        listed = ", ".join(self.tasks)
        raise RegardError(
            f"{where}: the architecture {', '.join(found) or 'is missing'} is not read; those are: {listed}"
        )

    def named(self, tensors: Mapping[str, Tensor], wanted: set[str], where: str) -> dict[str, Tensor]:
        """The tensors by their full names; one that nobody needs is an error."""
        full = {name if name in wanted else self.prefix + name: tensor for name, tensor in tensors.items()}
        for name, other in self.aliases.items():
            if name not in full and other in full:
                full[name] = full[other]
        for name in sorted(full.keys() - wanted):
            if not re.search(self.unread, name):
                shown = name.removeprefix(self.prefix)
                raise RegardError(f"{where}: has a tensor '{shown}', which the model does not know")
        return full


def activation_here(name: str, where: str) -> str:
    """Our name of an activation."""
    if name not in _ACTIVATIONS:
        raise RegardError(unknown(f"{where}: activation", name, _ACTIVATIONS, "activations"))
    return _ACTIVATIONS[name]


def affine(ours: str, theirs: str | tuple[str, ...], **how: Any) -> Iterator[Entry]:
    """The entries of a weight and its bias; a bias is a vector, so it is not transposed."""
    names = (theirs,) if isinstance(theirs, str) else theirs
    for end in ("weight", "bias"):
        own = how if end == "weight" else {**how, "turned": False}
        yield Entry(f"{ours}.{end}", tuple(f"{name}.{end}" for name in names), **own)


def two_sides(value: Any) -> tuple[int, int]:
    """Height and width that are given as two numbers, or as one where they are equal."""
    height, width = value if isinstance(value, list | tuple) else (value, value)
    return int(height), int(width)


def one_side(value: Any, name: str) -> int:
    """The side of a square that is given as a number, or as two equal ones."""
    height, width = two_sides(value)
    if height != width:
        raise RegardError(f"{name} is {value!r}, but only squares can be read")
    return height

"""A family of models as Hugging Face writes it: how its settings and tensors are called there; one file each.

A family's file is named after its `model_type`. Reading and writing go by the same tables, so that what was read is
written as it was. What a folder sets and we do not have is refused by name, never ignored.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.base.catalog import Catalog
from regard.base.errors import RegardError, unknown
from regard.data.subwords.tokenizer import BOS, Subwords
from regard.interop.model_folder import read_tokenizer
from regard.interop.search_settings import SEARCH_SETTINGS

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
    *("sep_token_id", "mask_token_id", "cls_token_id", "tokenizer_class", "prefix", "output_past", "torchscript"),
    *("use_bfloat16", "tf_legacy_loss", "xla_device", "_num_labels", "_commit_hash", "attn_implementation"),
    *("_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal", "_output_attentions"),
}
"""settings that change no number of a model in evaluation mode, or that are read elsewhere"""
_CHECKED: Mapping[str, Any] = {
    "pruned_heads": {},
    "tie_encoder_decoder": False,
    "cross_attention_hidden_size": None,
    "add_cross_attention": False,
    "is_decoder": False,
}
"""settings of older versions that every family could have, and the value that is read"""
_KINDS: Mapping[type, tuple[Any, str]] = {
    int: (int | list | tuple, "a whole number"),
    float: (int | float, "a number"),
    str: (str, "a name"),
    list: (list | tuple, "a list"),
    bool: (bool, "true or false"),
}
"""what a setting may be whose default is of this type, and how that is called"""


@dataclass(frozen=True)
class Entry:
    """A tensor of ours and the tensors that it is made of there, one below the other."""

    ours: str
    theirs: tuple[str, ...]
    turned: bool = False
    """the matrices are transposed there"""
    vocabulary: bool = False
    """the rows are tokens, in the order of the vocabulary"""
    side: str = "text"
    """which vocabulary that is"""
    missing: float = 0.0
    """the value of rows whose tokens are not there"""
    once: bool = False
    """where several tokens here are one there, only the one that stands for it has its value"""
    row: bool = False
    """the vector is a matrix of one row there"""
    skipped: int = 0
    """so many rows at the beginning are not used there"""
    split: tuple[int, ...] | None = None
    """the rows of each of the tensors, if they differ"""
    reads: Callable[[Tensor], Tensor] = lambda there: there
    """what makes our part of one of their tensors, where its axes differ"""
    writes: Callable[[Tensor], Tensor] = lambda here: here
    """the other way round"""

    def read(self, tensors: Mapping[str, Tensor], orders: "Orders", where: str) -> Tensor:
        """Our tensor, from theirs."""
        for name in self.theirs:
            if name not in tensors:
                raise RegardError(f"{where}: has no tensor '{name}', which the model needs")
        parts = [self.reads(tensors[name].float()) for name in self.theirs]
        parts = [part.flatten() if self.row else part.T if self.turned else part for part in parts]
        whole = torch.cat(parts)[self.skipped :]
        if not self.vocabulary:
            return whole.contiguous()
        order = orders[self.side]
        made = torch.full((len(order), *whole.shape[1:]), self.missing)
        pairs = [(new, old) for new, old in enumerate(order) if old is not None]
        if self.once:
            pairs = [(new, old) for old, new in standing_for(order).items()]
        if max(old for _, old in pairs) >= len(whole):
            names = " and ".join(self.theirs)
            raise RegardError(f"{where}: {names} has {len(whole)} rows, but config.json has a larger vocabulary")
        new, old = (torch.tensor(side) for side in zip(*pairs, strict=True))
        made[new] = whole[old]
        return made

    def write(self, tensor: Tensor, orders: "Orders") -> dict[str, Tensor]:
        """Their tensors, from ours."""
        whole = tensor.float()
        if self.vocabulary:
            chosen = standing_for(orders[self.side])
            whole = whole[torch.tensor([chosen[old] for old in sorted(chosen)])]
        if self.row:
            return {self.theirs[0]: whole[None].contiguous()}
        if self.skipped:
            whole = torch.cat([whole.new_zeros(self.skipped, *whole.shape[1:]), whole])
        parts = whole.split(list(self.split)) if self.split is not None else whole.chunk(len(self.theirs))
        return {
            name: self.writes(part.T if self.turned else part).contiguous()
            for name, part in zip(self.theirs, parts, strict=True)
        }


Order = Sequence[int | None]
"""the id that each token of ours has there; None where there is none"""
Orders = Mapping[str, Order]
"""the order of each side's vocabulary"""


def standing_for(order: Order) -> dict[int, int]:
    """Our token for each of theirs: `<s>`, which outputs start after, where it stands for it; else the first."""
    chosen: dict[int, int] = {}
    for new, old in enumerate(order):
        if old is not None and (old not in chosen or new == BOS):
            chosen[old] = new
    return chosen


@dataclass(frozen=True)
class FolderTokenizers:
    """The tokenizers of a folder."""

    subwords: Mapping[str, Subwords]
    orders: Orders
    files: Mapping[str, str]
    """the texts of the tokenizer's files, which are written back as they were"""


class Family(ABC):
    """A family of models: the names of its settings and tensors."""

    design: ClassVar[str]
    """the model of ours"""
    prefix: ClassVar[str]
    """what the names of all tensors but the head's begin with; some folders leave it out"""
    tasks: ClassVar[Mapping[str, str]]
    """what a model of each architecture is for"""
    also: ClassVar[frozenset[str]] = frozenset()
    """further tasks that are written as the first architecture"""
    names: ClassVar[Mapping[str, str]]
    """their name of each plain setting of ours"""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """what transformers takes for a setting that a config does not have, where it changes numbers"""
    fixed: ClassVar[Mapping[str, Any]] = {}
    """settings that must have this value, as others are not here"""
    checked: ClassVar[Mapping[str, Any]] = {}
    """the same for settings that are not written, such as those of older versions"""
    silent: ClassVar[frozenset[str]] = frozenset()
    """settings that change no number, beside those of all families"""
    unread: ClassVar[str] = r"(?!)"
    """tensors that are not needed, such as buffers and copies, as a pattern"""
    aliases: ClassVar[Mapping[str, str]] = {}
    """tensors that some folders have under another name"""
    also_called: ClassVar[Mapping[str, str]] = {}
    """other names of settings, which transformers takes for the same"""
    copies: ClassVar[Mapping[str, str]] = {}
    """tensors that are the same as another one where words are tied; some folders have them, or them alone"""
    output: ClassVar[str] = ""
    """the one of them that is the output's matrix: where it differs, it is not tied"""
    separators: ClassVar[int] = 1
    """how many `</s>` stand between two texts"""
    reads: ClassVar[str] = "texts"
    """texts, or pictures: then there is no tokenizer (see `picture_folder.py`)"""
    sides: ClassVar[tuple[str, ...]] = ("text",)
    """the vocabularies that a model has: one of its text, or those of source and target"""
    same_positions: ClassVar[bool] = True
    """whether a folder is written with the number of positions that it was read with"""
    usual: ClassVar[Mapping[str, Any]] = {}
    """settings of the folder of a model that was not imported, beside those that follow from the model"""

    def completed(self, config: Mapping[str, Any], where: str) -> dict[str, Any]:
        """The config with what transformers takes for settings that it lacks; a value of another kind is refused."""
        config = self._under_one_name(config, where)
        for name, usual in self.defaults.items():
            kind, value = _KINDS.get(type(usual)), config.get(name, usual)
            if kind is not None and (
                not isinstance(value, kind[0]) or isinstance(value, bool) != isinstance(usual, bool)
            ):
                raise RegardError(f"{where}: {name} is {value!r}, but must be {kind[1]}, as in {usual!r}")
            counts = isinstance(value, int) and not isinstance(value, bool) and not name.endswith("_id")
            if kind is not None and counts and value < 1 <= usual:
                raise RegardError(f"{where}: {name} is {value}, but must be at least 1")
        return {**self.defaults, **config}

    def _under_one_name(self, config: Mapping[str, Any], where: str) -> dict[str, Any]:
        made = dict(config)
        for other, name in self.also_called.items():
            if other not in made:
                continue
            value = made.pop(other)
            if made.setdefault(name, value) != value:
                raise RegardError(f"{where}: {name} is {made[name]!r}, but {other}, which is the same, is {value!r}")
        return made

    def told(
        self, config: Mapping[str, Any], tensors: Mapping[str, Tensor], where: str
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The config with what its weights alone tell, and the tensors without copies.

        Where words are tied, transformers takes the copy of a tensor that is not there, and does not tie two that
        differ. An output that differs is read so; other copies have no place of their own here.
        """
        made, kept, copies = dict(config), self.full_names(tensors), self.tied(config)
        for copy, first in copies.items():
            if copy not in kept:
                continue
            found = kept.pop(copy)
            if copy == self.output and first in kept and not _same(kept[first], found):
                made["tie_word_embeddings"] = False
                kept[copy] = found
            elif not _same(kept.setdefault(first, found), found):
                raise RegardError(f"{where}: {copy} differs from {first}, but only one tensor for both can be read")
        return made, kept

    def tied(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """The tensors that are copies of another one, if a folder says that words are tied."""
        return self.copies if config.get("tie_word_embeddings", True) else {}

    def repeated(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Tensors that transformers misses, though another one has their numbers or none needs them."""
        return {}

    def full_names(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of the copies by their full names; some folders leave the prefix out."""
        short = {name.removeprefix(self.prefix): name for pair in self.copies.items() for name in pair}
        return {short.get(name, name): tensor for name, tensor in tensors.items()}

    def vocabularies(self, folder: Path, config: Mapping[str, Any]) -> "FolderTokenizers":
        """The tokenizer of each side; one tokenizer.json serves both, unless the family has another way."""
        subwords, order, files = read_tokenizer(folder)
        return FolderTokenizers(dict.fromkeys(self.sides, subwords), dict.fromkeys(self.sides, order), files)

    def rows(self, config: Mapping[str, Any]) -> dict[str, int]:
        """The number of embeddings of each side."""
        return dict.fromkeys(self.sides, int(config["vocab_size"]))

    def written_from(self, design: Any, weights: Mapping[str, Tensor]) -> tuple[Any, Mapping[str, Tensor]]:
        """The same model in the form that the family has, where it can be rewritten."""
        return design, weights

    def sized(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Their settings of the number of embeddings."""
        return {"vocab_size": sizes[self.sides[0]]}

    def further(self, config: Mapping[str, Any]) -> dict[str, Tensor]:
        """Tensors of a folder that follow from its config, and that transformers misses if they are not there."""
        return {}

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
        asked = {**_CHECKED, **self.fixed, **self.checked}
        for key, value in config.items():
            if key in asked and value != asked[key]:
                raise RegardError(f"{where}: {key} is {value!r}, but only {asked[key]!r} can be read")
            if key not in _SILENT | SEARCH_SETTINGS | self.silent | asked.keys() | self.read_keys():
                raise RegardError(f"{where}: the setting '{key}' of {self.type()} is not known here, so it is not read")
        plain = {ours: config[theirs] for ours, theirs in self.names.items() if theirs in config}
        try:
            return {"name": self.design, **plain, **self.settings(config)}
        except RegardError as error:
            raise RegardError(f"{where}: {error}") from error

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


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)


def activation_here(name: str, where: str) -> str:
    """Our name of an activation."""
    if name not in _ACTIVATIONS:
        raise RegardError(unknown(f"{where}: activation", name, _ACTIVATIONS, "activations"))
    return _ACTIVATIONS[name]


def places_of(positions: Mapping[str, Any] | None) -> int:
    """How many positions are learned; 1 where positions are of another kind, which is refused by name afterwards."""
    return int((positions or {}).get("length", 1))


def affine(ours: str, theirs: str | tuple[str, ...], **how: Any) -> Iterator[Entry]:
    """The entries of a weight and its bias; a bias is a vector, so it is not transposed."""
    names = (theirs,) if isinstance(theirs, str) else theirs
    for end in ("weight", "bias"):
        own = how if end == "weight" else {**how, "turned": False}
        yield Entry(f"{ours}.{end}", tuple(f"{name}.{end}" for name in names), **own)


def two_sides(value: Any) -> tuple[int, int]:
    """Height and width that are given as two numbers, or as one where they are equal."""
    sides = list(value) if isinstance(value, list | tuple) else [value, value]
    if len(sides) != 2 or not all(type(side) is int and side > 0 for side in sides):
        raise RegardError(f"{value!r} must be a whole number of pixels, or height and width")
    return sides[0], sides[1]


def one_side(value: Any, name: str) -> int:
    """The side of a square that is given as a number, or as two equal ones."""
    height, width = two_sides(value)
    if height != width:
        raise RegardError(f"{name} is {value!r}, but only squares can be read")
    return height

"""The model file: weights as tensors, with settings, tokenizers and other learned data as texts beside them.

save_artifact("de-en.safetensors", Artifact(config=…, weights=model.state_dict(), …))
model = load_artifact("de-en.safetensors").model()
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

import torch
from torch import Tensor

from regard.base.config import from_dict
from regard.base.errors import ConfigError, RegardError
from regard.models.model import MODELS, Design
from regard.runs.forgery import build_checked, check_fits, check_parts
from regard.runs.tensors import read_tensors, write_tensors

_KIND = "regard model"
_VERSION = 2
_ORIGIN = "_artifact"
_PARTS = ("config", "task", "sizes", "tokenizers", "extras")


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A trained model with everything needed to use it.

    `config` is the resolved tree of settings; its `model` table names the design. `task` names the model's task, and
    `sizes` holds the sizes it is built for, such as those of its vocabularies. `tokenizers` are texts in the
    `tokenizer.json` format, by side. `extras` holds what follows training, such as alignment heads or a shortlist.
    """

    config: Mapping[str, Any]
    task: str
    sizes: Mapping[str, int]
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)
    name: str = field(default="the model", compare=False)
    """its name in error messages: the file that it was read from"""

    def with_weights(self, weights: Mapping[str, Tensor]) -> Self:
        """A copy with other weights."""
        return replace(self, weights=weights)

    def with_extras(self, **extras: Any) -> Self:
        """A copy with these extras added or replaced."""
        return replace(self, extras={**self.extras, **extras})

    @property
    def vocabularies(self) -> tuple[int, int]:
        """The sizes of the source vocabulary (0 without a source) and of the target vocabulary of a token model."""
        return self.sizes.get("source", 0), self.sizes["text" if "text" in self.sizes else "target"]

    def design(self) -> Design:
        """The settings of the model."""
        if "model" not in self.config:
            raise RegardError(f"{self.name}: its config has no table 'model'")
        try:
            return from_dict({"model": self.config["model"]}, _Config).model
        except (ConfigError, RecursionError) as error:
            raise ConfigError(f"{self.name}: {error}") from error

    def model(self) -> Any:
        """Build the model with its weights, in evaluation mode; the caller's random generator is left as it was."""
        design = self.design()
        with torch.random.fork_rng():
            model = build_checked(self.name, lambda: design.build(self.sizes), self.weights)
        load_weights(model, self.weights, self.name)
        model.__dict__[_ORIGIN] = replace(self, weights={})
        return model.eval()


@dataclass(frozen=True)
class _Config:
    model: Annotated[Any, MODELS]


def origin_of(model: torch.nn.Module) -> Artifact | None:
    """The artifact, without its weights, that built a model; None for a model that was built otherwise."""
    origin: Artifact | None = model.__dict__.get(_ORIGIN)
    return origin


def save_artifact(path: str | Path, artifact: Artifact) -> None:
    """Write a model as one file; on failure the old file stays. Equal models give equal bytes."""
    weights, tied = split_ties(artifact.weights)
    texts = {"kind": _KIND, "version": str(_VERSION)}
    parts = {name: getattr(artifact, name) for name in _PARTS} | {"tied": tied}
    for name, part in parts.items():
        texts[name] = json.dumps(part, sort_keys=True, ensure_ascii=False)
    write_tensors(path, weights, texts)


def load_artifact(path: str | Path) -> Artifact:
    """Read a model file; any other or damaged file raises an error that says what it is."""
    tensors, texts = read_tensors(path)
    check_kind(path, texts, _KIND, _VERSION, oldest=1)
    try:
        parts = _first_format(texts) if texts["version"] == "1" else {name: json.loads(texts[name]) for name in _PARTS}
        tied = json.loads(texts["tied"])
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise RegardError(f"{path}: the metadata of the model cannot be read: {error}") from error
    check_parts(str(path), parts, tied, tensors)
    weights = tensors | {name: tensors[first] for name, first in tied.items()}
    return Artifact(**parts, weights=weights, name=str(path))


def _first_format(texts: Mapping[str, str]) -> dict[str, Any]:
    """Read format 1: translation models, and language models, whose source vocabulary has size 0."""
    parts = {name: json.loads(texts[name]) for name in ("config", "tokenizers", "extras")}
    source, target = json.loads(texts["vocabularies"])
    if source:
        return parts | {"task": "translate", "sizes": {"source": source, "target": target}}
    return parts | {"task": "language", "sizes": {"text": target}}


def check_kind(path: str | Path, texts: Mapping[str, str], kind: str, version: int, oldest: int | None = None) -> None:
    """Check that the file is of the given kind and of a readable version."""
    found, written = texts.get("kind"), texts.get("version", "")
    if found is None:
        folder = Path(path).parent
        theirs = f"; it belongs to a folder of Hugging Face: regard import {folder}"
        hint = theirs if (folder / "config.json").is_file() else ""
        raise RegardError(f"{path}: a safetensors file, but not a {kind}{hint}")
    if found != kind:
        raise RegardError(f"{path}: this is a {found}, not a {kind}")
    if written not in map(str, range(version if oldest is None else oldest, version + 1)):
        newer = written.isdigit() and int(written) > version
        cure = "update Regard" if newer else "write it again with this version"
        raise RegardError(f"{path}: written in format {written}, but this Regard reads format {version}; {cure}")


def split_ties(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Every tensor once, and for each further name of a tied tensor its first name."""
    firsts: dict[tuple[Any, ...], str] = {}
    once: dict[str, Tensor] = {}
    tied: dict[str, str] = {}
    for name in sorted(weights):
        tensor = weights[name]
        place = (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        first = firsts.setdefault(place, name) if tensor.numel() else name
        if first == name:
            once[name] = tensor
        else:
            tied[name] = first
    return once, tied


def load_weights(model: torch.nn.Module, weights: Mapping[str, Tensor], name: str = "the weights") -> None:
    """Copy weights into a model with the same names, shapes and types; an error names the first difference."""
    check_fits(model, weights, name)
    model.load_state_dict(dict(weights))

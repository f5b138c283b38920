"""Fine-tuning begins with the weights of another model, `training.base`; a head that it does not have is new."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.base.errors import ConfigError, UsageError
from regard.base.files import digest
from regard.models.model import Design
from regard.models.pictured import PICTURE_SIZES
from regard.runs.artifact import Artifact
from regard.runs.folder import model_file
from regard.runs.snapshot import open_artifact
from regard.tasks.task import Prepared
from regard.tasks.texts import refuse_other

_SIDES = ("text", "source", "target")
_NAMED = ("classes", "tags")


@dataclass(frozen=True)
class Beginning:
    """A trained model to go on from."""

    artifact: Artifact
    file: Path

    @classmethod
    def of(cls, path: Path, folder: Path | None = None) -> "Beginning":
        """The model at a path; a run that began with another one is refused, by the hash kept in its folder."""
        try:
            file = model_file(path)
        except UsageError as error:
            raise ConfigError(f"training.base: {error}") from error
        if folder is not None:
            refuse_other(digest(file), f"training.base: {path}", folder / "base.sha256")
        return cls(open_artifact(path), file)

    def enter(
        self, model: torch.nn.Module, design: Design, task: str, prepared: Prepared, extras: dict[str, Any]
    ) -> tuple[str, ...]:
        """Copy the weights into a model of the same settings; returns the names of those that are new: its head's.

        Layers that are the identity while they are new may be inserted, too.
        """
        self._check_vocabulary(prepared)
        known = self.artifact.extras
        another = self.artifact.task != task or any(known.get(name) != extras.get(name) for name in _NAMED)
        own, theirs = model.state_dict(), self.artifact.weights
        fitting = {
            name
            for name, tensor in own.items()
            if name in theirs and theirs[name].shape == tensor.shape and not (another and name.startswith("head."))
        }
        new = [name for name in own if name not in fitting]
        self._check_head_alone(own, new, design, prepared)
        model.load_state_dict({name: theirs[name] for name in fitting}, strict=False)
        return tuple(name for name, _ in model.named_parameters() if name in new)

    def _check_vocabulary(self, prepared: Prepared) -> None:
        for side in _SIDES:
            if self.artifact.tokenizers.get(side) != prepared.tokenizers.get(side):
                raise ConfigError(
                    f"subwords: are not those of training.base, {self.artifact.name}; "
                    f'set subwords.load = ["{self.artifact.name}"]'
                )

    def _check_head_alone(
        self, own: dict[str, torch.Tensor], new: list[str], design: Design, prepared: Prepared
    ) -> None:
        """Refuse a model of which more than the head is new: tensors whose shape follows from the number of classes."""
        with torch.device("meta"):
            other = {
                name: 1 + size for name, size in prepared.sizes.items() if name not in (*_SIDES, *PICTURE_SIZES[:3])
            }
            shapes = design.build({**prepared.sizes, **other}).state_dict()
        for name in new:
            same = name in shapes and shapes[name].shape == own[name].shape
            there = self.artifact.weights.get(name)
            inserted = there is None and any(part in name for part in design.insertable)
            if not name.startswith("head.") and same and not inserted:
                has = f"has it with the shape {list(there.shape)}" if there is not None else "has no such tensor"
                raise ConfigError(
                    f"training.base: the model needs the tensor '{name}' of shape {list(own[name].shape)}, but "
                    f"{self.artifact.name} {has}; the table [model] must be that of the base, as regard init --from "
                    "writes it"
                )

    def kept(self) -> dict[str, Any]:
        """What the model file keeps of the base: how it was called where it was imported from."""
        told = self.artifact.extras.get("huggingface")
        return {} if told is None else {"huggingface": told}

"""Saves and restores a sharded training: each rank writes and reads its own rows; models are still one file."""

from typing import Any

import torch
from torch import Tensor

from regard.base.errors import RegardError
from regard.runs.checkpoint import Checkpoint
from regard.runs.sharded import Parts, write_shard
from regard.training.history import History
from regard.training.keeper import Keeper
from regard.training.optimizer import moments, owners_of
from regard.training.sharded_tensor import own_rows, range_of
from regard.training.shards import Shards
from regard.training.state import TrainingState


class ShardKeeper(Keeper):
    """Keeps a model whose weights and moments are shared out among ranks."""

    def __init__(self, shards: Shards, *rest: Any) -> None:
        super().__init__(shards.model, *rest)
        self.shards = shards
        self._whole: dict[str, Tensor] = {}

    def save(self, state: TrainingState) -> None:
        """Write this rank's rows; once all ranks have, rank 0 writes the state, which makes the checkpoint whole."""
        if state == self._saved:
            return
        path, size = self.folder.checkpoints.path(state.step), self.ranks.size
        tensors = self._tensors()
        shared = {name: tensor for name, tensor in tensors.items() if range_of(tensor) is not None}
        rows = {name: (*(range_of(tensor) or (0, 0)), tensor.shape[0]) for name, tensor in shared.items()}
        write_shard(path, self.ranks.rank, size, {name: own_rows(tensor) for name, tensor in shared.items()}, rows)
        self.ranks.gather(None)
        if self.ranks.first:
            rest = {name: tensor for name, tensor in tensors.items() if name not in shared}
            self.folder.log.sync()
            table = state.to_dict() | self._surroundings() | {"shards": size}
            self.folder.checkpoints.write(Checkpoint(state.step, rest, table))
            self._prune(state.step)
        self._saved = state

    def resume(self) -> TrainingState:
        """Each rank reads its rows of the latest intact checkpoint, whether that is in parts or in one file."""
        found: dict[str, Any] | None = None
        if self.ranks.first:
            usable = self._usable()
            found = None if usable is None else {"step": usable.step, "state": dict(usable.state)}
        found = self.ranks.agree(found)
        if found is None:
            return TrainingState()
        self._read_rows(found["step"], found["state"].get("shards"))
        return self._take_state(str(self.folder.checkpoints.path(found["step"])), dict(found["state"]))

    def _read_rows(self, step: int, shards: int | None) -> None:
        checkpoint = self.folder.checkpoints.read_apart(step)
        parts = self.folder.checkpoints.parts(step, shards) if shards else Parts(())
        own = {name: tensor for name, tensor in self._tensors().items() if name.startswith("model.")}
        with torch.no_grad():
            for name, tensor in own.items():
                own_rows(tensor).copy_(self._rows(name, tensor, checkpoint, parts))
        owners, weights = owners_of(self.optimizers), dict(self.model.named_parameters())
        names = parts.names() if shards else list(checkpoint.tensors)
        for name in {*names, *checkpoint.tensors}:
            if name.startswith("optimizer."):
                kind, _, weight = name.removeprefix("optimizer.").partition("/")
                self._restore_moment(name, kind, weights[weight], owners[weights[weight]], checkpoint, parts)

    def _restore_moment(
        self, name: str, kind: str, weight: Tensor, owner: Any, checkpoint: Checkpoint, parts: Parts
    ) -> None:
        plain = checkpoint.tensors.get(name)
        if plain is not None and plain.shape != weight.shape:  # such as the number of steps
            owner.state[weight][kind] = plain.clone()
            return
        like = torch.zeros_like(weight)
        own_rows(like).copy_(self._rows(name, weight, checkpoint, parts))
        owner.state[weight][kind] = like

    def _rows(self, name: str, tensor: Tensor, checkpoint: Checkpoint, parts: Parts) -> Tensor:
        bounds = range_of(tensor)
        if name in checkpoint.tensors:
            whole = checkpoint.tensors[name]
            return whole if bounds is None else whole[slice(*bounds)]
        if name not in parts.names():
            raise RegardError(f"{self.folder.checkpoints.folder}: the checkpoint has no tensor '{name}'")
        return parts.get(name, *(bounds or (0, parts.length(name))))

    def snapshot(self, history: History, improved: bool) -> None:
        if history.points[-1].step in self.needed(history):
            self._whole = self.shards.weights()
            super().snapshot(history, improved)

    def _weights(self) -> dict[str, Tensor]:
        return self._whole

    def _ties(self) -> dict[str, str]:
        return self.shards.ties

    def _tensors(self) -> dict[str, Tensor]:
        """The weights and moments of this rank, by their names in a checkpoint."""
        found = {f"model.{name}": tensor.detach() for name, tensor in self.shards.named().items()}
        return found | {f"optimizer.{name}": tensor for name, tensor in moments(self.optimizers, self.model).items()}

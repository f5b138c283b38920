"""Saves and restores a training: checkpoints to resume from, and weight snapshots to average into the final model.

A snapshot is kept as long as it may become part of the final model after resuming from any kept checkpoint. Nothing
is deleted before its replacement is complete.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from regard.base.errors import RegardError
from regard.base.ranks import ALONE, Ranks, agreed_tensors
from regard.layers.low_rank import merged
from regard.native.training import training_kernels
from regard.runs.artifact import Artifact, save_artifact, split_ties
from regard.runs.checkpoint import Checkpoint
from regard.runs.folder import RunFolder
from regard.training.average import average_tensors
from regard.training.history import History, Rank
from regard.training.lanes import Lanes
from regard.training.optimizer import Optimizers, moments, restore_moments
from regard.training.settings import TrainingSettings
from regard.training.shards import Shards
from regard.training.state import TrainingState, model_weights, set_weights


@dataclass(frozen=True)
class Final:
    """The weights of the finished model, the steps that they come from, and how the mean of several was judged."""

    weights: dict[str, Tensor]
    steps: tuple[int, ...]
    tried: tuple[int, ...] = ()
    """the steps whose mean was validated"""
    score: float | None = None
    """what that mean scored"""


class Keeper:
    """Saves and restores a model, its optimizers and the training state."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Optimizers,
        folder: RunFolder,
        settings: TrainingSettings,
        artifact: Artifact | None,
        note: Callable[[str], None],
        ranks: Ranks = ALONE,
    ) -> None:
        self.model, self.optimizers, self.folder, self.settings = model, optimizers, folder, settings
        self.artifact, self.note, self.ranks = artifact, note, ranks
        self.lanes: Lanes | Shards | None = None
        """the lanes of the training, which a checkpoint counts"""
        self.lanes_before: int | None = None
        """how many lanes the run had before it was resumed"""
        self.short = False
        """whether the run computes matrix products in bfloat16 because that is faster"""
        self._saved: TrainingState | None = None
        self._before: tuple[str, dict[str, Any]] = ("", {})

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint, then delete old checkpoints and the snapshots that only they need."""
        if state == self._saved or not self.ranks.first:
            return
        tensors = {f"model.{name}": tensor for name, tensor in model_weights(self.model).items()}
        tensors |= {f"optimizer.{name}": tensor for name, tensor in moments(self.optimizers, self.model).items()}
        self.folder.log.sync()
        self.folder.checkpoints.write(Checkpoint(state.step, tensors, state.to_dict() | self._surroundings()))
        self._saved = state
        self._prune(state.step)

    def resume(self) -> TrainingState:
        """Restore the latest checkpoint that is intact, with its snapshots; without one, start from step 0.

        Rank 0 reads it and hands it to the others, who may have no disk in common with it.
        """
        self._refuse_other_disks()
        found = self._usable() if self.ranks.first else None
        step, state = self.ranks.agree(None if found is None else (found.step, dict(found.state))) or (None, {})
        if step is None:
            self.ranks.agree_on_tensors([weight.data for weight in self.model.parameters()])
            return TrainingState()
        tensors = agreed_tensors(self.ranks, None if found is None else found.tensors)
        return self._restore(Checkpoint(step, tensors, state))

    def _refuse_other_disks(self) -> None:
        latest = [steps[-1] if steps else 0 for steps in self.ranks.gather(self.folder.checkpoints.steps())]
        if max(latest) > latest[0]:
            rank = latest.index(max(latest))
            raise RegardError(
                f"{self.folder.path}: rank {rank} finds a checkpoint of step {max(latest)} here, and rank 0 finds none "
                "so late; put the folder of runs on a disk that all machines share, or start with the same rank 0"
            )

    def _usable(self) -> Checkpoint | None:
        usable = None
        for checkpoint in self.folder.checkpoints.newest_first(self.note):
            if self._snapshots_are_whole(checkpoint):
                return checkpoint
            usable = usable or checkpoint
        return usable

    def snapshot(self, history: History, improved: bool) -> None:
        """Save the current weights if they may become part of the model; the best so far are the model file's."""
        step = history.points[-1].step
        if step not in self.needed(history) or not self.ranks.first:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self._weights().items()}
        self.folder.snapshots.write(Checkpoint(step, tensors, {}))
        if improved:
            alone = self.settings.average_of == "best"
            self._export(self._read_average([step] if alone else self.chosen(history))[0])

    def final(self, history: History, judge: Callable[[dict[str, Tensor]], Rank] | None = None) -> Final:
        """The finished model, also written to the run's model file.

        It is the mean of the chosen weights; with a `judge`, which ranks weights, only where that is no
        worse than the best validation, whose weights it is otherwise.
        """
        made = self._final(history, judge)
        self._export(made.weights)
        return made

    def _final(self, history: History, judge: Callable[[dict[str, Tensor]], Rank] | None) -> Final:
        weights, steps = self._average(self.chosen(history))
        best = history.best
        if judge is None or best is None or len(steps) < 2 or self.settings.average_of == "last":
            return Final(weights, tuple(steps))
        rank = judge(weights)
        if rank < best.rank and best.step in steps:
            return Final(self._average([best.step])[0], (best.step,), tuple(steps), rank[0])
        return Final(weights, tuple(steps), tuple(steps), rank[0])

    def chosen(self, history: History) -> list[int]:
        """The steps whose weights are averaged into the model."""
        pick = history.around if self.settings.average_of == "best" else history.last
        return pick(self.settings.average)

    def needed(self, history: History) -> set[int]:
        """The steps whose weights are averaged, or would be after a better validation to come."""
        return {*self.chosen(history), *history.last(self.settings.average - 1)}

    def _average(self, steps: list[int]) -> tuple[dict[str, Tensor], list[int]]:
        """The mean of the weights of some steps, which rank 0 reads, and the steps that could be read."""
        weights, found = self._read_average(steps) if self.ranks.first else (None, [])
        return agreed_tensors(self.ranks, weights), self.ranks.agree(found)

    def _read_average(self, steps: list[int]) -> tuple[dict[str, Tensor], list[int]]:
        found: list[int] = []

        def parts() -> Iterator[dict[str, Tensor]]:
            for step in steps:
                try:
                    weights = self.folder.snapshots.read(step).part("model")
                except RegardError as error:
                    self.note(f"{error}; the weights are averaged without it")
                    continue
                found.append(step)
                yield weights

        sets = parts()
        first = next(sets, None)
        if first is None:
            self.note("no snapshot can be read; the model gets the latest weights")
            first = {name: tensor.cpu() for name, tensor in self._weights().items()}
        return average_tensors(chain([first], sets)), found

    def _export(self, weights: dict[str, Tensor]) -> None:
        if self.artifact is not None and self.ranks.first:
            tied = {name: weights[first] for name, first in self._ties().items() if first in weights}
            save_artifact(self.folder.model, self.artifact.with_weights(merged(weights | tied)))

    def _weights(self) -> dict[str, Tensor]:
        """The model's weights; tied weights appear once."""
        return model_weights(self.model)

    def _ties(self) -> dict[str, str]:
        """For each further name of a tied weight its first name."""
        return split_ties(self.model.state_dict())[1]

    def _restore(self, checkpoint: Checkpoint) -> TrainingState:
        name = str(self.folder.checkpoints.path(checkpoint.step))
        set_weights(self.model, checkpoint.part("model"), name)
        restore_moments(self.optimizers, self.model, checkpoint.part("optimizer"))
        return self._take_state(name, dict(checkpoint.state))

    def _take_state(self, name: str, table: dict[str, Any]) -> TrainingState:
        """The state of a checkpoint, without its surroundings, which are kept to compare."""
        table.pop("shards", None)
        self.lanes_before = table.pop("lanes", None)
        self.short = table.pop("short", False)
        before = {what: table.pop(what) for what in ("threads", "torch")}
        self._before = (name, before | {"kernels": table.pop("kernels", "torch")})
        self._saved = TrainingState.from_dict(table)
        return self._saved

    def compare_surroundings(self) -> None:
        """Note what differs from the circumstances of the checkpoint that was restored."""
        name, before = self._before
        if self.lanes_before is None and self.lanes and self.lanes.count > 1:
            before.pop("threads", None)  # an older checkpoint counts those of all lanes together
        for what, now in self._surroundings().items():
            if what in before and before[what] != now:
                self.note(
                    f"{name}: was made with {what} {before[what]}, now {now}: the last digits may come out differently"
                )

    def _surroundings(self) -> dict[str, Any]:
        """What bit-for-bit deterministic sums depend on: lanes, the threads of each, and the kernels that compute."""
        count = self.lanes.count if self.lanes else 1
        threads = self.lanes.threads if self.lanes and count > 1 else torch.get_num_threads()
        short = {"short": True} if self.short else {}
        cpu = next(self.model.parameters()).device.type == "cpu"
        found = training_kernels() if cpu and threads == 1 else None
        kernels = "torch" if found is None else found.kind.removesuffix("vnni")  # which multiplies bytes, not floats
        return {"threads": threads, "torch": torch.__version__, "kernels": kernels, "lanes": count, **short}

    def _snapshots_are_whole(self, checkpoint: Checkpoint) -> bool:
        for step in sorted(self.needed(History.from_list(checkpoint.state["history"]))):
            try:
                self.folder.snapshots.read(step)
            except RegardError as error:
                self.note(f"{error}; training resumes from an earlier checkpoint, if there is one")
                return False
        return True

    def _prune(self, step: int) -> None:
        """Keep the last checkpoints up to this step, and their snapshots; later ones are damaged or obsolete."""
        kept = [other for other in self.folder.checkpoints.steps() if other <= step][-self.settings.keep :]
        self.folder.checkpoints.keep(kept)
        try:
            histories = [History.from_list(self.folder.checkpoints.state(other)["history"]) for other in kept]
        except RegardError:
            return  # a checkpoint's snapshots are unknown, so none is deleted
        self.folder.snapshots.keep({step for history in histories for step in self.needed(history)})

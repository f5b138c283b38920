"""The training loop. It is deterministic: a killed run resumes from its checkpoint and ends with the same bits.

The next step depends only on the weights, the optimizer's moments and a small `TrainingState`, which a checkpoint
holds. The batches of a position and the random numbers of a step are always the same. So a resumed run repeats what
was lost, on the same device with the same number of threads, in one process or shared by several ranks.
"""

import math
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.base import processor
from regard.base.allocator import keep_memory
from regard.base.errors import ConfigError, RegardError
from regard.base.ranks import ALONE, LostRankError, Ranks, sharing
from regard.base.wording import counted
from regard.data.item import Item, Items
from regard.data.plan import BatchPosition
from regard.runs.artifact import Artifact
from regard.runs.folder import RunFolder
from regard.training.history import Rank, ValidationPoint, rank_of
from regard.training.interrupt import Interrupted, Signals
from regard.training.keeper import Final, Keeper
from regard.training.lanes import TOTAL, Lanes, Sums
from regard.training.loss import Loss, Objective
from regard.training.mixed_precision import is_faster_short, mixed
from regard.training.optimizer import Optimizers, set_rate, take_step
from regard.training.progress import Pace, Progress, StepReport, StepWork
from regard.training.settings import TrainingSettings
from regard.training.shard_keeper import ShardKeeper
from regard.training.sharded_tensor import whole_tensor
from regard.training.shards import Shards
from regard.training.state import TrainingState, seed_of, set_weights
from regard.training.tuning import scale_rates
from regard.training.validation import Validate, means, validate_quietly


class DivergedError(RegardError):
    """Training diverged: the loss or its gradient is NaN or infinite."""


@dataclass(frozen=True)
class Outcome:
    """How training ended: the last step, the reason, the best validation, and the steps whose weights were averaged."""

    step: int
    reason: str
    best: ValidationPoint | None
    averaged: tuple[int, ...]
    made: str = ""
    """which weights the model has, in words; empty where there was nothing to choose from"""


class Trainer:
    """Trains a model in a run folder.

    `objective` computes the loss of a model on a batch, and `unit` names what it counts, such as tokens. `validate`
    gives the metrics of a model, of which `settings.metric` decides; those named in `lower` are better when lower. With
    an `artifact` (without weights), the folder's model file is written after every new best validation, and at the end.
    `ranks` train together, each with a trainer of the same arguments; rank 0 writes.
    `rates` are shares of the learning rate, for weights that learn more slowly than others.
    """

    def __init__(
        self,
        model: nn.Module,
        batches: Items,
        settings: TrainingSettings,
        folder: RunFolder,
        *,
        objective: Objective,
        unit: str = "tokens",
        validate: Validate | None = None,
        lower: Collection[str] = ("loss", "perplexity"),
        progress: Progress | None = None,
        artifact: Artifact | None = None,
        rates: Mapping[nn.Parameter, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
        ranks: Ranks = ALONE,
    ) -> None:
        self.model, self.batches, self.settings, self.folder = model, batches, settings, folder
        self.objective, self.unit = objective, unit
        self.validate, self.lower, self.progress = validate, lower, progress or Progress()
        self.device = next(model.parameters()).device
        if settings.precision == "bfloat16" and self.device.type == "cpu":
            processor.check("bfloat16", "training.precision")
        self.state = TrainingState()
        self.ranks = ranks
        self._check_lanes(settings.lanes)
        shared = settings.distribution == "shards" and ranks.size > 1
        self._short = self._is_short()
        self._shards = Shards(model, settings.lanes, ranks, self._short) if shared else None
        self.optimizers: Optimizers = settings.optimizer.build(model)
        scale_rates(self.optimizers, rates or {})
        rest = (self.optimizers, folder, settings, artifact, self.progress.note, ranks)
        self._keeper = Keeper(model, *rest) if self._shards is None else ShardKeeper(self._shards, *rest)
        self._pace, self._work = Pace(clock), StepWork()
        self._signals = Signals()

    def run(self) -> Outcome:
        """Train to the end, resuming from the run folder's checkpoint if any; the model then has the final weights.

        On a signal to stop, the trainer writes a checkpoint and raises Interrupted.
        """
        if self.device.type == "cpu":
            keep_memory()
        self.state = self._keeper.resume()
        self._lanes = self._keeper.lanes = self._make_lanes(self._keeper.lanes_before)
        self._keeper.compare_surroundings()
        if self.settings.precision == "auto" and self.device.type == "cpu" and isinstance(self._lanes, Lanes):
            self._short = self._keeper.short = self._choose_precision(self._lanes)
        if self.ranks.first:
            self.folder.log.rewind(self.state.lines)
        self.progress.resumed(self.state.step)
        for remark in self.settings.remarks(self.ranks.size):
            self.progress.note(remark)
        with self._signals:
            try:
                with closing(_generate(self.batches.walk(self.state.position))) as items:
                    self._loop(items)
                final = self._keeper.final(self.state.history, self._judge if self.validate else None)
            except (Interrupted, LostRankError) as error:
                if self._shards is None or isinstance(error, Interrupted):
                    self._keeper.save(self.state)
                number = error.number if isinstance(error, Interrupted) else self._signals.received
                if number is None:
                    raise
                raise Interrupted(number, self.state.step) from None
        if self._shards is None:
            set_weights(self.model, final.weights, "the average")
        else:
            self._shards.set_weights(final.weights)
        best = self.state.history.best
        return Outcome(self.state.step, self._ending() or "", best, final.steps, self._account(final, best))

    def _make_lanes(self, before: int | None) -> Lanes | Shards:
        """As many lanes as are set, or as the run began with; each rank computes at least one."""
        if self._shards is not None:
            return self._shards
        self._check_lanes(wanted := self.settings.lanes or before)
        return Lanes(self.model, wanted, self.ranks)

    def _check_lanes(self, count: int | None) -> None:
        if count is not None and count < self.ranks.size:
            raise ConfigError(
                f"training.lanes: {self.ranks.size} ranks cannot share {count} lanes; start at most {count} ranks, "
                f"or begin a new run with training.lanes = {self.ranks.size}"
            )

    def _check_signals(self) -> None:
        """Raise Interrupted if a rank received a signal; all ranks then stop after the same step."""
        received = [number for number in self.ranks.gather(self._signals.received) if number is not None]
        if received:
            self._signals.received = received[0]
        self._signals.check()

    def _loop(self, items: Iterator[tuple[BatchPosition, Item]]) -> None:
        position, item = next(items)
        while True:
            self.state = replace(self.state, position=position)
            step, ending = self.state.step, self._ending()
            fresh = self.state.validated == step
            if not fresh and (ending or step % self.settings.validate_every == 0):
                self._validate()
                ending, fresh = self._ending(), True
            if step and (fresh or ending or step % self.settings.checkpoint_every == 0):
                self._keeper.save(self.state)
            if ending:
                return
            self._check_signals()
            group = [item]
            while len(group) < self.settings.accumulate:
                group.append(next(items)[1])
            self._step(position.epoch, group)
            position, item = next(items)

    def _ending(self) -> str | None:
        """The reason to end: early stopping, or the limit of steps or epochs; None to go on."""
        limits = self.settings
        if limits.patience is not None and self.state.history.stale >= limits.patience:
            return f"early stopping: no better validation in {limits.patience}"
        if limits.steps is not None and self.state.step >= limits.steps:
            return f"{counted(limits.steps, 'step')} done"
        if limits.epochs is not None and self.state.position.epoch >= limits.epochs:
            return f"{counted(limits.epochs, 'epoch')} done"
        return None

    def _step(self, epoch: int, group: list[Item]) -> None:
        step = self.state.step + 1
        rate = self.settings.rate(step, self.state.history.scores)
        set_rate(self.optimizers, rate)
        torch.manual_seed(seed_of(self.settings.seed, step))
        sums, count = self._backward(group)
        with self._lanes.lane_threads():
            loss, norm = sums[TOTAL], self._clip()
            if not math.isfinite(loss) or not math.isfinite(norm):
                raise DivergedError(self._divergence(step, loss, norm, rate))
            with mixed(self.device, self._short and self._shards is None):
                take_step(self.optimizers)
        before = self.state
        self.state = replace(
            before,
            step=step,
            seen=before.seen + count,
            counted=before.counted + count,
            sums={name: before.sums.get(name, 0.0) + value for name, value in sums.items()},
        )
        self._pace.tick(count)
        self._work.tick()
        self._report(epoch, loss / count, rate, norm)

    def _backward(self, group: list[Item]) -> tuple[Sums, int]:
        """Gradient accumulation: the gradients of the mean loss over all batches of a step; returns the loss sums."""
        self.model.train()
        count = sum(item.count for item in group)
        seeds = [seed_of(self.settings.seed, self.state.step + 1, number) for number in range(len(group))]
        items = [item.to(self.device) for item in group]
        return self._lanes.backward(self._measure, items, count, seeds), count

    def _measure(self, model: Any, item: Any) -> Loss:
        with mixed(self.device, self._short and self._shards is None):  # shards are gathered in that precision
            return self.objective(model, item)

    def _choose_precision(self, lanes: Lanes) -> bool:
        """Whether products are in bfloat16: as the run began, or, on a CPU, if that is faster (precision = auto)."""
        if self.state != TrainingState():
            reasons = self.ranks.gather(processor.refusal("bfloat16") if self._keeper.short else None)
            reason = next(filter(None, reasons), None)
            if reason is not None:
                self.progress.note(f"this run computes in bfloat16, but goes on in float32, to other digits: {reason}")
            return self._keeper.short and reason is None
        with closing(_generate(self.batches.walk(self.state.position))) as items:
            item = next(items)[1]

        def backward(short: bool) -> None:
            self._short = short
            torch.manual_seed(self.settings.seed)
            self._backward([item])

        return is_faster_short(self.model, item, lanes, backward, self.progress.say, self.ranks)

    def _is_short(self) -> bool:
        """Whether matrix products are computed in bfloat16, as far as that is known without a trial."""
        wanted, gpu = self.settings.precision, self.device.type == "cuda"
        return wanted == "bfloat16" or (wanted == "auto" and gpu and torch.cuda.is_bf16_supported())

    def _clip(self) -> float:
        """Gradient clipping to `settings.clip`; returns the gradient's norm before clipping."""
        weights = [weight for weight in self.model.parameters() if weight.grad is not None]
        norm = torch.nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
        found = whole_tensor(norm).item()
        if self.settings.clip is not None and found > self.settings.clip:
            torch.nn.utils.clip_grads_with_norm_(weights, self.settings.clip, norm)
        return found

    def _report(self, epoch: int, loss: float, rate: float, norm: float) -> None:
        state, steps, pace = self.state, self.settings.steps, self._pace
        left = None if steps is None else (steps - state.step) * pace.seconds_per_step
        if state.step % self.settings.log_every == 0:
            self._log(
                "train",
                epoch=epoch,
                **{self.unit: state.seen},
                **means(state.sums, state.counted),
                learning_rate=rate,
                gradient_norm=norm,
                **{f"{self.unit}_per_second": round(pace.per_second, 1)},
                processor_seconds=round(self._work.taken(), 6),
            )
            self.state = replace(self.state, sums={}, counted=0)
        self.progress.stepped(
            StepReport(
                step=state.step,
                steps=steps,
                epoch=epoch,
                loss=loss,
                learning_rate=rate,
                gradient_norm=norm,
                unit=self.unit,
                per_second=pace.per_second,
                seconds_left=left,
            )
        )

    def _validate(self) -> None:
        """Validate the model; without a validation, the latest weights count as the best."""
        step, metrics, rank = self.state.step, dict[str, float](), (float(self.state.step), 0.0)
        if self.validate is not None:
            metrics = self._metrics(self.validate)
            rank = rank_of(metrics, self.settings.metric, self.lower)
        history = self.state.history.add(step, *rank)
        improved = history.best is not None and history.best.step == step
        self._keeper.snapshot(history, improved)
        if metrics:
            self._log("valid", epoch=self.state.position.epoch, **{self.unit: self.state.seen}, **metrics)
            self.progress.validated(step, metrics, improved)
        self.state = replace(self.state, history=history, validated=step)
        self._pace.resume()
        self._work.resume()

    def _metrics(self, validate: Validate, weights: dict[str, Tensor] | None = None) -> dict[str, float]:
        """The metrics of the model; ranks share the work, and the numbers of rank 0 are those of all.

        A sharded model is validated whole, and not interrupted: its checkpoints need all ranks.
        """
        if self._shards is not None:
            with self._shards.whole(weights) as plain, sharing(self.ranks):
                metrics = validate_quietly(validate, plain)
        else:
            if weights is not None:
                set_weights(self.model, weights, "the average")
            with self._signals.at_once(), sharing(self.ranks):
                metrics = validate_quietly(validate, self.model)
        agreed: dict[str, float] = self.ranks.agree(metrics)
        return agreed

    def _judge(self, weights: dict[str, Tensor]) -> Rank:
        """The rank of averaged weights; its log entry is the last, and is written anew when a run is started again."""
        metrics = self._metrics(self.validate, weights) if self.validate else {}
        if self.ranks.first:
            self.folder.log.append("average", self.state.step, **metrics)
        return rank_of(metrics, self.settings.metric, self.lower)

    def _account(self, final: Final, best: ValidationPoint | None) -> str:
        """Which weights the model has, in words."""
        count, metric = len(final.tried or final.steps), self.settings.metric
        if final.score is None or best is None:
            return f"the mean of {count} validations" if count > 1 else ""
        mean, single = (-score if metric in self.lower else score for score in (final.score, best.score))
        if len(final.steps) > 1:
            return f"the mean of {count} validations ({metric} {mean:.4g}, best single {single:.4g})"
        equal = f"{mean:.4g}" == f"{single:.4g}"
        worse = f"the mean of {count} was {'no better' if equal else f'worse ({mean:.4g})'}"
        return f"the best validation, step {best.step} ({metric} {single:.4g}); {worse}"

    def _log(self, kind: str, **values: Any) -> None:
        if self.ranks.first:
            self.folder.log.append(kind, self.state.step, **values)
        self.state = replace(self.state, lines=self.state.lines + 1)

    def _divergence(self, step: int, loss: float, norm: float, rate: float) -> str:
        what = f"the loss is {loss}" if not math.isfinite(loss) else f"the gradient's norm is {norm}"
        kept = self.folder.checkpoints.steps()
        last = f"; the last checkpoint is that of step {kept[-1]}" if kept else ""
        return (
            f"step {step}: {what} at learning rate {rate:.3g}{last}; "
            "try a lower learning_rate, a longer warmup or a smaller clip in a new run"
        )


def _generate(items: Iterator[Any]) -> Generator[Any, None, None]:
    """The same items as a generator, which can be closed."""
    yield from items

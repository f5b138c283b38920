import errno
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from regard.base import files, processor
from regard.base.errors import RegardError, UsageError
from regard.data.plan import BatchPosition
from regard.data.windows import Streams, StreamSettings
from regard.models.gpt import Gpt
from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact, load_artifact
from regard.runs.folder import RunFolder
from regard.training import keeper
from regard.training.interrupt import Interrupted
from regard.training.loss import CrossEntropy, Loss
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon
from regard.training.progress import Progress, StepReport
from regard.training.schedules.constant import Constant
from regard.training.schedules.cosine import Cosine
from regard.training.schedules.plateau import Plateau
from regard.training.state import seed_of
from regard.training.trainer import DivergedError, Outcome, Trainer

from . import examples

ROOT = Path(__file__).resolve().parents[2]
ARTIFACT = Artifact(config={"model": {"name": "tiny"}}, task="translate", sizes=examples.SIZES)


class Watcher(Progress):
    """Keeps what it is told, and may act after a step."""

    def __init__(self, after: Mapping[int, Any] | None = None) -> None:
        self.after = after or {}
        self.notes: list[str] = []
        self.reports: list[StepReport] = []
        self.validations: list[tuple[int, bool]] = []
        self.start = -1

    def resumed(self, step: int) -> None:
        self.start = step

    def stepped(self, report: StepReport) -> None:
        self.reports.append(report)
        if report.step in self.after:
            self.after[report.step]()

    def validated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        assert metrics.keys() == {"loss", "perplexity", "wave"}
        self.validations.append((step, improved))

    def note(self, text: str) -> None:
        self.notes.append(text)


def trainer(path: Path, watcher: Watcher | None = None, **changes: Any) -> Trainer:
    return Trainer(
        examples.tiny(),
        examples.Made(),
        examples.settings(**changes),
        examples.run_folder(path),
        objective=examples.measured(),
        validate=examples.validation(),
        progress=watcher or Watcher(),
        artifact=ARTIFACT,
    )


def log_of(folder: Path) -> list[dict[str, Any]]:
    entries = list(RunFolder(folder).log.entries())
    for entry in entries:
        entry.pop("tokens_per_second", None)
        entry.pop("processor_seconds", None)
    return entries


def same_run(one: Path, other: Path) -> bool:
    """The models are equal byte by byte, the logs but for times, and so is what is kept."""
    names = [{path.name for path in folder.rglob("*.safetensors")} for folder in (one, other)]
    models = [(folder / "model.safetensors").read_bytes() for folder in (one, other)]
    return names[0] == names[1] and models[0] == models[1] and log_of(one) == log_of(other)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    trainer(folder).run()
    return folder


# The same run, however often it is stopped


def killed(folder: Path, *moments: str) -> None:
    command = [sys.executable, str(ROOT / "tests" / "training" / "killed.py"), str(folder), *moments]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_killed_at_any_moment_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    killed(tmp_path / "whole")
    killed(
        tmp_path / "killed",
        *("step:1", "step:4", "sync:2", "sync:3", "sync:4", "log:2", "valid:1", "valid:2", "sync:6", "sync:11"),
        *("step:19", "sync:13", "step:23", "log:1", "valid:1", "sync:4", "step:30"),
    )
    assert same_run(tmp_path / "whole", tmp_path / "killed")
    states = [RunFolder(tmp_path / name).checkpoints.read(30) for name in ("whole", "killed")]
    assert states[0].state == states[1].state
    assert all(torch.equal(tensor, states[1].tensors[name]) for name, tensor in states[0].tensors.items())
    assert not list((tmp_path / "killed").rglob("*.tmp"))


@pytest.mark.parametrize(
    ("number", "code", "cause"),
    [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "a request to end"), (signal.SIGHUP, 129, "terminal")],
)
def test_asked_to_stop_it_saves_and_goes_on_later(
    number: signal.Signals, code: int, cause: str, undisturbed: Path, tmp_path: Path
) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=rf"stopped by .*{cause} after step 11; the run is saved") as raised:
        trainer(tmp_path, Watcher({11: lambda: signal.raise_signal(number)})).run()
    assert raised.value.exit_code == code
    assert signal.getsignal(number) == before
    assert RunFolder(tmp_path).checkpoints.steps()[-1] == 11
    resumed = Watcher()
    trainer(tmp_path, resumed).run()
    assert resumed.start == 11
    assert resumed.notes == []
    assert same_run(tmp_path, undisturbed)


def test_asked_to_stop_while_validating_it_validates_later(undisturbed: Path, tmp_path: Path) -> None:
    stopped = trainer(tmp_path)
    validate = stopped.validate
    assert validate is not None

    def interrupting(model: Any) -> Any:
        if stopped.state.step == 8:
            signal.raise_signal(signal.SIGINT)
        return validate(model)

    stopped.validate = interrupting
    with pytest.raises(Interrupted, match="after step 8"):
        stopped.run()
    assert [entry["step"] for entry in log_of(tmp_path) if entry["kind"] == "valid"] == [4]
    trainer(tmp_path).run()
    assert same_run(tmp_path, undisturbed)


def test_with_several_optimizers_it_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    muon = Muon(learning_rate=0.02, weight_decay=0.01)
    trainer(tmp_path / "whole", optimizer=muon).run()
    with pytest.raises(Interrupted):
        trainer(tmp_path / "stopped", Watcher({11: lambda: signal.raise_signal(signal.SIGINT)}), optimizer=muon).run()
    assert any("momentum/" in name for name in RunFolder(tmp_path / "stopped").checkpoints.read(11).tensors)
    trainer(tmp_path / "stopped", optimizer=muon).run()
    assert same_run(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.parametrize("how", ["flip", "cut", "empty"])
def test_a_damaged_checkpoint_costs_steps_but_no_bit(how: str, undisturbed: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        trainer(tmp_path, Watcher({17: lambda: signal.raise_signal(signal.SIGINT)})).run()
    path = RunFolder(tmp_path).checkpoints.path(17)
    data = bytearray(path.read_bytes())
    data[-5] ^= 16
    path.write_bytes({"flip": bytes(data), "cut": bytes(data[:-9]), "empty": b""}[how])
    watcher = Watcher()
    trainer(tmp_path, watcher).run()
    assert watcher.start == 16
    assert [path.name in note for note in watcher.notes] == [True]
    assert same_run(tmp_path, undisturbed)


def test_a_damaged_snapshot_is_made_again_where_it_can_be(undisturbed: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        trainer(tmp_path, Watcher({18: lambda: signal.raise_signal(signal.SIGINT)}), keep=3).run()
    folder = RunFolder(tmp_path)
    assert folder.checkpoints.steps() == [15, 16, 18]
    folder.snapshots.path(16).write_bytes(b"")
    watcher = Watcher()
    trainer(tmp_path, watcher, keep=3).run()
    assert watcher.start == 15
    assert any("step-00000016.safetensors: the file is empty" in note for note in watcher.notes)
    assert (tmp_path / "model.safetensors").read_bytes() == (undisturbed / "model.safetensors").read_bytes()


def test_a_snapshot_that_is_lost_for_good_is_left_out(tmp_path: Path) -> None:
    first = trainer(tmp_path, average_of="last").run()
    assert (len(first.averaged), first.made) == (3, "the mean of 3 validations")
    RunFolder(tmp_path).snapshots.path(first.averaged[0]).unlink()
    watcher = Watcher()
    again = trainer(tmp_path, watcher, average_of="last").run()
    assert again.averaged == first.averaged[1:]
    assert "the weights are averaged without it" in watcher.notes[-1]


def test_a_full_disk_is_one_sentence_and_costs_nothing(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, calls = os.fsync, iter([True, False, False])  # the log can still be written

    def full(handle: int) -> None:
        if not next(calls):
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        watcher = Watcher({13: lambda: patch.setattr(files.os, "fsync", full)})
        with pytest.raises(RegardError, match=r"step-00000015\.safetensors: cannot be written: no space left"):
            trainer(tmp_path, watcher).run()
    assert RunFolder(tmp_path).checkpoints.steps() == [9, 12]
    assert not list(tmp_path.rglob("*.tmp"))
    trainer(tmp_path).run()
    assert same_run(tmp_path, undisturbed)


def test_a_finished_run_stays_as_it_is(undisturbed: Path, tmp_path: Path) -> None:
    first = trainer(tmp_path).run()
    watcher = Watcher()
    assert trainer(tmp_path, watcher).run() == first
    assert watcher.reports == []
    assert same_run(tmp_path, undisturbed)


def test_another_model_does_not_fit_the_checkpoints(undisturbed: Path) -> None:
    other = Trainer(
        torch.nn.Linear(2, 2),
        examples.Made(),
        examples.settings(),
        RunFolder(undisturbed),
        objective=examples.measured(),
    )
    with pytest.raises(RegardError, match=r"step-\d+\.safetensors: has no tensor 'bias'"):
        other.run()


# What a step is


def by_hand(steps: int, accumulate: int, clip: float) -> dict[str, torch.Tensor]:
    model = examples.tiny()
    optimizer = torch.optim.AdamW(
        [
            {"params": [weight for weight in model.parameters() if weight.dim() > 1], "weight_decay": 0.1},
            {"params": [weight for weight in model.parameters() if weight.dim() == 1], "weight_decay": 0.0},
        ],
        lr=0.01,
        betas=(0.9, 0.98),
        eps=1e-9,
    )
    position = BatchPosition()
    for step in range(1, steps + 1):
        torch.manual_seed(seed_of(7, step))
        batches = []
        for _ in range(accumulate):
            batches.append(examples.batch(position.epoch, position.index))
            position = position.next(7)
        loss = torch.zeros(())
        for one in batches:
            logits = model(one.source, one.source_lengths, one.target_in)
            loss = loss + F.cross_entropy(
                logits.flatten(0, 1), one.target_out.flatten(), ignore_index=0, reduction="sum", label_smoothing=0.1
            )
        optimizer.zero_grad()
        (loss / sum(one.count for one in batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return model.state_dict()


@pytest.mark.parametrize(("accumulate", "clip"), [(1, 1.0), (3, 0.5), (2, 100.0)])
def test_a_step_is_the_mean_of_its_tokens(accumulate: int, clip: float, tmp_path: Path) -> None:
    model = examples.tiny()
    chosen = examples.settings(
        steps=9,
        seed=7,
        accumulate=accumulate,
        clip=clip,
        average=1,
        average_of="last",
        optimizer=Adam(learning_rate=0.01, weight_decay=0.1),
        schedule=Constant(),
    )
    measured = examples.measured(CrossEntropy(smoothing=0.1, rows=5))
    Trainer(model, examples.Made(), chosen, examples.run_folder(tmp_path), objective=measured).run()
    for name, weights in by_hand(9, accumulate, clip).items():
        torch.testing.assert_close(model.state_dict()[name], weights, rtol=1e-4, atol=1e-5)


def test_the_seed_decides(tmp_path: Path) -> None:
    outcomes = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        trainer(tmp_path / name, seed=seed).run()
        outcomes.append((tmp_path / name / "model.safetensors").read_bytes())
    assert outcomes[0] == outcomes[1] != outcomes[2]


@pytest.mark.usefixtures("bfloat16")
def test_short_floats_learn_too(tmp_path: Path) -> None:
    trainer(tmp_path, precision="bfloat16", metric="loss").run()
    losses = [entry["loss"] for entry in log_of(tmp_path) if entry["kind"] == "valid"]
    assert losses[-1] < losses[0]


def test_short_floats_that_the_processor_cannot_compute_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "refusal", lambda kind: f"the {kind} product ends the process")
    with pytest.raises(UsageError, match=r"training\.precision: the bfloat16 product ends the process; use float32"):
        trainer(tmp_path, precision="bfloat16")
    trainer(tmp_path)


def test_what_is_not_a_number_ends_it_and_is_named(tmp_path: Path) -> None:
    poisoned = trainer(tmp_path)
    plain = poisoned.objective

    def objective(model: Any, item: Any) -> Loss:
        loss = plain(model, item)
        return replace(loss, total=loss.total * float("nan")) if poisoned.state.step == 9 else loss

    poisoned.objective = objective
    with pytest.raises(
        DivergedError, match=r"step 10: the loss is nan at learning rate .*last checkpoint is that of step 9"
    ):
        poisoned.run()
    assert RunFolder(tmp_path).checkpoints.steps() == [8, 9]
    assert RunFolder(tmp_path).checkpoints.read(9).state["step"] == 9


def test_an_endless_gradient_is_named(tmp_path: Path) -> None:
    model = examples.tiny()
    model.middle.weight.register_hook(lambda gradient: gradient * float("inf"))
    stuck = Trainer(
        model, examples.Made(), examples.settings(), examples.run_folder(tmp_path), objective=examples.measured()
    )
    with pytest.raises(DivergedError, match=r"step 1: the gradient's norm is (nan|inf)"):
        stuck.run()


# When it ends, what it makes, and what it says


def test_it_ends_with_patience(tmp_path: Path) -> None:
    waves = iter([0.1, 0.5, 0.2, 0.5, 0.4, 0.5])
    patient = trainer(tmp_path, patience=3, steps=None, schedule=Plateau(patience=2))
    patient.validate = lambda model: {"loss": 1.0, "perplexity": 1.0, "wave": next(waves)}
    outcome = patient.run()
    made = "the mean of 3 validations (wave 0.5, best single 0.5)"
    assert outcome == Outcome(20, "early stopping: no better validation in 3", outcome.best, (12, 16, 20), made)
    assert outcome.best is not None
    assert (outcome.best.step, outcome.best.score) == (16, 0.5)
    rates = {entry["step"]: entry["learning_rate"] for entry in log_of(tmp_path) if entry["kind"] == "train"}
    assert rates[15] == 0.02
    assert rates[18] == 0.01


def test_odd_settings_are_remarked_on(tmp_path: Path) -> None:
    watcher = Watcher()
    trainer(tmp_path, watcher, steps=6, schedule=Cosine(steps=3)).run()
    assert [note for note in watcher.notes if "the learning rate is 0 from step 3 on" in note] == watcher.notes
    assert len(watcher.notes) == 1
    assert [report.learning_rate > 0 for report in watcher.reports] == [True, True, False, False, False, False]


def test_it_ends_with_epochs(tmp_path: Path) -> None:
    outcome = trainer(tmp_path, steps=None, epochs=2).run()
    assert (outcome.step, outcome.reason) == (14, "2 epochs done")


def test_without_validation_the_latest_weights_are_the_model(tmp_path: Path) -> None:
    model = examples.tiny()
    chosen = examples.settings(steps=10, average=2)
    outcome = Trainer(
        model, examples.Made(), chosen, examples.run_folder(tmp_path), objective=examples.measured()
    ).run()
    assert outcome.averaged == (8, 10)
    assert {entry["kind"] for entry in log_of(tmp_path)} == {"train"}


@pytest.mark.parametrize(
    ("mean", "steps", "made"),
    [
        (0.8, (4,), "the best validation, step 4 (wave 0.9); the mean of 3 was worse (0.8)"),
        (0.9, (4, 8, 12), "the mean of 3 validations (wave 0.9, best single 0.9)"),
        (0.95, (4, 8, 12), "the mean of 3 validations (wave 0.95, best single 0.9)"),
    ],
)
def test_the_model_is_never_worse_than_the_best_validation(
    mean: float, steps: tuple[int, ...], made: str, tmp_path: Path
) -> None:
    waves = iter([0.9, 0.1, 0.2, mean])
    scripted = trainer(tmp_path, steps=12)
    scripted.validate = lambda model: {"loss": 1.0, "perplexity": 1.0, "wave": next(waves)}
    outcome = scripted.run()
    assert (outcome.averaged, outcome.made) == (steps, made)
    assert [entry["wave"] for entry in RunFolder(tmp_path).log.entries("average")] == [mean]
    sets = [RunFolder(tmp_path).snapshots.read(step).part("model")["norm.bias"] for step in steps]
    weights = load_artifact(tmp_path / "model.safetensors").weights["norm.bias"]
    torch.testing.assert_close(weights, torch.stack(sets).mean(0))
    assert next(waves, None) is None


def test_of_a_metric_that_is_better_when_lower_the_mean_is_judged_too(tmp_path: Path) -> None:
    losses = iter([3.0, 2.0, 2.5])
    scripted = trainer(tmp_path, steps=8, metric="loss")
    scripted.validate = lambda model: {"loss": next(losses), "perplexity": 1.0, "wave": 0.0}
    assert scripted.run().made == "the best validation, step 8 (loss 2); the mean of 2 was worse (2.5)"


def test_the_model_is_the_average_of_the_best_and_its_neighbors(tmp_path: Path) -> None:
    waves = iter([0.1, 0.2, 0.7, 0.9, 0.8, 0.5, 0.3, 0.2, 9.0])
    scripted = trainer(tmp_path)
    scripted.validate = lambda model: {"loss": 1.0, "perplexity": 1.0, "wave": next(waves)}
    assert scripted.run().averaged == (12, 16, 20)
    folder = RunFolder(tmp_path)
    sets = [folder.snapshots.read(step).part("model") for step in (12, 16, 20)]
    weights = load_artifact(folder.model).weights
    mean = np.mean([one["middle.weight"].double().numpy() for one in sets], axis=0).astype(np.float32)
    np.testing.assert_allclose(weights["middle.weight"].numpy(), mean, rtol=1e-7)
    assert weights["output.weight"].data_ptr() == weights["embedding.weight"].data_ptr()


def test_the_model_that_was_trained_has_the_final_weights(tmp_path: Path) -> None:
    done = trainer(tmp_path)
    done.run()
    weights = load_artifact(tmp_path / "model.safetensors").weights
    assert all(torch.equal(tensor, weights[name]) for name, tensor in done.model.state_dict().items())
    assert done.model.output.weight is done.model.embedding.weight


def test_an_unknown_metric_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"training\.metric: unknown 'wav' \(did you mean 'wave'\?\)"):
        trainer(tmp_path, metric="wav").run()


def test_whoever_watches_is_told(tmp_path: Path) -> None:
    watcher = Watcher()
    watched = trainer(tmp_path, watcher, steps=8)
    ticks = iter(range(0, 10_000, 2))
    watched._pace._clock = lambda: float(next(ticks))
    watched._pace.resume()
    watched.run()
    assert [report.step for report in watcher.reports] == list(range(1, 9))
    assert [report.seconds_left for report in watcher.reports[-2:]] == pytest.approx([2.0, 0.0])
    assert all(report.per_second > 0 and report.steps == 8 for report in watcher.reports)
    assert [report.epoch for report in watcher.reports] == [0] * 7 + [1]
    assert watcher.start == 0
    assert [step for step, _ in watcher.validations] == [4, 8]
    assert watcher.validations[0][1]


def test_another_number_of_threads_is_noted(tmp_path: Path) -> None:
    trainer(tmp_path, steps=3).run()
    threads = torch.get_num_threads()
    watcher = Watcher()
    try:
        torch.set_num_threads(threads + 1)
        trainer(tmp_path, watcher, steps=3).run()
    finally:
        torch.set_num_threads(threads)
    assert f"was made with threads {threads}, now {threads + 1}" in watcher.notes[0]


def test_kernels_that_are_gone_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "training_kernels", lambda: SimpleNamespace(kind="avx512vnni"))
    trainer(tmp_path, steps=2).run()
    trainer(tmp_path, unmoved := Watcher(), steps=2).run()
    assert not any("kernels" in note for note in unmoved.notes)
    monkeypatch.setattr(keeper, "training_kernels", lambda: None)
    trainer(tmp_path, watcher := Watcher(), steps=2).run()
    assert "was made with kernels avx512, now torch: the last digits may come out differently" in watcher.notes[0]


# Real models


def test_a_transformer_learns_to_repeat(tmp_path: Path) -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "feedforward": 32, "heads": 2}
    torch.manual_seed(0)
    model = Transformer(**sizes, dropout=0.1).build(examples.SIZES)
    validate = examples.validating(examples.batch(99, 0))
    artifact = Artifact(config={"model": {"name": "transformer"} | sizes}, task="translate", sizes=examples.SIZES)
    chosen, folder = examples.settings(metric="loss", average=2), examples.run_folder(tmp_path)
    Trainer(
        model, examples.Made(), chosen, folder, objective=examples.measured(), validate=validate, artifact=artifact
    ).run()
    losses = [entry["loss"] for entry in log_of(tmp_path) if entry["kind"] == "valid"]
    assert losses[-1] < losses[0]
    model.eval()
    loaded = load_artifact(tmp_path / "model.safetensors").model()
    with torch.no_grad():
        assert validate(loaded) == validate(model)


def test_a_language_model_learns_from_streams(tmp_path: Path) -> None:
    text = np.tile(np.array([4, 5, 6, 7, 8, 3]), 40)
    streams = Streams(text, StreamSettings(rows=7, length=8))
    torch.manual_seed(0)
    model = Gpt(layers=1, width=16, heads=2, dropout=0.0).build({"text": examples.VOCABULARY})
    validate = examples.validating(*(streams.at(BatchPosition(index=index)) for index in range(len(streams))))
    chosen = examples.settings(metric="perplexity", steps=24)
    Trainer(
        model, streams, chosen, examples.run_folder(tmp_path), objective=examples.measured(), validate=validate
    ).run()
    perplexities = [entry["perplexity"] for entry in log_of(tmp_path) if entry["kind"] == "valid"]
    assert perplexities[-1] < 0.7 * perplexities[0]

"""Multi-task learning: one encoder, a head for each task, a data set for each head.

    loss = Σ_k w_k L_k,  or with uncertainty  Σ_k exp(-s_k) L_k + s_k / 2,  s_k = log σ_k² learned

L_k is the mean loss of task k in a step, which has a batch of every set. Caruana, 1997,
https://doi.org/10.1023/A:1007379606734; uncertainty: Kendall et al., 2018, https://arxiv.org/abs/1705.07115 (a task of
much noise counts less). The first head is the main one: its data decides what an epoch is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor

from regard.base.config import from_dict
from regard.base.errors import ConfigError, UsageError, check_one_of
from regard.data.framed import Frame
from regard.data.plan import BatchSettings
from regard.data.several_sets import SeveralItems, SeveralSets, several_items
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.multitasker import Multitasker
from regard.decoding.predictor import TextReader
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.headed import Headed
from regard.models.model import Design
from regard.runs.artifact import Artifact, load_artifact, save_artifact
from regard.runs.folder import RunFolder
from regard.tasks.class_loss import ClassLoss
from regard.tasks.classify import Classify, LabeledData
from regard.tasks.tag import Tag, TaggedData
from regard.tasks.task import Evaluation, Prepared, Say, Task
from regard.tasks.texts import SubwordChoice, one_model
from regard.training.loss import Loss

HeadTask = Literal["classify", "tag"]
Weighing = Literal["fixed", "uncertainty"]
_DATA: Mapping[str, type] = {"classify": LabeledData, "tag": TaggedData}
_TASKS: Mapping[str, type[Task]] = {"classify": Classify, "tag": Tag}
_SIZES = {"classify": "classes", "tag": "tags"}


@dataclass(frozen=True, kw_only=True)
class HeadSettings:
    """One of the tasks: what its head tells, and what it learns from."""

    task: HeadTask
    """classify: labels of texts, tag: tags of words"""
    data: Any
    """the files, as in the table [data] of a run of that task"""
    weight: float = 1.0
    """how much its mean loss counts"""

    def __post_init__(self) -> None:
        check_one_of("head", get_args(HeadTask), task=self.task)
        if isinstance(self.data, Mapping):
            object.__setattr__(self, "data", from_dict(self.data, _DATA[self.task], "data"))
        if getattr(self.data, "factor", None) is not None:
            raise ConfigError("data.factor: tasks that share an encoder read words alone; use the task tag by itself")
        if not 0 < self.weight < inf:
            raise ConfigError(f"weight must be more than 0, and finite, but is {self.weight}")


@dataclass(frozen=True, kw_only=True)
class MultitaskLoss(ClassLoss):
    """How the losses of the heads are joined; smoothing, consistency and weights are those of heads that classify."""

    weighing: Weighing = "fixed"
    """fixed: by each head's weight; uncertainty: weights are learned, a task of much noise counts less"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("loss", get_args(Weighing), weighing=self.weighing)


@dataclass(frozen=True, kw_only=True)
class PreparedHeads(Prepared):
    """The data of each head."""

    heads: Mapping[str, Prepared]


@dataclass(frozen=True, kw_only=True)
class Multitask(Task):
    """The settings of several tasks at once beside model and training."""

    unit: ClassVar[str] = "answers"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("text",)
    offers: ClassVar[type] = Headed

    heads: Mapping[str, HeadSettings]
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    batches: BatchSettings = field(default_factory=BatchSettings)
    frame: Frame = field(default_factory=lambda: Frame(longest=512))
    joint_loss: MultitaskLoss = field(default_factory=MultitaskLoss, metadata={"path": "training.loss"})

    def __post_init__(self) -> None:
        if len(self.heads) < 2:
            raise ConfigError(f"heads: several tasks are two at least, but there are {len(self.heads)}")
        for name in self.heads:
            if not name.isidentifier():
                raise ConfigError(f"heads: a name must be of letters, digits and _, but one is {name!r}")
        own = {f"{name}_{metric}" for name in self.heads for metric in ("loss", "calibration")}
        object.__setattr__(self, "lower", type(self).lower | own)

    def tasks(self, shared: Path | None = None) -> dict[str, Any]:
        """The task of each head; with `shared`, its subwords are those of that file."""
        subwords = self.subwords if shared is None else replace(self.subwords, load=(shared.resolve(),))
        common: dict[str, Any] = {"subwords": subwords, "batches": self.batches, "frame": self.frame}
        plain = ClassLoss(**{one.name: getattr(self.joint_loss, one.name) for one in fields(ClassLoss)})
        return {
            name: Classify(data=head.data, class_loss=plain, **common)
            if head.task == "classify"
            else Tag(data=head.data, **common)
            for name, head in self.heads.items()
        }

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedHeads:
        say("subwords")
        texts = [text for task in self.tasks().values() for text in task.texts(data)]
        subwords = self.subwords.of_texts(texts, folder / "subwords.json", data)
        found: dict[str, Any] = {}
        for name, task in self.tasks(folder / "subwords.json").items():
            (folder / name).mkdir(exist_ok=True)
            found[name] = task.prepare(folder / name, data, say)
        sizes = {f"{name}.{(kind := _SIZES[head.task])}": found[name].sizes[kind] for name, head in self.heads.items()}
        if self.joint_loss.weighing == "uncertainty":
            sizes["uncertainties"] = len(self.heads)
        return PreparedHeads(
            sizes={"text": len(subwords), **sizes},
            train=SeveralSets({name: own.train for name, own in found.items()}),
            dev=[several_items({name: item}) for name, own in found.items() for item in own.dev],
            tokenizers={"text": subwords.to_json()},
            summary="; ".join(f"{name}: {own.summary}" for name, own in found.items()),
            heads=found,
            notes=tuple(note for own in found.values() for note in own.notes),
        )

    def loss(self, model: Headed, item: SeveralItems) -> Loss:
        """The weighed sum of the heads' mean losses, times what the step counts; each head's loss is a part."""
        tasks, weighed, parts = self.tasks(), [], {}
        for name, own in item.items.items():
            scaled = tasks[name].loss(model.one_head(name), own).total * item.scales[name]
            parts[f"{name}_loss"] = scaled.detach()
            weighed.append(self._weighed(model, name, scaled, item.count))
        return Loss(torch.stack(weighed).sum(), item.count, parts)

    def _weighed(self, model: Headed, name: str, scaled: Tensor, count: int) -> Tensor:
        if self.joint_loss.weighing == "fixed":
            return self.heads[name].weight * scaled
        doubt: Tensor = model.head.log_variance[name]  # type: ignore[index]
        return self.heads[name].weight * ((-doubt).exp() * scaled + count * doubt / 2)

    def metrics(self, model: Headed, prepared: PreparedHeads) -> dict[str, float]:
        """The metrics of each head, named after it; the loss is the sum of their losses by their weights."""
        found: dict[str, float] = {}
        for name, task in self.tasks().items():
            own = prepared.heads[name]
            if own.dev:
                found |= {f"{name}_{key}": value for key, value in task.metrics(model.one_head(name), own).items()}
        known = {name: head.weight for name, head in self.heads.items() if f"{name}_loss" in found}
        return {"loss": sum(weight * found[f"{name}_loss"] for name, weight in known.items())} | found

    def extras(self, design: Design, model: Headed, prepared: PreparedHeads) -> dict[str, Any]:
        """What each head's own task keeps."""
        tasks = self.tasks()
        own = {name: tasks[name].extras(design, model, prepared.heads[name]) for name in self.heads}
        named = [{"name": name, "task": head.task, "extras": own[name]} for name, head in self.heads.items()]
        return {"heads": named}  # a list, since the order counts

    def finish(self, folder: RunFolder, prepared: PreparedHeads, device: str, say: Say) -> None:
        """Write each head with the encoder as a model of its own, which every command takes."""
        whole = load_artifact(folder.model)
        for name in self.heads:
            place = folder.path / f"{name}.safetensors"
            save_artifact(place, head_artifact(whole, name))
            say(f"wrote {place}")

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Headed],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Multitasker:
        """A model of several tasks."""
        artifact, model = one_model(artifacts, models)
        heads = {
            told["name"]: _TASKS[told["task"]].open(
                [head_artifact(artifact, told["name"])], [model.one_head(told["name"])]
            )
            for told in artifact.extras["heads"]
        }
        frame = artifact.extras["heads"][0]["extras"].get("frame", {})
        return Multitasker(
            heads, TextReader(model, Subwords.from_json(artifact.tokenizers["text"]), frame=Frame(**frame))
        )

    @classmethod
    def evaluate(cls, opened: Multitasker, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The scores of each head on its file; one file alone is that of the first head."""
        if len(files) not in (1, len(opened.heads)):
            listed = ", ".join(opened.heads)
            raise UsageError(f"evaluate: give a file for the first head, or one for each of: {listed}")
        scores = []
        for (name, head), file in zip(opened.heads.items(), files, strict=False):
            kind = Tag if hasattr(head, "tags") else Classify
            own = kind.evaluate(head, [file], how if len(files) == 1 else replace(how, out=None))  # type: ignore[arg-type]
            scores += [replace(score, name=f"{name} {score.name}") for score in own]
        return scores


def head_artifact(whole: Artifact, name: str) -> Artifact:
    """The encoder with one head, as a model file of that head's task."""
    told = next(told for told in whole.extras["heads"] if told["name"] == name)
    mine = f"head.heads.{name}."
    weights = {
        f"head.{key.removeprefix(mine)}" if key.startswith(mine) else key: tensor
        for key, tensor in whole.weights.items()
        if key.startswith(mine) or not key.startswith("head.")
    }
    kind = _SIZES[told["task"]]
    sizes = {"text": whole.sizes["text"], kind: whole.sizes[f"{name}.{kind}"]}
    return replace(whole, task=told["task"], sizes=sizes, weights=weights, extras=told["extras"])

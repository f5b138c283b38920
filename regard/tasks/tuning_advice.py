"""Settings that fine-tune a model on labeled texts or pictures, or on lines alone (SimCSE): a run.toml with reasons."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from regard.base.config import to_toml
from regard.base.errors import UsageError
from regard.base.files import read_lines
from regard.base.wording import counted
from regard.data.labeled_files import labeled_format, read_labeled
from regard.data.labels import classes_of
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.strategy import STRATEGIES
from regard.models.model import MODELS
from regard.models.vit import Vit
from regard.runs.artifact import Artifact
from regard.runs.snapshot import open_artifact
from regard.tasks.held_out_examples import split_examples
from regard.tasks.image_advice import PictureModelChoice, image_sets, image_settings
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_files import relative_paths
from regard.tasks.tuning_ways import Way, check_learns, way_of
from regard.tasks.writer_tuning_advice import WRITERS_SIDES, advise_writer_tuning

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "{task}"

[data]
train = {train}
{dev}
[subwords]
load = {base}                  # the vocabulary of the model that training begins with

[frame]
longest = {longest}                  # the most tokens of a text that are read
separators = {separators}

[batches]
tokens = {tokens}                  # per batch, padding included

[training]
base = {base_file}
tuning = {tuning}
steps = {steps}
validate_every = {validate_every}
checkpoint_every = {validate_every}
metric = "{metric}"
clip = 1.0
{loss}
[training.optimizer]
name = "adam"
learning_rate = {rate}
weight_decay = 0.01

[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}

{model}"""

_SMOOTHED = """
[training.loss]
smoothing = 0.1                # label smoothing: no label is taken for certain
"""
_CONSISTENT = """\
consistency = {}              # R-Drop: each text is read twice, and other dropout shall not change the answer
"""
_TWICE = 0.75
"""of the epochs, where each example is read twice"""
_PICTURES = ("pictures", "patches")
_TOKENS = 1_024
_LOOKED_AT = 1_000


@dataclass(frozen=True)
class _Model:
    model: Annotated[Any, MODELS]


@dataclass(frozen=True)
class _Decoding:
    decoding: Annotated[Any, STRATEGIES]


def advise_tuning(files: Sequence[Path], wishes: Wishes, base: Path, way: str = "all") -> Advice:
    """A run.toml that fine-tunes the model at `base` on labels and texts, lines without labels, pictures or pairs."""
    chosen = way_of(way)
    artifact = open_artifact(base)
    if artifact.task in _PICTURES:
        return _advise_pictures(files, wishes, base, artifact, chosen)
    if artifact.task in WRITERS_SIDES:
        return advise_writer_tuning(files, wishes, base, artifact, chosen, _tables(artifact))
    if "text" not in artifact.tokenizers:
        raise UsageError(f"{base}: its task is {artifact.task}; --from takes a model of texts or pictures")
    if len(files) != 1:
        raise UsageError(f"init: --from takes one file of labels and texts, not {len(files)}; or one of lines alone")
    name = wishes.name or files[0].name.partition(".")[0]
    if labeled_format(files[0]) is None and not files[0].is_dir():
        return _advise_lines(files[0], wishes, base, artifact, name, chosen)
    examples = read_labeled(files[0], keys=wishes.hints.columns)
    classes = classes_of(examples, str(files[0]))
    kept, written = split_examples(files[0], examples, wishes, name)
    epochs = round(_TWICE * chosen.epochs) if _is_consistent(chosen, artifact) else chosen.epochs
    steps = _steps(artifact, [" ".join(one.texts) for one in examples], epochs)
    reasons = (
        f"{len(examples):,} examples of {len(classes)} classes: {', '.join(classes[:6])}{' …' * (len(classes) > 6)}",
        f"from {base}, whose task is {artifact.task}: {chosen.words}",
        f"{steps:,} steps of {_TOKENS:,} tokens: the examples about {counted(epochs, 'time')}",
    )
    metric = "accuracy" if "dev" in kept else "loss"
    return Advice(
        _settings("classify", name, kept, wishes, base, artifact, chosen, steps, metric, reasons), reasons, written
    )


def _advise_lines(file: Path, wishes: Wishes, base: Path, artifact: Artifact, name: str, chosen: Way) -> Advice:
    """Sentence vectors from lines without labels: two views of each line by dropout (SimCSE)."""
    if getattr(artifact.design(), "dropout", 0.0) == 0:
        raise UsageError(f"{base}: has no dropout, which makes two views of a line; label the lines, or give pairs")
    check_learns(chosen, artifact.design(), {**artifact.sizes, "vector": 1}, base)
    lines = [line for line in read_lines(file) if line.strip()]
    if len(lines) < 2:
        raise UsageError(f"{file}: has {counted(len(lines), 'line')}; a line is told from others, so two are needed")
    steps = _steps(artifact, lines, 1)
    reasons = (
        f"{len(lines):,} lines without labels: each is its own partner, read twice with other dropout (SimCSE)",
        f"from {base}, whose task is {artifact.task}: {chosen.words}",
        f"{steps:,} steps of {_TOKENS:,} tokens: the lines about once",
    )
    kept = {"train": file} | ({"dev": wishes.dev[0]} if wishes.dev else {})
    metric = "accuracy" if wishes.dev else "loss"
    return Advice(_settings("embed", name, kept, wishes, base, artifact, chosen, steps, metric, reasons), reasons)


def _settings(
    task: str,
    name: str,
    kept: Mapping[str, Path],
    wishes: Wishes,
    base: Path,
    artifact: Artifact,
    chosen: Way,
    steps: int,
    metric: str,
    reasons: Sequence[str],
) -> str:
    """The text of run.toml."""
    where = relative_paths([base], wishes.out)
    frame = artifact.extras.get("frame") or {}
    return _TEMPLATE.format(
        out=wishes.out,
        task=task,
        reasons="\n".join(f"# {reason}" for reason in reasons),
        name=json.dumps(name, ensure_ascii=False),
        train=relative_paths([kept["train"]], wishes.out),
        dev=f"dev = {relative_paths([kept['dev']], wishes.out)}\n" if "dev" in kept else "",
        base=where,
        base_file=json.dumps(json.loads(where)[0], ensure_ascii=False),
        longest=min(256, frame.get("longest") or 256),
        separators=frame.get("separators", 1),
        tokens=_TOKENS,
        tuning=json.dumps(chosen.tuning),
        steps=steps,
        validate_every=max(1, steps // chosen.validations),
        metric=metric,
        loss=_loss(chosen, artifact) if task == "classify" else "",
        rate=chosen.rate,
        warmup=max(1, steps // 10),
        model=to_toml(_Model(artifact.design())),
    )


def _loss(chosen: Way, artifact: Artifact) -> str:
    return _SMOOTHED + (_CONSISTENT.format(chosen.consistency) if _is_consistent(chosen, artifact) else "")


def _is_consistent(chosen: Way, artifact: Artifact) -> bool:
    """Whether two readings of a text are compared; without dropout, they are one."""
    return chosen.consistency > 0 and getattr(artifact.design(), "dropout", 0.0) > 0


def _tables(artifact: Artifact) -> tuple[str, str]:
    """The settings of decoding and of the model, as run.toml has them."""
    told = artifact.config.get("decoding")
    strategy = "" if told is None else f"{to_toml(_Decoding(STRATEGIES.make(told, 'decoding')))}\n"
    return strategy, to_toml(_Model(artifact.design()))


def _advise_pictures(files: Sequence[Path], wishes: Wishes, base: Path, artifact: Artifact, way: Way) -> Advice:
    """A run.toml that fine-tunes a model of pictures; a masked autoencoder gives its encoder, which is a ViT."""
    sets = image_sets(files)
    if sets is None:
        raise UsageError(
            f"init: {base} reads pictures; give a folder with a folder of pictures for each class, or .npz"
        )
    design: Any = artifact.design()
    if artifact.task == "patches":
        design = Vit(**{one.name: getattr(design, one.name) for one in fields(Vit)})
    sizes = artifact.sizes
    where = json.dumps(json.loads(relative_paths([base], wishes.out))[0], ensure_ascii=False)
    chosen = PictureModelChoice(
        to_toml(_Model(design)),
        f"from {base}, whose task is {artifact.task}: {way.words}",
        sizes["channels"],
        sizes["height"],
        sizes["width"],
        optimizer="adam",
        rate=way.rate * 5,
        epochs=30,
        base=f"base = {where}\ntuning = {json.dumps(way.tuning)}\n",
    )
    return image_settings(sets, wishes, lambda *shape: chosen)


def _steps(artifact: Artifact, texts: Sequence[str], epochs: int) -> int:
    subwords = Subwords.from_json(artifact.tokenizers["text"])
    looked = list(texts[:_LOOKED_AT])
    mean = sum(len(ids) + 2 for ids in subwords.encode_batch(looked)) / len(looked)
    return max(20, round(epochs * len(texts) * mean / _TOKENS))

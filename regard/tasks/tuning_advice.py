"""Settings that fine-tune a model on labeled texts: a run.toml with reasons in words.

The learning rates are those usual for small encoders: 1e-4 for all weights, ten times that for adapters, and more for a
head alone, which begins at random.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from regard.base.config import to_toml
from regard.base.errors import UsageError, unknown
from regard.base.files import read_lines
from regard.data.corpus import text_hash
from regard.data.holding_out import held_out_size
from regard.data.labels import LabeledExample, classes_of, read_labeled
from regard.data.subwords.tokenizer import Subwords
from regard.models.model import MODELS
from regard.runs.artifact import Artifact
from regard.runs.snapshot import open_artifact
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_files import relative_paths

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "classify"

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

[training.optimizer]
name = "adam"
learning_rate = {rate}
weight_decay = 0.01

[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}

{model}"""

_TOKENS = 1_024
_LOOKED_AT = 1_000


@dataclass(frozen=True)
class _Model:
    model: Annotated[Any, MODELS]


@dataclass(frozen=True)
class _Way:
    """A way of fine-tuning, with what goes with it."""

    tuning: str
    rate: float
    epochs: int
    words: str


TUNING_WAYS = {
    "all": _Way("all(decay=0.9)", 1e-4, 4, "all weights learn, lower layers more slowly"),
    "frozen": _Way("frozen", 2e-3, 8, "the features stay as they are, and a new head learns"),
    "adapters": _Way("adapters(rank=8)", 1e-3, 4, "low-rank adapters (LoRA) and a new head learn"),
}


def advise_tuning(files: Sequence[Path], wishes: Wishes, base: Path, way: str = "all") -> Advice:
    """A run.toml that fine-tunes the model at `base` on a file of labels and texts."""
    if way not in TUNING_WAYS:
        raise UsageError(unknown("--tuning", way, TUNING_WAYS, "ways of fine-tuning"))
    artifact = open_artifact(base)
    if "text" not in artifact.tokenizers or artifact.task == "language":
        raise UsageError(f"{base}: its task is {artifact.task}; --from takes an encoder of texts, such as a BERT")
    if len(files) != 1:
        raise UsageError(f"init: --from takes one file of labels and texts, not {len(files)}")
    examples = read_labeled(files[0])
    classes = classes_of(examples, str(files[0]))
    name = wishes.name or files[0].name.partition(".")[0]
    kept, written = _split(files[0], examples, wishes, name)
    chosen, steps = TUNING_WAYS[way], _steps(artifact, examples, TUNING_WAYS[way].epochs)
    reasons = (
        f"{len(examples):,} examples of {len(classes)} classes: {', '.join(classes[:6])}{' …' * (len(classes) > 6)}",
        f"from {base}, whose task is {artifact.task}: {chosen.words}",
        f"{steps:,} steps of {_TOKENS:,} tokens: the examples about {chosen.epochs} times",
    )
    where = relative_paths([base], wishes.out)
    frame = artifact.extras.get("frame") or {}
    text = _TEMPLATE.format(
        out=wishes.out,
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
        validate_every=max(1, steps // (2 * chosen.epochs)),
        metric="accuracy" if "dev" in kept else "loss",
        rate=chosen.rate,
        warmup=max(1, steps // 10),
        model=to_toml(_Model(artifact.design())),
    )
    return Advice(text, reasons, written)


def _split(
    file: Path, examples: Sequence[LabeledExample], wishes: Wishes, name: str
) -> tuple[dict[str, Path], dict[Path, str]]:
    """The files to train and validate on; without a dev set one is held out: always the same texts."""
    if wishes.dev:
        return {"train": file, "dev": wishes.dev[0]}, {}
    size = held_out_size(len(examples)) if wishes.hold_out is None else wishes.hold_out
    if not size or 2 * size > len(examples):
        return {"train": file}, {}
    order = sorted(examples, key=lambda one: (text_hash(one.texts[0]), one.line))
    hidden = {text_hash(one.texts[0]) for one in order[:size]}
    lines = list(read_lines(file))
    parts: dict[str, list[str]] = {"train": [], "dev": []}
    for example in examples:
        parts["dev" if text_hash(example.texts[0]) in hidden else "train"].append(lines[example.line - 1])
    suffix = next(suffix for suffix in reversed(file.suffixes) if suffix != ".gz")
    places = {part: wishes.out.parent / f"{name}-{part}{suffix}" for part in parts}
    return places, {places[part]: "".join(f"{line}\n" for line in own) for part, own in parts.items()}


def _steps(artifact: Artifact, examples: Sequence[LabeledExample], epochs: int) -> int:
    subwords = Subwords.from_json(artifact.tokenizers["text"])
    looked: list[Any] = [" ".join(one.texts) for one in examples[:_LOOKED_AT]]
    mean = sum(len(ids) + 2 for ids in subwords.encode_batch(looked)) / len(looked)
    return max(20, round(epochs * len(examples) * mean / _TOKENS))

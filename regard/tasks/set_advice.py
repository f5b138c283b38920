"""Recommended settings for sets: a run.toml with reasons in words."""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.data.set_examples import SetExample
from regard.tasks.held_out_examples import split_objects
from regard.tasks.task import Advice, Wishes

_LARGE = 64
"""elements from which on induced points are cheaper"""
_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
# {reason}
name = {name}
task = "sets"

[data]
{data}goal = "{goal}"                # number, count, class or clusters
batch = 128

[model]
name = "{model}"       # or deep_sets
{preset}
[training]
steps = 3000
validate_every = 500
checkpoint_every = 500
metric = "{metric}"

[training.optimizer]
name = "adam"
learning_rate = 0.001

[training.schedule]
name = "cosine"
warmup = 200
"""


def set_settings(files: Sequence[Path], wishes: Wishes, examples: Sequence[SetExample]) -> Advice:
    """A run.toml for sets and targets; large sets get induced points."""
    sizes = [len(one.elements) for one in examples]
    goal = "class" if isinstance(examples[0].target, str) else "number"
    model = wishes.model or "set_transformer"
    preset = wishes.preset or ("induced" if max(sizes) > _LARGE and model == "set_transformer" else None)
    reason = (
        f"{len(examples):,} sets of {min(sizes)} to {max(sizes)} elements of {examples[0].elements.shape[1]} numbers, "
        f"each with a {goal}: {model}{'' if preset is None else f' ({preset})'}"
    )
    data = split_objects(files, len(examples), wishes)
    decides = ("accuracy" if goal == "class" else "error") if data.validates else "loss"
    text = _TEMPLATE.format(
        out=wishes.out,
        reason="\n# ".join((reason, *data.reasons)),
        name=json.dumps(wishes.name or files[0].stem, ensure_ascii=False),
        data=data.lines,
        goal=goal,
        model=model,
        preset="" if preset is None else f'preset = "{preset}"\n',
        metric=decides,
    )
    return Advice(text, (reason, *data.reasons), data.written)

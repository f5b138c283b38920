"""Recommended settings for points and answers: a run.toml with reasons in words."""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.data.vector_files import Vectors
from regard.tasks.held_out_examples import split_objects
from regard.tasks.task import Advice, Wishes

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
# {reason}
name = {name}
task = "points"

[data]
{data}batch = 128

[data.rule]                    # decoding keeps to it, so that every output is valid
repeats = "{repeats}"          # all_once, at_most_once or allowed
fewest = {fewest}                     # the fewest positions of an answer
{most}
[model]
name = "{model}"
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


def point_settings(files: Sequence[Path], wishes: Wishes, rows: Sequence[tuple[Vectors, list[int]]]) -> Advice:
    """A run.toml for points and answers; the rule is the strictest that all answers keep."""
    order = all(sorted(answer) == list(range(len(points))) for points, answer in rows)
    once = all(len(set(answer)) == len(answer) for _, answer in rows)
    repeats = "all_once" if order else "at_most_once" if once else "allowed"
    shortest, longest = min(len(answer) for _, answer in rows), max(len(answer) for _, answer in rows)
    sizes = f"{min(len(points) for points, _ in rows)} to {max(len(points) for points, _ in rows)}"
    counted = f"{len(rows):,} examples of {sizes} points, answers of {shortest} to {longest} positions"
    reason = f"{counted}: a pointer network, whose answers name positions ({repeats})"
    data = split_objects(files, len(rows), wishes)
    text = _TEMPLATE.format(
        out=wishes.out,
        reason="\n# ".join((reason, *data.reasons)),
        name=json.dumps(wishes.name or files[0].stem, ensure_ascii=False),
        data=data.lines,
        repeats=repeats,
        fewest=min(1, shortest) if repeats == "all_once" else shortest,
        most=f"most = {longest}\n" if repeats == "allowed" else "",
        model=wishes.model or "pointer",
        preset=f'preset = "{wishes.preset}"\n' if wishes.preset else "",
        metric="exact" if data.validates else "loss",
    )
    return Advice(text, (reason, *data.reasons), data.written)

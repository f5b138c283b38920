"""Settings that fine-tune a model that writes, such as a GPT, a T5 or a Marian: a run.toml with reasons."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.base.errors import UsageError
from regard.base.wording import counted
from regard.data.statistics import drawn
from regard.data.subwords.tokenizer import Subwords
from regard.runs.artifact import Artifact
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_files import TextFiles, find_texts, relative_paths
from regard.tasks.tuning_ways import Way, check_learns

WRITERS_SIDES = {"language": ("text",), "translate": ("source", "target"), "spans": ("source", "target")}
"""the tasks of models that write, and what they read and write"""
_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "{task}"

[data]
{data}
[subwords]
load = {base}                  # the vocabulary of the model that training begins with
{batches}
[training]
base = {base_file}
tuning = {tuning}
steps = {steps}
patience = 10                  # early stopping after this many validations without improvement
validate_every = {validate_every}
checkpoint_every = {validate_every}
metric = "loss"
clip = 1.0

[training.optimizer]
name = "adam"
learning_rate = {rate}
weight_decay = 0.01

[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}

{decoding}{model}"""
_STREAMS = """
[streams]
rows = 8                       # streams that the text is cut into: the rows of a batch
length = {length}                   # tokens of each
"""
_PAIRS = """
[batches]
tokens = {tokens}                  # per batch, padding included
longest = {longest}                  # pairs with a side of more tokens are left out
"""
_TOKENS, _ROWS, _LENGTH, _LONGEST = 1_024, 8, 128, 256
_LOOKED_AT = 1_000
_WORDS = {
    "frozen": "all stays as it is but the output, which learns",
    "adapters(rank=8)": "low-rank adapters (LoRA) learn, and the output where it is not the embedding",
}
"""what learns in other words than where a head is new"""


def advise_writer_tuning(
    files: Sequence[Path], wishes: Wishes, base: Path, artifact: Artifact, way: Way, tables: tuple[str, str]
) -> Advice:
    """A run.toml that goes on from the model at `base`; `tables` are its own settings of decoding and model."""
    sides = WRITERS_SIDES[artifact.task]
    found = find_texts(files, wishes, len(sides))
    if found is None:
        wanted = "one text, or lines" if len(sides) == 1 else "pairs: two files, or one with both sides"
        raise UsageError(f"{base}: its task is {artifact.task}, so it is fine-tuned on {wanted}")
    check_learns(way, artifact.design(), artifact.sizes, base)
    longest = _longest(artifact)
    steps = _steps(found, artifact, way.epochs)
    what = "line" if len(sides) == 1 else "pair"
    reasons = (
        *found.notes,
        f"from {base}, whose task is {artifact.task}: {_WORDS.get(way.tuning, way.words)}",
        f"{steps:,} steps of {_TOKENS:,} tokens: each {what} about {counted(way.epochs, 'time')}",
    )
    where = relative_paths([base], wishes.out)
    batches = _STREAMS.format(length=min(_LENGTH, longest))
    written = _TEMPLATE.format(
        out=wishes.out,
        reasons="\n".join(f"# {reason}" for reason in reasons),
        name=json.dumps(found.name, ensure_ascii=False),
        task="language" if len(sides) == 1 else "translate",
        data=found.table(),
        base=where,
        base_file=json.dumps(json.loads(where)[0], ensure_ascii=False),
        batches=batches if len(sides) == 1 else _PAIRS.format(tokens=_TOKENS, longest=longest),
        tuning=json.dumps(way.tuning),
        steps=steps,
        validate_every=max(1, steps // way.validations),
        rate=way.rate,
        warmup=max(1, steps // 10),
        decoding=tables[0],
        model=tables[1],
    )
    return Advice(written, reasons, found.files)


def _longest(artifact: Artifact) -> int:
    """The most tokens of a text that the model has positions for, of the usual number."""
    positions: Any = getattr(artifact.design(), "positions", None)
    return min(_LONGEST, getattr(positions, "length", None) or _LONGEST)


def _steps(found: TextFiles, artifact: Artifact, epochs: int) -> int:
    """So many steps that the text is read `epochs` times."""
    rows = drawn(found.corpus.rows(), _LOOKED_AT)
    last = WRITERS_SIDES[artifact.task][-1]
    subwords = Subwords.from_json(artifact.tokenizers[last])
    mean = sum(len(ids) + 1 for ids in subwords.encode_batch([row[-1] for row in rows])) / max(1, len(rows))
    count = sum(1 for _ in found.corpus.rows())
    return max(20, round(epochs * count * mean / _TOKENS))

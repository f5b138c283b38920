"""Recommended settings for a text: a run.toml with reasons in words, from statistics of its lines."""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.base.wording import counted
from regard.data.statistics import statistics_of
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_advice import TextAdvice, advise
from regard.tasks.text_files import find_texts

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "{task}"

[data]
{data}
[subwords]
kind = "{subwords}"            # bpe, unigram, word or character
size = {size}
sharing = "{sharing}"          # one vocabulary for both languages, or separate ones
{tags}{batches}
[model]
name = "{model}"
preset = "{preset}"            # any of its settings can be set here too; the less text, the more dropout
{sizes}
[training]
steps = {steps}
patience = 10                  # early stopping after this many validations without improvement
validate_every = {validate_every}
checkpoint_every = {validate_every}
metric = "{metric}"            # the validation metric that decides: early stopping, best checkpoint; then the loss
average = {average}                    # average the best checkpoint and its neighbors, if that is no worse

[training.optimizer]
name = "{optimizer}"                  # adam, or muon, which needs fewer steps
learning_rate = {rate}
{decay}
[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}
{decoding}"""

_AS_THEY_ARE = "subwords size sharing model preset steps warmup optimizer rate validate_every average".split()
"""what the template takes from the advice without a change"""
_BATCHES = """
[batches]
tokens = {tokens}                  # per batch, padding included
longest = {longest}                  # pairs with a side of more tokens are left out: they would fill the memory
"""
_DECODING = """
[decoding]
name = "beam"
size = 5
"""
_DECAYED = "weight_decay = {decay}             # keeps weights small, so that less is learned by heart\n"
_TAGS = 'tags = "whole"                 # grammatical tags are one token each\n'
_STEMS = """
[hallucination]
rate = 0.5                     # the share of pairs whose stems become random ones, so that any stem is copied
"""
_RATIO = "max_ratio = {ratio}                # an output may have so many tokens for each of its source, and 20 more\n"
_PATIENCE = "patience = 10.0                # of beam search: short wrong outputs end first and must not end it\n"


def advise_text(files: Sequence[Path], wishes: Wishes, sides: int) -> Advice | None:
    """A run.toml for parallel text or for a language model; None if the files have another number of sides."""
    found = find_texts(files, wishes, sides)
    if found is None:
        return None
    text = statistics_of(found.corpus)
    advice = advise(text, wishes.model, wishes.preset)
    length = f"{counted(text.lines, 'line')}, {sum(side.words for side in text.sides) / sides:.1f} words each"
    metric = (advice.metric_reason,) if found.sets.dev else ()
    reasons = (found.notes[0], length, *found.notes[1:], *advice.reasons, *metric)
    written = _TEMPLATE.format(
        out=wishes.out,
        task="translate" if sides == 2 else "language",
        reasons="\n".join(f"# {reason}" for reason in reasons),
        name=json.dumps(found.name, ensure_ascii=False),
        data=found.table(),
        tags=_TAGS * advice.tagged,
        batches=_batches(advice) if sides == 2 else "",
        decay=_DECAYED.format(decay=advice.decay) if advice.decay else "",
        metric=advice.metric if found.sets.dev else "loss",
        decoding=_decoding(advice) if sides == 2 else "",
        sizes="".join(f"{key} = {json.dumps(value)}\n" for key, value in advice.sizes.items()),
        **{key: getattr(advice, key) for key in _AS_THEY_ARE},
    )
    return Advice(written, reasons, found.files)


def _batches(advice: TextAdvice) -> str:
    return _BATCHES.format(tokens=advice.tokens, longest=advice.longest) + _STEMS * advice.tagged


def _decoding(advice: TextAdvice) -> str:
    longer = "" if advice.max_ratio is None else _RATIO.format(ratio=advice.max_ratio)
    return _DECODING + _PATIENCE * (advice.metric == "exact") + longer

"""Recommended settings for a text: a run.toml with reasons in words, from statistics of its lines."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.base.errors import UsageError
from regard.data.corpus import open_corpus
from regard.data.statistics import statistics_of
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_advice import advise

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "{task}"

[data]
train = {train}
{dev}{languages}
[subwords]
kind = "{subwords}"            # bpe, unigram, word or character
size = {size}
sharing = "{sharing}"          # one vocabulary for both languages, or separate ones

{batches}

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
average = 5                    # average the best checkpoint and its neighbors, if that is no worse

[training.optimizer]
name = "{optimizer}"                  # adam, or muon, which needs fewer steps
learning_rate = {rate}

[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}
{decoding}"""

_AS_THEY_ARE = "subwords size sharing model preset steps warmup optimizer rate validate_every".split()
"""what the template takes from the advice without a change"""
_BATCHES = """[batches]
tokens = {tokens}                  # per batch, padding included
"""
_DECODING = """
[decoding]
name = "beam"
size = 5
"""
_PATIENCE = "patience = 10.0                # of beam search: short wrong outputs end first and must not end it\n"


def advise_text(files: Sequence[Path], wishes: Wishes, sides: int) -> Advice | None:
    """A run.toml for parallel text or for a language model; None if the files have another number of sides."""
    if not 1 <= len(files) <= 2:
        return None
    corpus = open_corpus(*files)
    if corpus.sides != sides:
        return None
    text = statistics_of(corpus)
    if wishes.dev:
        held_out = len(statistics_of(open_corpus(*wishes.dev, blanks="error" if sides == 2 else "skip")).sides)
        if held_out != sides:
            raise UsageError(f"--dev: must have as many sides as the training text ({sides}), but has {held_out}")
    advice = advise(text, wishes.model, wishes.preset)
    reasons = (*advice.reasons, advice.metric_reason) if wishes.dev else advice.reasons
    codes = [language_of(file) for file in files] if len(files) == 2 else []
    named = wishes.name or ("-".join(code for code in codes if code) or files[0].name.split(".")[0] or "run")
    written = _TEMPLATE.format(
        out=wishes.out,
        task="translate" if sides == 2 else "language",
        reasons="\n".join(f"# {reason}" for reason in reasons),
        name=_quoted(named),
        train=relative_paths(files, wishes.out),
        dev=f"dev = {relative_paths(wishes.dev, wishes.out)}\n" if wishes.dev else "",
        languages=_languages(codes),
        batches=_BATCHES.format(tokens=advice.tokens) if sides == 2 else "",
        metric=advice.metric if wishes.dev else "loss",
        decoding=(_DECODING + _PATIENCE * (advice.metric == "exact")) if sides == 2 else "",
        sizes="".join(f"{key} = {json.dumps(value)}\n" for key, value in advice.sizes.items()),
        **{key: getattr(advice, key) for key in _AS_THEY_ARE},
    )
    counted = f"{text.lines:,} lines, {sum(side.words for side in text.sides) / sides:.1f} words each"
    return Advice(written, (counted, *reasons))


def relative_paths(files: Sequence[Path], out: Path) -> str:
    """The files as run.toml lists them, relative to its own folder."""
    places = [file.resolve() for file in files]
    home = out.resolve().parent
    shown = [place.relative_to(home) if place.is_relative_to(home) else place for place in places]
    return "[" + ", ".join(_quoted(str(place)) for place in shown) + "]"


def _languages(codes: list[Any]) -> str:
    if len(codes) != 2 or not all(codes):
        return ""
    return f"source = {_quoted(codes[0])}\ntarget = {_quoted(codes[1])}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def language_of(file: Path) -> str | None:
    """`train.de`, `train.lc.de.gz` and `corpus.de.txt` are German; None where the name does not say."""
    parts = [part for part in file.name.split(".")[1:] if part not in ("gz", "txt", "text", "tok", "tsv", "jsonl")]
    last = parts[-1] if parts else ""
    code, _, region = last.replace("-", "_").partition("_")
    plausible = 2 <= len(code) <= 3 and code.isalpha() and (not region or region.isalnum())
    return last if plausible else None

"""Recommended settings for labeled texts and for tagged words: a run.toml with reasons in words."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.base.errors import RegardError
from regard.data.folder_files import files_in, is_container
from regard.data.format import Doubt
from regard.data.labeled_files import labels_in, read_labeled, tells_labels, text_files_by_class
from regard.data.labels import LabeledExample, classes_of
from regard.data.languages import language_code
from regard.data.tags import factor_column, read_tagged, tells_tags
from regard.metrics.chunks import is_chunked
from regard.tasks.held_out_examples import split_examples, split_sentences
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_files import relative_paths

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "{task}"

[data]
{data}
[subwords]
kind = "{kind}"                   # bpe, unigram, word or character
size = {size}
{rare}
[word_dropout]
rate = {blank}                     # the share of training tokens that become <unk>, so that no single word decides

[batches]
tokens = {tokens}                  # per batch, padding included

[model]
name = "{model}"
{sizes}
[training]
steps = {steps}
patience = 15                  # early stopping after this many validations without improvement
validate_every = {every}
checkpoint_every = {every}
metric = "{metric}"            # the validation metric that decides: early stopping, best checkpoint
average = 5                    # average the best checkpoint and its neighbors, if that is no worse
clip = 1.0
{loss}
[training.optimizer]
name = "{optimizer}"
learning_rate = {rate}
weight_decay = 0.05

[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}
"""
_RARE_WORDS = "min_count = 1                  # also words that stand once; word_dropout teaches what <unk> is\n"
_RECURRENT = """\
layers = 2
width = {width}
feedforward = {feedforward}
heads = 4
dropout = 0.4
norm_place = "before"
positions = "none"
mixer = "recurrent"            # a bidirectional GRU; self_attention wants more text
segments = "none"
"""
_FILTERS = """\
preset = "small"
width = 300                    # of embeddings, as Kim has it
"""
_BERT = """\
preset = "tiny"
dropout = 0.2
pooling = "mean"               # what the head reads: the first token, the mean of all, or their maximum
segments = "none"
"""


@dataclass(frozen=True)
class _How:
    """What goes with a task."""

    kind: str
    pieces: float
    """how many tokens a word has, about"""
    blank: float
    tokens: int
    epochs: int
    rate: float
    optimizer: str = "adam"
    width: int = 160
    feedforward: int = 640


_HOW = {
    "classify": _How("word", 1.15, 0.05, 768, 16, 0.001),
    "tag": _How("bpe", 1.3, 0.05, 1024, 12, 0.002),
}
_FACTORED = _How("word", 1.0, 0.15, 1024, 6, 0.005, "muon", 256, 256)
"""tags of words with a factor, such as their part of speech, which tells more of a rare word than its parts do"""
_LOSS = {
    "classify": "\n[training.loss]\nsmoothing = 0.1\n",
    "tag": '\n[training.loss]\ntransitions = "learned"        # tags are judged together: a linear-chain CRF\n',
}
_WORDS = 16_000
"""the largest vocabulary; with fewer words than this, all are kept"""
_MANY = 50_000
"""examples from which on attention pays"""
_RARE = 0.25
"""of an even share: if some class has fewer examples, the mean over classes decides instead of the accuracy"""
_SETS = {"train": ("train",), "dev": ("dev", "val", "valid", "validation"), "test": ("test",)}


def advise_labels(files: Sequence[Path], wishes: Wishes) -> Advice | None:
    """A run.toml for a table, JSON or folders of labels and texts; None if the files are other data."""
    sets = _sets(files, wishes)
    if sets is None:
        return None
    train, keys = sets["train"], wishes.hints.columns
    if wishes.task is None and (keys is not None or not tells_labels(train) or (train.is_file() and tells_tags(train))):
        return None
    labels = labels_in(train)
    examples = read_labeled(train, keys=keys, labels=labels)
    classes = classes_of(examples, str(train))
    if wishes.task is None and all(language_code(one) is not None for one in classes):
        problem = f"{train}: its labels are languages ({', '.join(classes[:6])}); a translator learns from pairs"
        raise Doubt(problem, "--task", "classify if languages are to be told apart")
    name = wishes.name or train.resolve().name.partition(".")[0]
    places, written = split_examples(train, examples, wishes, name, sets.get("dev"))
    lines = [f"{part} = {relative_paths([place], wishes.out)}" for part, place in places.items()]
    lines += [f"keys = {json.dumps(list(keys))}"] if keys is not None and not written else []
    lines += ['labels = "several"           # any number of labels'] if labels == "several" else []
    told = f"{len(examples):,} examples of {len(classes)} classes: {', '.join(classes[:6])}{' …' * (len(classes) > 6)}"
    metric, why = _metric(examples, classes, "dev" in places)
    reasons = (told, *_held_out(written, places), *_after(sets), why)
    split = [[word for text in one.texts for word in text.split()] for one in examples]
    counts = Counter(word for own in split for word in own)
    data, words = "\n".join(lines) + "\n", [len(own) for own in split]
    return _advice("classify", name, data, reasons, words, metric, wishes, written, counts)


def advise_tags(files: Sequence[Path], wishes: Wishes) -> Advice | None:
    """A run.toml for words with a tag each; None if the files are other data."""
    sets = _sets(files, wishes)
    if sets is None or sets["train"].is_dir() or wishes.hints.columns is not None or not tells_tags(sets["train"]):
        return None
    factor = factor_column(sets["train"])
    sentences = read_tagged(sets["train"], factor=factor)
    tags = sorted({tag for one in sentences for tag in one.tags})
    name = wishes.name or sets["train"].resolve().name.partition(".")[0]
    places, written = split_sentences(sets["train"], sentences, wishes, name, sets.get("dev"))
    data = "".join(f"{part} = {relative_paths([place], wishes.out)}\n" for part, place in places.items())
    data += "" if factor is None else f"factor = {factor}                     # also read; predict wants word|factor\n"
    told = (
        f"{len(sentences):,} sentences whose words have {len(tags)} tags: {', '.join(tags[:6])}{' …' * (len(tags) > 6)}"
    )
    metric = "loss" if "dev" not in places else "f1" if is_chunked(tags) else "accuracy"
    read = [f"column {factor} is read beside the words; without data.factor, words alone"] if factor else []
    reasons = (told, *read, *_held_out(written, places), *_after(sets), _DECIDES[metric])
    how, words = _HOW["tag"] if factor is None else _FACTORED, [len(one.words) for one in sentences]
    return _advice("tag", name, data, reasons, words, metric, wishes, written, how=how)


_DECIDES = {
    "f1": "F1 of chunks decides: how many are found whole, with the right name",
    "accuracy": "the accuracy decides",
    "macro_f1": "macro F1 decides: some classes are rare, and it counts all alike",
    "loss": "the loss decides",
}


def _advice(
    task: str,
    name: str,
    data: str,
    reasons: Sequence[str],
    words: Sequence[int],
    metric: str,
    wishes: Wishes,
    written: Mapping[Path, str],
    counts: Mapping[str, int] | None = None,
    how: _How | None = None,
) -> Advice:
    """The run file of either task; `counts` says how often each word stands in texts whose words are tokens."""
    how, total = how or _HOW[task], sum(words)
    model, sizes, why = _model(task, len(words), wishes, how)
    steps = max(300, min(20_000, round(how.epochs * total * how.pieces / how.tokens)))
    size = max(1_000, min(_WORDS, total // 5 // 100 * 100))
    rare, kept = "", tuple[str, ...]()
    if counts is not None and 0 < len(counts) < _WORDS:
        size, rare = max(size, min(_WORDS, (len(counts) // 100 + 2) * 100)), _RARE_WORDS
        once = sum(count == 1 for count in counts.values()) / len(counts)
        kept = (f"all words are kept: {once:.0%} of them stand only once, and so few texts need them",)
    epochs = f"the examples about {max(1, round(steps * how.tokens / total / how.pieces))} times"
    made = (*reasons[:1], why, f"{steps:,} steps of {how.tokens:,} tokens: {epochs}", *kept, *reasons[1:])
    text = _TEMPLATE.format(
        out=wishes.out,
        reasons="\n".join(f"# {reason}" for reason in made),
        name=json.dumps(name, ensure_ascii=False),
        task=task,
        data=data,
        kind=how.kind,
        size=size,
        rare=rare,
        blank=how.blank,
        tokens=how.tokens,
        model=model,
        sizes=sizes,
        steps=steps,
        every=max(20, steps // 30),
        metric=metric,
        loss=_LOSS[task],
        optimizer=how.optimizer,
        rate=how.rate,
        warmup=max(10, steps // 12),
    )
    return Advice(text, made, written)


def _model(task: str, examples: int, wishes: Wishes, how: _How) -> tuple[str, str, str]:
    """The model, its settings as run.toml has them, and why."""
    if wishes.model is not None or wishes.preset is not None:
        model = wishes.model or "bert"
        return model, "" if wishes.preset is None else f'preset = "{wishes.preset}"\n', f"{model}, as is asked for"
    if task == "tag":
        sizes = _RECURRENT.format(width=how.width, feedforward=how.feedforward)
        return "bert", sizes, "a recurrent encoder, which learns from few sentences"
    if examples >= _MANY:
        return "bert", _BERT, f"{examples:,} examples are enough for attention"
    return "text_cnn", _FILTERS, "filters of phrases (Kim, 2014), which learn from few texts"


def _metric(examples: Sequence[LabeledExample], classes: Sequence[str], validated: bool) -> tuple[str, str]:
    if not validated:
        return "loss", "there is no dev set: training will not be validated; --dev names one"
    counts = Counter(label for one in examples for label in one.labels)
    rare = min(counts.values()) < _RARE * sum(counts.values()) / len(classes)
    return ("macro_f1", _DECIDES["macro_f1"]) if rare else ("accuracy", _DECIDES["accuracy"])


def _held_out(written: Mapping[Path, str], places: Mapping[str, Path]) -> tuple[str, ...]:
    return (f"held out for validation: {places['dev']}; the rest is in {places['train']}",) if written else ()


def _after(sets: Mapping[str, Path]) -> tuple[str, ...]:
    return (f"test set: regard evaluate RUN {sets['test']}",) if "test" in sets else ()


def _sets(files: Sequence[Path], wishes: Wishes) -> dict[str, Path] | None:
    """The training, dev and test set, by what is given or by the names of what a folder holds."""
    if len(files) != 1:
        return None
    found = {"train": files[0]}
    if is_container(files[0]):
        named = _in_folder(files[0])
        if named is None:
            return None
        found = named
    given = {"dev": wishes.dev, "test": wishes.test}
    return found | {part: own[0] for part, own in given.items() if own}


def _in_folder(folder: Path) -> dict[str, Path] | None:
    if folder.is_dir():
        below = {
            part: next((folder / name for name in names if _by_class(folder / name)), None)
            for part, names in _SETS.items()
        }
        if below["train"] is not None:
            return {part: place for part, place in below.items() if place is not None}
        if _by_class(folder):
            return {"train": folder}
    try:
        sets = files_in(folder)
    except RegardError:  # what a translation needs; another task may say it
        return None
    if sets is None or len(sets.train) != 1:
        return None
    return {part: own[0] for part, own in (("train", sets.train), ("dev", sets.dev), ("test", sets.test)) if own}


def _by_class(folder: Path) -> bool:
    return folder.is_dir() and bool(text_files_by_class(folder))

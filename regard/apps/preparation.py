"""From settings to everything that a training needs: subwords, an encoded corpus, batches, a model, a validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.alignment.eflomal import EFLOMAL, eflomal_links
from regard.apps.run_settings import RunSettings, SubwordChoice
from regard.base.config import to_dict
from regard.base.errors import ConfigError, RegardError
from regard.base.files import digest, read_text, write_text
from regard.data.corpus import Corpus, Texts
from regard.data.link_store import LinkStore, build_links
from regard.data.loader import Loader
from regard.data.pairs import collate
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.store import Store, build_store
from regard.data.subwords.formats import load_subwords
from regard.data.subwords.learn import learn_subwords, train_pair
from regard.data.subwords.resegment import Resegment
from regard.data.subwords.tokenizer import SubwordPair, Subwords
from regard.data.windows import Streams
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translator import Translator
from regard.metrics.quality import corpus_scores, exact_match
from regard.models.model import Model
from regard.runs.artifact import Artifact
from regard.training.loss import CrossEntropy
from regard.training.validation import Validation

Say = Callable[[str], None]
Vocabularies = SubwordPair | Subwords
_DECODED = 1_000
_LEAST_SOURCE = 128


@dataclass(frozen=True)
class Prepared:
    """All that a trainer is handed."""

    settings: RunSettings
    subwords: Vocabularies
    store: Store
    batches: Loader | Streams
    validation: Validation | None
    artifact: Artifact

    def artifact_for(self, model: Model) -> Artifact:
        """The model's file without its weights; a guided model says where its alignments are seen."""
        guide = self.settings.training.guide
        return self.artifact if guide is None else self.artifact.with_extras(alignment=guide.alignment(model))

    def model(self) -> Model:
        """The model with fresh weights, the same for the same seed."""
        self.settings.check_sides(len(self.store.sides))
        torch.manual_seed(self.settings.training.seed)
        model: Model = self.settings.model.build(self.artifact.sizes)
        return model

    def sample(self, most: int) -> tuple[list[str], list[str]]:
        """The sources and targets of at most so many training pairs, evenly chosen."""
        if not isinstance(self.subwords, SubwordPair):
            return [], []
        count = min(most, len(self.store))
        rows = [self.store[at * len(self.store) // count] for at in range(count)]
        sources = self.subwords.source.decode_batch(source for source, _ in rows)
        return sources, self.subwords.target.decode_batch(target for _, target in rows)


def prepare(settings: RunSettings, folder: Path, data: Path, say: Say = lambda text: None) -> Prepared:
    """Read, learn or load subwords, encode; what was done before and is still true is not done again."""
    corpus = settings.data.corpus(settings.data.train, data, "skip")
    _refuse_other(corpus.fingerprint(), f"data.train: {' and '.join(map(str, corpus.files))}", folder / "text.sha256")
    say("subwords")
    subwords = find_subwords(settings.subwords, corpus, folder / "subwords.json", data)
    say("encoding")
    store = build_store(folder / "store", corpus, subwords)
    dev = None
    if settings.data.dev is not None:
        say("encoding the dev set")
        dev = settings.data.corpus(settings.data.dev, data, "error")
        dev_store = build_store(folder / "dev-store", dev, subwords)
    links = _links(settings, folder, data, corpus, subwords, say)
    batches = _batches(settings, store, subwords, links)
    validation = None if dev is None else _validation(settings, dev, dev_store, subwords)
    return Prepared(settings, subwords, store, batches, validation, _artifact(settings, subwords, store))


def _refuse_other(now: str, what: str, kept: Path) -> None:
    """A run that was begun with one text, or with some links, does not go on with others."""
    if not kept.exists():
        write_text(kept, f"{now}\n")
    elif read_text(kept).strip() != now:
        raise RegardError(
            f"{what} changed since this run began in {kept.parent}; "
            "bring the old content back, choose another name, or delete the folder to start anew"
        )


def find_subwords(choice: SubwordChoice, corpus: Corpus, kept: Path, data: Path) -> Vocabularies:
    """Those that were learned before, those to be loaded, or newly learned ones, which are then kept."""
    both = corpus.sides == 2
    if kept.exists():
        text = read_text(kept)
        return SubwordPair.from_json(text) if both else Subwords.from_json(text)
    subwords: Vocabularies
    if choice.load is not None:
        loaded = [load_subwords(data / file) for file in choice.load]
        if not 1 <= len(loaded) <= corpus.sides:
            raise ConfigError(f"subwords.load: at most {corpus.sides} files fit this corpus, not {len(loaded)}")
        subwords = SubwordPair(loaded[0], loaded[-1]) if both else loaded[0]
    else:
        subwords = train_pair(corpus, choice) if both else learn_subwords(Texts(corpus, (0,), choice.lines), choice)
    write_text(kept, subwords.to_json())
    return subwords


def dev_batches(store: Store, tokens: int) -> list[Any]:
    """A dev set in batches, every pair once."""
    source, target = (side.lengths for side in store.sides)
    longest = int(max(source.max(), target.max()))
    plan = BatchPlan(source, target, BatchSettings(tokens=max(tokens, longest), counted="both")).plan(0)
    return [collate(*zip(*(store[int(pair)] for pair in chosen), strict=True)) for chosen in plan]


def _links(
    settings: RunSettings, folder: Path, data: Path, corpus: Corpus, subwords: Vocabularies, say: Say
) -> LinkStore | None:
    """What a guided training is guided by."""
    guide = settings.training.guide
    if guide is None:
        return None
    if isinstance(subwords, Subwords):
        raise ConfigError("training.guide: links join a source and a target, but data.train has 1 side")
    if settings.subwords.dropout is not None or settings.subwords.alpha is not None:
        raise ConfigError(
            "training.guide: links name tokens, so words must be cut in one way; leave out subwords.dropout and alpha"
        )
    say("links")
    made = str(guide.links) == EFLOMAL
    file = eflomal_links(corpus, folder / "eflomal.links") if made else data / guide.links
    _refuse_other(digest(file), f"training.guide.links: {file}", folder / "links.sha256")
    return build_links(folder / "links-store", file, corpus, subwords, "word" if made else guide.unit)


def _batches(
    settings: RunSettings, store: Store, subwords: Vocabularies, links: LinkStore | None = None
) -> Loader | Streams:
    choice = settings.subwords
    if isinstance(subwords, Subwords):
        return Streams(store.sides[0].flat, settings.streams)
    drawn: tuple[Resegment | None, Resegment | None] = (None, None)
    if choice.dropout is not None or choice.alpha is not None:
        source, target = (Resegment(side, choice.dropout, choice.alpha) for side in (subwords.source, subwords.target))
        drawn = (source, target)
    return Loader(store, BatchPlan(store.sides[0].lengths, store.sides[1].lengths, settings.batches), drawn, links)


def _validation(settings: RunSettings, dev: Corpus, store: Store, subwords: Vocabularies) -> Validation:
    smoothing = CrossEntropy(smoothing=0.0)
    if isinstance(subwords, Subwords):
        streams = Streams(store.sides[0].flat, settings.streams)
        windows = [streams.at(BatchPosition(index=at)) for at in range(len(streams))]
        return Validation(windows, objective=smoothing)
    pairs = list(dev.pairs())[:_DECODED]
    scorer = decoding_scorer([pair.source for pair in pairs], [pair.target for pair in pairs], subwords)
    return Validation(dev_batches(store, settings.batches.tokens), scorer, smoothing)


def decoding_scorer(
    sources: list[str], references: list[str], subwords: SubwordPair
) -> Callable[[Model], Mapping[str, float]]:
    """BLEU, chrF and exact match of what a model translates greedily."""

    def score(model: Model) -> Mapping[str, float]:
        translator = Translator(model, subwords.source, subwords.target, Greedy(), batch_tokens=4096)
        outputs = [one.text for one in translator.translate(sources)]
        bleu, chrf = corpus_scores(outputs, references, measures=("BLEU", "chrF"))
        return {"bleu": bleu.value, "chrf": chrf.value, "exact": exact_match(outputs, references)}

    return score


def _artifact(settings: RunSettings, subwords: Vocabularies, store: Store) -> Artifact:
    config = to_dict(settings)
    if isinstance(subwords, Subwords):
        return Artifact(config=config, vocabularies=(0, len(subwords)), tokenizers={"text": subwords.to_json()})
    longest = int(store.sides[0].lengths.max())
    return Artifact(
        config=config,
        vocabularies=(len(subwords.source), len(subwords.target)),
        tokenizers={"source": subwords.source.to_json(), "target": subwords.target.to_json()},
        extras={"max_source": _most_source(settings, longest)},
    )


def _most_source(settings: RunSettings, longest: int) -> int:
    """How long a source may be: as the positions allow, else twice what was seen in training."""
    table = getattr(getattr(settings.model, "positions", None), "length", None)
    if table is not None and table < longest:
        raise RegardError(
            f"model.positions: {table} positions are learned, but a training sentence has {longest} tokens; "
            "set a larger length, or batches.longest"
        )
    return int(table) if table is not None else max(_LEAST_SOURCE, 2 * longest)

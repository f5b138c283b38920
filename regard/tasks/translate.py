"""Translation: learn from parallel text; the model translates and aligns words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.alignment.aligner import Aligner, aligns
from regard.alignment.eflomal import EFLOMAL, eflomal_links
from regard.alignment.head_choice import keep_choice
from regard.alignment.heads import rank_heads
from regard.base.errors import ConfigError, RegardError
from regard.base.files import digest, write_text
from regard.base.ranks import shared_batch
from regard.base.wording import counted
from regard.data.captioned import looks_captioned
from regard.data.checkup import Checkup, check_corpus
from regard.data.chunk_plan import plan_of
from regard.data.corpus import Corpus, SentencePair
from regard.data.hallucination import Hallucination
from regard.data.languages import language_of
from regard.data.link_store import LinkStore, build_links
from regard.data.loader import Loader, dev_batches
from regard.data.pairs import Batch
from regard.data.plan import BatchSettings
from regard.data.store import build_store
from regard.data.subwords.open_words import Unknown
from regard.data.subwords.resegment import Resegment
from regard.data.subwords.tokenizer import UNK, SubwordPair, Subwords
from regard.decoding.layout import Split
from regard.decoding.opening import (
    alignment_of,
    max_source_of,
    shortlist_of,
    source_language_of,
    split_of,
    strategy_of,
    subwords_of,
)
from regard.decoding.scorer import copies, most_positions
from regard.decoding.sentences import ended, several
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.decoding.translator import Translator
from regard.markup.document import Keeping
from regard.metrics.bleu_tokenizer import bleu_tokenizer
from regard.metrics.by_length import bleu_by_length, by_length
from regard.metrics.quality import QualityScore, bleu, corpus_scores, exact_match
from regard.metrics.significance import Judged
from regard.models.model import Design
from regard.models.writer import Transducer
from regard.runs.artifact import Artifact, load_artifact
from regard.runs.folder import RunFolder
from regard.tasks.advice import advise_text
from regard.tasks.task import Advice, Evaluation, Say, Task, Wishes
from regard.tasks.text_languages import in_direction
from regard.tasks.texts import (
    DataSettings,
    PreparedText,
    SubwordChoice,
    one_vocabulary,
    refuse_other,
    sides_of,
    text_checkup,
    token_loss,
    weighted_parts,
)
from regard.training.guide import Guide, Guided
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses

_DECODED = 1_000
_LEAST_SOURCE = 128
_RANKED = 10_000
_AT_ONCE = 256
_LOOKED_AT = 1_000
_CUT = ("dropout", "alpha")
_OFTEN, _HARDLY_EVER = 0.3, 0.05
"""shares of training lines: with several sentences, and with sentence-final punctuation"""


@dataclass(frozen=True, kw_only=True)
class PreparedPairs(PreparedText):
    """Encoded sentence pairs, and those of the dev set as texts, which validation translates."""

    pair: SubwordPair
    dev_pairs: tuple[SentencePair, ...]

    @property
    def batches(self) -> list[Batch]:
        """The dev set as batches of pairs."""
        return [item for item in self.dev if isinstance(item, Batch)]

    @cached_property
    def split(self) -> Split:
        """What the model is to translate at a time: what its training lines are.

        Lines that often hold several sentences, or that seldom end like one, or hardly more often than something inside
        of them does (2 avr. 1978), are translated as they are; otherwise each sentence by itself.
        """
        inside, at_end = (share(self.sample(_LOOKED_AT)[0]) for share in (several, ended))
        return "line" if inside >= _OFTEN or at_end < _HARDLY_EVER or inside > at_end / 2 else "sentence"

    def sample(self, most: int) -> tuple[list[str], list[str]]:
        """The sources and targets of at most `most` training pairs, evenly spaced."""
        count = min(most, len(self.store))
        rows = [self.store[at * len(self.store) // count] for at in range(count)]
        sources = self.pair.source.decode_batch(_closed(self.pair.source, source) for source, _ in rows)
        return sources, self.pair.target.decode_batch(_closed(self.pair.target, target) for _, target in rows)


@dataclass(frozen=True, kw_only=True)
class Translate(Task):
    """The settings of a translation run beside model and training."""

    lower: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity", "ter"})
    sizes: ClassVar[tuple[str, ...]] = ("source", "target")
    offers: ClassVar[type] = Transducer

    data: DataSettings
    """the files to learn from"""
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    """the tokenizer"""
    batches: BatchSettings = field(default_factory=BatchSettings)
    """the batch size"""
    hallucination: Hallucination | None = None
    """random stems for some training pairs, where letters become letters and stems are copied, as in inflection"""
    decoding: Annotated[Any, STRATEGIES] = None
    """the decoding strategy of the model, which commands may override; none: beam search"""
    cross_entropy: CrossEntropy = field(
        default_factory=lambda: CrossEntropy(smoothing=0.1), metadata={"path": "training.loss"}
    )
    """the training loss"""
    guide: Guide | None = field(default=None, metadata={"path": "training.guide"})
    """guided alignment: word links that attention heads are trained on, if any"""
    design: Design | None = field(default=None, metadata={"path": "model"})
    """the model: if it copies words of the source, unknown words have ids of their own"""

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        return sides_of(data) == 2

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        return None if any(map(looks_captioned, files)) else advise_text(files, wishes, sides=2)

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedPairs:
        corpus = self.data.training(data, sides=2)
        files = " and ".join(map(str, corpus.files))
        refuse_other(corpus.fingerprint(), f"data.train: {files}", folder / "text.sha256", say)
        say("subwords")
        subwords = self.subwords.find(corpus, folder / "subwords.json", data, say)
        if not isinstance(subwords, SubwordPair):
            raise ConfigError("subwords.load: a translation needs subwords for both sides")
        say("encoding")
        store = build_store(folder / "store", corpus, subwords, say, self._unknown(subwords))
        dev, pairs = self._dev(folder, data, subwords, say)
        links = self._links(folder, data, corpus, subwords, say)
        fixed = {"training.guide": self.guide} | {f"subwords.{name}": getattr(self.subwords, name) for name in _CUT}
        stems = None if (new := self.hallucination) is None else new.learned_from(store, subwords, fixed)
        batches = plan_of(store, self.batches, weighted_parts(store, self.data))
        return PreparedPairs(
            sizes={"source": len(subwords.source), "target": len(subwords.target)},
            train=Loader(store, batches, self._resegment(subwords), links, stems),
            dev=dev,
            tokenizers={"source": subwords.source.to_json(), "target": subwords.target.to_json()},
            summary=counted(len(store), "training line"),
            notes=tuple(filter(None, [batches.report()])),
            store=store,
            vocabularies=(subwords.source, subwords.target),
            pair=subwords,
            dev_pairs=pairs,
        )

    def loss(self, model: Transducer, item: Batch) -> Loss:
        objective = partial(_teacher_forced, self.cross_entropy)
        return objective(model, item) if self.guide is None else Guided(objective, self.guide)(model, item)

    def metrics(self, model: Transducer, prepared: PreparedPairs) -> dict[str, float]:
        """Loss and perplexity without label smoothing; BLEU, chrF and exact match of translations."""
        most = most_positions([model])
        dev = prepared.dev if most is None else [kept for item in prepared.batches for kept in item.within(most)]
        found = mean_losses(model, dev, partial(_teacher_forced, CrossEntropy(smoothing=0.0)))
        pair = prepared.pair
        translator = Translator(
            model,
            pair.source,
            pair.target,
            self._search(),
            batch_tokens=4096,
            language=self.data.source,
            split=prepared.split,
        )
        outputs = _texts(translator, [pair.source for pair in prepared.dev_pairs])
        references = [pair.target for pair in prepared.dev_pairs]
        tokenize = bleu_tokenizer(self.data.target, references)
        bleu, chrf = corpus_scores(outputs, references, measures=("BLEU", "chrF"), tokenize=tokenize)
        return found | {"bleu": bleu.value, "chrf": chrf.value, "exact": exact_match(outputs, references)}

    def _search(self) -> Strategy:
        """The run's own beam, since late weights gain by it, hardly with greedy search; other strategies are greedy."""
        own: Strategy | None = self.decoding
        if isinstance(own, Beam):
            return replace(own, n_best=1, patience=1.0)
        return Greedy(max_length=own.max_length, max_ratio=own.max_ratio, max_extra=own.max_extra) if own else Greedy()

    def extras(self, design: Design, model: Transducer, prepared: PreparedPairs) -> dict[str, Any]:
        """The maximum source length, what is translated at a time, and the alignment heads of a guided model."""
        guided = {} if self.guide is None else {"alignment": self.guide.alignment(model)}
        read = _most_source(design, [side.longest for side in prepared.store.sides], self.batches.longest)
        return {"max_source": read, "split": prepared.split, **guided}

    def flops(self, design: Design, prepared: PreparedPairs) -> float:
        source = len(prepared.store.sides[0].flat)
        return design.training_flops(source, prepared.train.epoch()[1], prepared.sizes)

    def check(self, prepared: PreparedPairs, data: Path, test: Sequence[Path] = ()) -> Checkup:
        corpus = self.data.training(data, sides=2)
        held_out = self.data.held_out(data, test, sides=2)
        return text_checkup(check_corpus(corpus, held_out), prepared, corpus, held_out)

    def finish(self, folder: RunFolder, prepared: PreparedPairs, device: str, say: Say) -> None:
        """Choose the alignment heads and store them in the model file, unless guided training has set them."""
        artifact = load_artifact(folder.model)
        translator = self.open([artifact], [artifact.model().to(device)])
        if translator.aligner is None or translator.alignment is not None:
            return
        try:
            ranking = rank_heads(translator, *prepared.sample(_RANKED))
        except RegardError as error:  # such as layers that compress the source; the model file is kept all the same
            say(f"no heads were chosen for alignments: {error}")
            return
        keep_choice(folder.model, ranking.best)
        say(f"words are aligned by {ranking.best} ({ranking.best.measure}: {ranking.best.score:.2f})")

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Transducer],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Translator:
        """A translator; the first model of an ensemble aligns words, if it has attention over its source."""
        first = one_vocabulary(artifacts)
        pair = subwords_of(first)
        translator = Translator(
            models,
            pair.source,
            pair.target,
            strategy or strategy_of(first),
            max_source=max_source_of(first),
            alignment=alignment_of(first),
            shortlist=shortlist_of(first) if shortlist else None,
            language=source_language_of(first),
            split=split_of(first),
            keeper=Keeping.between(pair.source, pair.target, copies=any(map(copies, models))),
        )
        if aligns(translator):
            translator.aligner = Aligner(translator, grain="segments")
        return translator

    @classmethod
    def evaluate(cls, opened: Translator, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """BLEU (by source length, with `groups`), chrF, TER, exact match, perplexity."""
        bleu(["a"], ["a"], how.tokenize)  # reports an unknown tokenizer before translating, not after
        corpus = in_direction(how.corpus(files, blanks="error"), opened.language, how.hints, how.warn)
        pairs = list(corpus.pairs())
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        how = replace(how, tokenize=how.tokenize or _tokenizer_of(files, references))
        with how.measured(len(sources), "sentences"):
            outputs = _translated(opened, sources, how)
        if how.out is not None:
            write_text(how.out, "".join(f"{text}\n" for text in outputs))
        how.judged(Judged(tuple(outputs), tuple(references), how.tokenize, how.lowercase))
        if how.groups:
            return [_by_length(sources, outputs, references, how)]
        scores = corpus_scores(outputs, references, tokenize=how.tokenize, samples=how.samples, lowercase=how.lowercase)
        return [*scores, *_perplexity(opened, sources, references)]

    def _dev(
        self, folder: Path, data: Path, subwords: SubwordPair, say: Say
    ) -> tuple[list[Batch], tuple[SentencePair, ...]]:
        if self.data.dev is None:
            return [], ()
        say("encoding the dev set")
        corpus = self.data.corpus(self.data.dev, data, "error")
        files = " and ".join(map(str, corpus.files))
        refuse_other(corpus.fingerprint(), f"data.dev: {files}", folder / "dev.sha256", say)
        store = build_store(folder / "dev-store", corpus, subwords, say, self._unknown(subwords))
        return dev_batches(store, self.batches.tokens), tuple(islice(corpus.pairs(), _DECODED))

    def _unknown(self, subwords: SubwordPair) -> Unknown:
        """How unknown words are encoded: for a model that copies, each as itself."""
        if getattr(self.design, "copy", None) is None:
            return "one"
        if not subwords.joint:
            raise ConfigError(
                "model.copy: words are copied from the source to the target, so both must share one vocabulary; "
                'set subwords.sharing = "joint"'
            )
        if self.subwords.dropout is not None or self.subwords.alpha is not None:
            raise ConfigError("model.copy: both sides must be cut in one way; leave out subwords.dropout and alpha")
        return "own"

    def _links(self, folder: Path, data: Path, corpus: Corpus, subwords: SubwordPair, say: Say) -> LinkStore | None:
        """The word links of guided training."""
        guide = self.guide
        if guide is None:
            return None
        if self.subwords.dropout is not None or self.subwords.alpha is not None:
            raise ConfigError("training.guide: links name tokens as they are cut; leave out subwords.dropout and alpha")
        say("links")
        made = str(guide.links) == EFLOMAL
        file = eflomal_links(corpus, folder / "eflomal.links") if made else data / guide.links
        refuse_other(digest(file), f"training.guide.links: {file}", folder / "links.sha256", say)
        return build_links(folder / "links-store", file, corpus, subwords, "word" if made else guide.unit, say)

    def _resegment(self, subwords: SubwordPair) -> tuple[Resegment | None, Resegment | None]:
        """Subword regularization, if set."""
        choice = self.subwords
        if choice.dropout is None and choice.alpha is None:
            return None, None
        source, target = (Resegment(side, choice.dropout, choice.alpha) for side in (subwords.source, subwords.target))
        return source, target


def _closed(subwords: Subwords, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids with `<unk>` for every unknown word."""
    return np.where(ids < len(subwords), ids, UNK)


def _teacher_forced(cross_entropy: CrossEntropy, model: Transducer, item: Batch) -> Loss:
    """The loss of each target token, given the source and the true tokens before it (teacher forcing)."""

    def hidden() -> Tensor:
        return model.hidden(item.source, item.source_lengths, item.target_in)

    return token_loss(cross_entropy, model, hidden, item.target_out)


def _most_source(design: Design, longest: Sequence[int], kept: int | None) -> int:
    """The learned positions, else twice the longest source that is trained on; `longest` has those of both sides."""
    table = getattr(getattr(design, "positions", None), "length", None)
    read = min(max(longest), kept or max(longest))
    if table is not None and table < read:
        raise RegardError(
            f"model.positions: {table} positions are learned, but a training sentence has {read} tokens; "
            "set a larger length, or batches.longest"
        )
    return int(table) if table is not None else max(_LEAST_SOURCE, 2 * min(longest[0], read))


def _perplexity(translator: Translator, sources: list[str], references: list[str]) -> list[QualityScore]:
    """Of the references, without those that have more tokens than the model has positions."""
    most = translator.positions
    texts = (translator.source.encode_batch(sources), translator.target.encode_batch(references))
    fits = [most is None or max(map(len, pair)) < most for pair in zip(*texts, strict=True)]
    pairs = [pair for pair, fit in zip(zip(sources, references, strict=True), fits, strict=True) if fit]
    values = [value for row in translator.score(*map(list, zip(*pairs, strict=True))) for value in row] if pairs else []
    if not values:
        return []
    left = "" if all(fits) else f" ({counted(fits.count(False), 'pair')} longer than its {most} positions left out)"
    mean = math.exp(-sum(values) / len(values))
    return [QualityScore("perplexity", mean, digits=3, after=f" of the reference, by subword{left}", by_token=True)]


def _translated(translator: Translator, sources: list[str], how: Evaluation) -> list[str]:
    advance, search, outputs = how.started(len(sources)), how.search(translator.strategy), list[str]()
    for start in range(0, len(sources), _AT_ONCE):
        part = sources[start : start + _AT_ONCE]
        outputs += _texts(translator, part, strategy=search, first_line=start + 1)
        advance(len(part))
    return outputs


def _texts(translator: Translator, sources: list[str], **how: Any) -> list[str]:
    return shared_batch(lambda own: [one.text for one in translator.translate(list(own), **how)], sources)


def _tokenizer_of(files: Sequence[Path], references: list[str]) -> str:
    """The tokenizer of BLEU: by the name of the references' file, such as test.zh, or by their script."""
    return bleu_tokenizer(language_of(files[1]) if len(files) == 2 else None, references)


def _by_length(sources: list[str], outputs: list[str], references: list[str], how: Evaluation) -> QualityScore:
    """BLEU overall and of each group of source lengths."""
    groups = by_length(sources, how.groups)
    own = bleu_by_length(outputs, references, groups, how.tokenize)
    whole = corpus_scores(outputs, references, measures=("BLEU",), tokenize=how.tokenize)[0]
    return replace(whole, groups={str(group): value for group, value in zip(groups, own, strict=True)})

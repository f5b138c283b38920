"""What tasks on text share: their files, subwords and encoded corpus."""

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import torch
from jaxtyping import Int64
from torch import Tensor

from regard.base.config import from_dict
from regard.base.errors import ConfigError, RegardError, UsageError
from regard.base.files import read_text, write_text
from regard.base.unpacking import located
from regard.data.characters import check_characters
from regard.data.checkup import Checkup
from regard.data.corpus import Blanks, Corpus, Texts, open_corpus
from regard.data.format import TEXT_FORMATS, Doubt, Format, Hints
from regard.data.plan import WeightedPart
from regard.data.recognize import format_by_name, kind_by_name, recognize
from regard.data.store import Store
from regard.data.subwords.formats import load_subwords
from regard.data.subwords.learn import SubwordSettings, learn_subwords, train_pair
from regard.data.subwords.tokenizer import SubwordPair, Subwords
from regard.layers.feeds.experts import balance_losses
from regard.models.model import Model
from regard.runs.artifact import Artifact
from regard.runs.snapshot import open_artifact
from regard.tasks.task import Prepared
from regard.training.loss import CrossEntropy, Loss

Vocabularies = SubwordPair | Subwords
_DIGITS = 64  # of a SHA-256
_Model = TypeVar("_Model")


@dataclass(frozen=True, kw_only=True)
class MixedFiles:
    """Files that are trained on beside others."""

    files: tuple[Path, ...]
    """source and target, one file that holds both sides, or one text"""
    weight: float = 1.0
    """how often they come in an epoch: 2 is twice, 0.5 another random half in every epoch"""

    def __post_init__(self) -> None:
        if not 0 < self.weight < inf:
            raise ConfigError(f"weight must be more than 0, and finite, but is {self.weight}")


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """The data files: source and target, one file that holds both, or one text for a language model."""

    train: tuple[Path, ...]
    """the training text: a source file and a target file, one file that holds both sides, or one text for a language
    model; relative names start at the run file"""
    dev: tuple[Path, ...] | None = None
    """the validation set, which is not trained on: its scores decide early stopping and the best checkpoint; none: no
    validation"""
    test: tuple[Path, ...] | None = None
    """a test set, on which the trained model is to be evaluated; it is not trained on"""
    leaks: Literal["keep", "source", "either"] = "keep"
    """which training lines are left out: none, those that share their source with dev or test, or either side"""
    source: str | None = None
    """the code of the source language, such as en; the server and BLEU's tokenizer go by it"""
    target: str | None = None
    """the code of the target language, such as de"""
    mix: tuple[MixedFiles, ...] = ()
    """further training files beside `train`, each with a weight"""
    weight: float = 1.0
    """how often the files of `train` come in an epoch that also has those of `mix`"""
    format: Annotated[Any, TEXT_FORMATS] = None
    """how a file that holds both sides is read; by default told by its suffix and content"""
    vectors: tuple[Path, ...] = ()
    """word vectors that embeddings begin with: a text file as word2vec, fastText or GloVe write them, for each side, or
    one for all. Tokens that are whole words take theirs; the embeddings must be as wide as the vectors"""

    def __post_init__(self) -> None:
        if not 0 < self.weight < inf:
            raise ConfigError(f"data: weight must be more than 0, and finite, but is {self.weight}")

    @classmethod
    def migrate(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Older files have the keys of JSON lines beside the format instead of in it."""
        if "keys" not in table:
            return table
        rest = {name: value for name, value in table.items() if name != "keys"}
        lone = rest.get("train", ())[:1]
        if rest.get("format") == "jsonl" or (
            not rest.get("format") and lone and kind_by_name(Path(lone[0])) == "jsonl"
        ):
            rest["format"] = {"name": "jsonl", "keys": table["keys"]}
        return rest

    def corpus(self, files: tuple[Path, ...], folder: Path, blanks: Blanks) -> Corpus:
        """The corpus in these files; relative names start at `folder`."""
        if not 1 <= len(files) <= 2:
            raise ConfigError(f"data: one or two files make a corpus, but {len(files)} are given")
        places = tuple(located(folder, file) for file in files)
        corpus = Corpus(files=places, format=self._format(places, files), blanks=blanks)
        return corpus if corpus.sides == 2 else replace(corpus, blanks="skip")  # running text has blank lines

    def _format(self, places: tuple[Path, ...], files: tuple[Path, ...]) -> Format:
        """The format that is set, for files like those of the training set; else what names and content tell."""
        if self.format is not None and len(files) == len(self.train) and _alike(files, self.train):
            chosen: Format = self.format
            return chosen
        found = format_by_name(places)
        if found is not None:
            return found
        try:
            return recognize(places, Hints(source=self.source, target=self.target)).format
        except Doubt as error:
            raise ConfigError(f"data.format: {error.problem}; set it in [data.format], as regard init does") from error

    def training(self, folder: Path, sides: int) -> Corpus:
        """The training text, which must have this many sides."""
        corpus = self.corpus(self.train, folder, "skip")
        also = tuple(self.corpus(mixed.files, folder, "skip") for mixed in self.mix)
        for mixed, other in zip(self.mix, also, strict=True):
            if other.sides != corpus.sides:
                raise ConfigError(
                    f"data.mix: {mixed.files[0]} has {_counted(other.sides)}, but data.train has "
                    f"{_counted(corpus.sides)}"
                )
        corpus = replace(corpus, also=also)
        if corpus.sides != sides:
            task = "language" if corpus.sides == 1 else "translate"
            raise ConfigError(
                f"data.train: has {_counted(corpus.sides)}, but this task learns from {_counted(sides)}; "
                f'task = "{task}" would fit it'
            )
        if self.leaks == "keep":
            return corpus
        return replace(corpus, without=tuple(self.held_out(folder, (), sides).values()), leaks=self.leaks)

    def held_out(self, folder: Path, test: Sequence[Path], sides: int) -> dict[str, Corpus]:
        """The dev and test sets, if any; they must have as many sides as the training text."""
        found = {}
        if self.dev is not None:
            found["dev"] = self.corpus(self.dev, folder, "error")
        if test:
            found["test"] = open_corpus(*test, blanks="error" if sides == 2 else "skip")
        elif self.test is not None:
            found["test"] = self.corpus(self.test, folder, "error")
        for name, corpus in found.items():
            if corpus.sides != sides:
                raise UsageError(f"{name}: must have as many sides as the training text, {sides}, not {corpus.sides}")
        return found


def sides_of(data: Mapping[str, Any]) -> int:
    """The number of sides of text that the table [data] of a run file names, without reading the text; 0 if unknown."""
    files = data.get("train")
    if not isinstance(files, list | tuple) or not all(isinstance(file, str | Path) for file in files):
        return 0
    if len(files) != 1:
        return len(files)
    try:
        settings = from_dict({name: value for name, value in data.items() if name != "dev"}, DataSettings)
    except RegardError:
        return 0
    if settings.format is not None:
        return int(settings.format.sides(settings.train))
    return 1 if kind_by_name(settings.train[0]) is None else 2


@dataclass(frozen=True, kw_only=True)
class SubwordChoice(SubwordSettings):
    """The settings of the tokenizer: subwords learned from the training text, or loaded."""

    load: tuple[Path, ...] | None = None
    """vocabularies to use instead of learning them: one for both sides, or source and target; tokenizer.json,
    SentencePiece, or the model file of a text model"""
    dropout: float | None = None
    """BPE-dropout: the probability that a merge is skipped, drawn anew in every epoch; for bpe"""
    alpha: float | None = None
    """subword regularization: how sharply segmentations are sampled; for unigram"""

    def of_texts(self, texts: Sequence[str], kept: Path, data: Path) -> Subwords:
        """The subwords of texts in memory: kept ones from before, loaded ones, or newly learned ones."""
        if kept.exists():
            return Subwords.from_json(read_text(kept))
        if self.load is not None and len(self.load) != 1:
            raise ConfigError(f"subwords.load: one file fits texts of one side, not {len(self.load)}")
        if self.load is None:
            subwords = learn_subwords(texts[: self.lines], self)
        else:
            (subwords,) = _loaded(data / self.load[0], 1)
        write_text(kept, subwords.to_json())
        return subwords

    def find(self, corpus: Corpus, kept: Path, data: Path, warn: Callable[[str], object] = bool) -> Vocabularies:
        """The subwords: kept ones from before, loaded ones, or newly learned ones, which are then kept.

        Their hash is kept beside them. If the file is damaged, the subwords are made again, and must be the same.
        """
        wanted = read_sealed(hash_of := kept.with_suffix(".sha256"))
        if kept.exists():
            try:
                return _kept_subwords(kept, wanted, corpus.sides)
            except RegardError as error:
                if wanted is None:
                    raise
                warn(f"{error}; they are made again")
        subwords = self._make(corpus, data)
        text = subwords.to_json()
        if wanted is not None and wanted != _hash(text):
            raise RegardError(
                f"{kept}: is damaged, and made again the subwords differ; delete the folder to start anew"
            )
        write_sealed(hash_of, _hash(text))
        write_text(kept, text)
        return subwords

    def _make(self, corpus: Corpus, data: Path) -> Vocabularies:
        both = corpus.sides == 2
        if self.load is not None:
            loaded = [subwords for file in self.load for subwords in _loaded(data / file, corpus.sides)]
            if not 1 <= len(loaded) <= corpus.sides:
                raise ConfigError(f"subwords.load: at most {corpus.sides} files fit this corpus, not {len(loaded)}")
            return SubwordPair(loaded[0], loaded[-1]) if both else loaded[0]
        return train_pair(corpus, self) if both else learn_subwords(Texts(corpus, (0,), self.lines), self)


@dataclass(frozen=True, kw_only=True)
class PreparedText(Prepared):
    """Prepared data with its encoded corpus."""

    store: Store
    vocabularies: tuple[Subwords, ...]
    """the subwords of each side"""


def weighted_parts(store: Store, data: DataSettings) -> list[WeightedPart]:
    """Which pairs come from which files, with the weight of each."""
    weights = [data.weight, *(mixed.weight for mixed in data.mix)]
    starts = [0, *store.counts.starts]
    stops = [*store.counts.starts, len(store)]
    return [WeightedPart(*span) for span in zip(starts, stops, weights, strict=True)]


def _loaded(path: Path, sides: int) -> tuple[Subwords, ...]:
    """The subwords of a file, which may be those of a model of at most so many sides of text."""
    if path.suffix != ".safetensors" and not path.is_dir():
        return (load_subwords(path),)
    kept = open_artifact(path).tokenizers
    found = tuple(Subwords.from_json(kept[side]) for side in ("text", "source", "target") if side in kept)
    if not 1 <= len(found) <= sides:
        raise ConfigError(f"subwords.load: {path} is no model of {'one side of text' if sides == 1 else 'text'}")
    return found


def token_loss(
    cross_entropy: CrossEntropy, model: Model, hidden: Callable[[], Tensor], targets: Int64[Tensor, "batch length"]
) -> Loss:
    """The cross-entropy of the targets; while a model with experts learns, also what balances their load."""
    with balance_losses(model) as balances:
        states = hidden()
    loss = cross_entropy(model, states, targets)
    if not balances or not model.training:
        return loss
    balance = loss.count * torch.stack(balances).sum()
    return Loss(loss.total + balance, loss.count, {**loss.parts, "balance": balance})


def refuse_other(now: str, what: str, kept: Path, warn: Callable[[str], object] = bool) -> None:
    """Refuse to resume a run whose text or links have changed since it began."""
    before = read_sealed(kept)
    if before is None:
        if kept.exists():
            warn(f"{kept}: is damaged, so {what} cannot be compared with what this run began with; it is made again")
        write_sealed(kept, now)
    elif before != now:
        raise RegardError(
            f"{what} changed since this run began in {kept.parent}; "
            "bring the old content back, choose another name, or delete the folder to start anew"
        )


def write_sealed(path: Path, digest: str) -> None:
    """Write a hash with a checksum of its own, so that a damaged file is not taken for other content."""
    write_text(path, f"{digest} {zlib.crc32(digest.encode()):08x}\n")


def read_sealed(path: Path) -> str | None:
    """The hash that was written, or None if there is none, or it is damaged."""
    try:
        digest, _, checksum = read_text(path).strip().partition(" ")
    except RegardError:
        return None
    return digest if checksum in ("", f"{zlib.crc32(digest.encode()):08x}") and len(digest) == _DIGITS else None


def _kept_subwords(path: Path, wanted: str | None, sides: int) -> Vocabularies:
    text = read_text(path).removesuffix("\n")
    if wanted is not None and _hash(text) != wanted:
        raise RegardError(f"{path}: the subwords are damaged")
    try:
        return SubwordPair.from_json(text) if sides == 2 else Subwords.from_json(text)
    except (ValueError, KeyError, TypeError) as error:
        raise RegardError(f"{path}: the subwords are damaged: {error}; delete the folder to start anew") from error


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def text_checkup(found: Checkup, prepared: PreparedText, train: Corpus, held_out: Mapping[str, Corpus]) -> Checkup:
    """A checkup of lines, with how the files are read, the subwords, and the characters that these cannot write."""
    sizes = " and ".join(f"{len(side):,}" for side in dict.fromkeys(prepared.vocabularies))
    lengths = ", ".join(f"{len(side.flat) / len(side):.1f}" for side in prepared.store.sides)
    facts = (
        f"read as: {train.format.words()}",
        *found.facts,
        f"{sizes} subwords; {lengths} of them in a mean line",
    )
    lost = [
        check_characters(name, corpus, prepared.vocabularies)
        for name, corpus in {"training": train, **held_out}.items()
    ]
    return Checkup(facts, [*found.findings, *(finding for finding in lost if finding.count)])


def one_model(artifacts: Sequence[Artifact], models: Sequence[_Model]) -> tuple[Artifact, _Model]:
    """The one model; an ensemble is refused."""
    if len(models) != 1:
        raise UsageError(f"load: the task {artifacts[0].task} takes one model, not an ensemble of {len(models)}")
    return artifacts[0], models[0]


def one_vocabulary(artifacts: Sequence[Artifact]) -> Artifact:
    """The first model of an ensemble, whose models must share their vocabularies."""
    first, *others = artifacts
    for other in others:
        if other.tokenizers != first.tokenizers:
            raise UsageError(
                f"{other.name}: its subwords differ from those of {first.name}; "
                "models of an ensemble must share their vocabularies"
            )
    return first


def _alike(files: Sequence[Path], others: Sequence[Path]) -> bool:
    return [kind_by_name(file) for file in files] == [kind_by_name(file) for file in others]


def _counted(sides: int) -> str:
    return "source and target" if sides == 2 else "one side of text"

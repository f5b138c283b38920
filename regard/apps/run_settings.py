"""run.toml: everything that decides a run, as one typed tree."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from regard.base.config import from_dict, read_table
from regard.base.errors import ConfigError, unknown
from regard.data.corpus import Blanks, Corpus, Format, open_corpus
from regard.data.plan import BatchSettings
from regard.data.subwords.learn import SubwordSettings
from regard.data.windows import StreamSettings
from regard.decoding.strategy import STRATEGIES
from regard.models.model import MODELS
from regard.training.settings import TrainingSettings


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """Which files: source and target, or one file that holds both, or one side alone for a language model."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...] | None = None
    source: str | None = None
    """the languages, by their codes"""
    target: str | None = None
    format: Format | None = None
    """told by the file's ending unless set"""
    keys: tuple[str, ...] = ("source", "target")
    """the names of the sides in JSON lines"""

    def corpus(self, files: tuple[Path, ...], folder: Path, blanks: Blanks) -> Corpus:
        """The corpus in these files; names that do not start at the root start at `folder`."""
        if not 1 <= len(files) <= 2:
            raise ConfigError(f"data: one or two files make a corpus, but {len(files)} are given")
        places = [folder / file for file in files]
        target = places[1] if len(places) == 2 else None
        corpus = open_corpus(places[0], target, format=self.format, keys=self.keys, blanks=blanks)
        return corpus if corpus.sides == 2 else replace(corpus, blanks="skip")  # running text has blank lines


@dataclass(frozen=True, kw_only=True)
class SubwordChoice(SubwordSettings):
    """How text becomes numbers: learned from the training text, or loaded."""

    load: tuple[Path, ...] | None = None
    """vocabularies to use instead of learning them: one for both sides, or source and target"""
    dropout: float | None = None
    """of merges: another segmentation in every epoch, for bpe"""
    alpha: float | None = None
    """how sharply segmentations are drawn, for unigram"""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """A run: data, subwords, batches, model, training, decoding."""

    name: str
    data: DataSettings
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    batches: BatchSettings = field(default_factory=BatchSettings)
    streams: StreamSettings = field(default_factory=StreamSettings)
    model: Annotated[Any, MODELS]
    training: TrainingSettings = field(default_factory=TrainingSettings)
    decoding: Annotated[Any, STRATEGIES] = None
    """None: as a translator or a generator does unless told"""

    def __post_init__(self) -> None:
        if not self.name or Path(self.name).name != self.name or self.name.startswith("."):
            raise ConfigError(f"name: must be the name of a folder, but is {self.name!r}")

    def check_sides(self, sides: int) -> None:
        """A model that translates learns from two sides of text, a language model from one."""
        has_source = "source" in self.model.needs
        if has_source != (sides == 2):
            wants = "source and target" if has_source else "one side of text"
            raise ConfigError(f"model: it learns from {wants}, but data.train has {sides} side{'s' * (sides == 2)}")


def read_run(path: str | Path, overrides: Iterable[str] = ()) -> RunSettings:
    """The run that a file describes, with `overrides` such as `model.width=256`."""
    return run_of(read_table(path, overrides), Path(path).stem)


def run_of(table: Mapping[str, Any], name: str) -> RunSettings:
    """The run that tables describe; without a name of its own it gets the one given."""
    chosen = {"name": name, **table}
    if isinstance(chosen.get("model"), dict):
        chosen["model"] = with_preset(chosen["model"], "model")
    return from_dict(chosen, RunSettings)


def with_preset(model: dict[str, Any], where: str) -> dict[str, Any]:
    """The settings of a model with those of its `preset` filled in where nothing else is said."""
    chosen = {key: value for key, value in model.items() if key != "preset"}
    if "preset" not in model:
        return chosen
    if "name" not in model:
        raise ConfigError(f"{where}.name: missing; models are: {', '.join(MODELS.names)}")
    presets = MODELS.get(str(model["name"]), f"{where}.name").presets  # type: ignore[attr-defined]
    preset = str(model["preset"])
    if preset not in presets:
        raise ConfigError(unknown(f"{where}.preset", preset, presets, "presets"))
    return {**presets[preset], **chosen}

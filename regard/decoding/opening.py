"""The decoding settings of a model file: strategy, tokenizers, shortlist, sentence splitting."""

import re

from regard.base.config import from_dict
from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import SubwordPair, Subwords
from regard.decoding.layout import SPLITS, Split
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.runs.artifact import Artifact

_DIRECTION = re.compile(r"([A-Za-z]{2,3})(?:_[A-Za-z0-9]+)?-[A-Za-z]{2,3}(?:_[A-Za-z0-9]+)?")


def strategy_of(artifact: Artifact) -> Strategy | None:
    """The model's decoding strategy."""
    table = artifact.config.get("decoding")
    if table is None:
        return None
    member = STRATEGIES.get(str(table.get("name", "beam")), f"{artifact.name}: decoding")
    settings: Strategy = from_dict({key: value for key, value in table.items() if key != "name"}, member)
    return settings


def shortlist_of(artifact: Artifact) -> Shortlist:
    """The model's shortlist."""
    if "shortlist" not in artifact.extras:
        raise UsageError(f"{artifact.name}: has no shortlist; `regard shortlist` makes one")
    return Shortlist.from_extras(artifact.extras["shortlist"], artifact.name)


def subwords_of(artifact: Artifact) -> SubwordPair:
    """The tokenizers of both sides; the same object where they share one vocabulary."""
    source, target = artifact.tokenizers["source"], artifact.tokenizers["target"]
    read = Subwords.from_json(source)
    return SubwordPair(read, read if source == target else Subwords.from_json(target))


def split_of(artifact: Artifact) -> Split:
    """What the model translates at a time; `sentence` for model files that do not say."""
    found = artifact.extras.get("split", "sentence")
    return next((one for one in SPLITS if one == found), "sentence")


def source_language_of(artifact: Artifact) -> str | None:
    """The language that the model reads: as its settings say, or its name, such as `en-de`; None if neither does."""
    data = artifact.config.get("data") or {}
    if data.get("source"):
        return str(data["source"])
    found = _DIRECTION.fullmatch(str(artifact.config.get("name", "")))
    return found[1] if found else None

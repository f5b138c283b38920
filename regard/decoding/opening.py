"""The decoding settings of a model file: strategy, tokenizers, shortlist."""

from regard.base.config import from_dict
from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import SubwordPair, Subwords
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.runs.artifact import Artifact


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

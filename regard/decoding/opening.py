"""The decoding settings of a model file: strategy, tokenizers, shortlist, sentence splitting."""

import re
from typing import Any

from regard.base.config import from_dict
from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import SubwordPair, Subwords
from regard.decoding.layout import SPLITS, Split
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategy import LONGEST_OUTPUT, STRATEGIES, Strategy
from regard.runs.artifact import Artifact

_DIRECTION = re.compile(r"([A-Za-z]{2,3})(?:_[A-Za-z0-9]+)?-[A-Za-z]{2,3}(?:_[A-Za-z0-9]+)?")


def strategy_of(artifact: Artifact) -> Strategy | None:
    """The model's decoding strategy."""
    table = artifact.config.get("decoding")
    if table is None:
        return None
    member = STRATEGIES.get(str(table.get("name", "beam")), f"{artifact.name}: decoding")
    where = f"{artifact.name}: decoding"
    settings: Strategy = from_dict({key: value for key, value in table.items() if key != "name"}, member, where)
    vocabulary = artifact.vocabularies[1]
    for name in ("prefix", "suppress"):
        tokens: tuple[int, ...] = getattr(settings, name)
        if len(tokens) > LONGEST_OUTPUT or max(tokens, default=0) >= vocabulary:
            raise UsageError(f"{where}.{name}: must be tokens of the model, which has {vocabulary}")
    return settings


def shortlist_of(artifact: Artifact) -> Shortlist:
    """The model's shortlist."""
    if "shortlist" not in artifact.extras:
        raise UsageError(f"{artifact.name}: has no shortlist; `regard shortlist` makes one")
    found = Shortlist.from_extras(artifact.extras["shortlist"], artifact.name)
    if (len(found.translations), found.vocabulary) != artifact.vocabularies:
        raise RegardError(f"{artifact.name}: its shortlist is for other vocabularies; make one with `regard shortlist`")
    return found


def max_source_of(artifact: Artifact) -> int | None:
    """The longest source in tokens that the model was trained on, if its file says so."""
    found = artifact.extras.get("max_source")
    if found is not None and (type(found) is not int or found < 1):
        raise RegardError(f"{artifact.name}: its max_source must be a whole number of tokens, but is {found!r}")
    return found


def alignment_of(artifact: Artifact) -> dict[str, Any] | None:
    """The entry of the model file that names its alignment heads, if it has one."""
    found = artifact.extras.get("alignment")
    if found is not None and not isinstance(found, dict):
        raise RegardError(f"{artifact.name}: its alignment must be a table, but is {found!r}")
    return found


def vocabulary_of(artifact: Artifact, side: str) -> Subwords:
    """The tokenizer of a side, which must have as many pieces as the model was built for."""
    if side not in artifact.tokenizers:
        raise RegardError(f"{artifact.name}: has no tokenizer for its {side}")
    try:
        found = Subwords.from_json(artifact.tokenizers[side])
    except RegardError as error:
        raise RegardError(f"{artifact.name}: {error}") from error
    if len(found) != artifact.sizes.get(side):
        raise RegardError(
            f"{artifact.name}: its tokenizer of the {side} has {len(found)} pieces, but the model was built for "
            f"{artifact.sizes.get(side)}"
        )
    return found


def subwords_of(artifact: Artifact) -> SubwordPair:
    """The tokenizers of both sides; the same object where they share one vocabulary."""
    read = vocabulary_of(artifact, "source")
    same = artifact.tokenizers["source"] == artifact.tokenizers.get("target")
    return SubwordPair(read, read if same else vocabulary_of(artifact, "target"))


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

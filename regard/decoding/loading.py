"""From a file, or the folder of a run, to something that translates or writes.

translator = load("runs/en-de")
translator.translate(["Two dogs play in the snow."])
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from regard.base.config import from_dict
from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import SubwordPair, Subwords
from regard.decoding.generator import Generator
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.decoding.translator import Translator
from regard.layers.inference.precision import in_precision
from regard.runs.artifact import Artifact, load_artifact
from regard.runs.folder import RunFolder


def load(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | None = None,
    device: str | torch.device = "cpu",
    *,
    precision: str = "float32",
    shortlist: bool = False,
) -> Translator | Generator:
    """The model in a file or run folder; several of them work together as an ensemble.

    `precision` is that of the products with large matrices. With `shortlist`, only the words on the model's are scored.
    """
    places = [paths] if isinstance(paths, str | Path) else list(paths)
    if not places:
        raise UsageError("load: give a model file, or the folder of a run")
    artifacts = [load_artifact(model_file(place)) for place in places]
    models = [artifact.model().to(device) for artifact in artifacts]
    for model in models:
        in_precision(model, precision)
    strategy = strategy or strategy_of(artifacts[0])
    first = artifacts[0]
    for other in artifacts[1:]:
        if other.tokenizers != first.tokenizers:
            raise UsageError(
                f"{other.name}: its subwords differ from those of {first.name}; "
                "models of an ensemble must share their vocabularies"
            )
    if not models[0].has_source:
        return Generator(models, Subwords.from_json(first.tokenizers["text"]), strategy)
    pair = subwords_of(first)
    max_source, alignment = first.extras.get("max_source"), first.extras.get("alignment")
    return Translator(
        models,
        pair.source,
        pair.target,
        strategy,
        max_source=max_source,
        alignment=alignment,
        shortlist=shortlist_of(first) if shortlist else None,
    )


def model_file(path: str | Path) -> Path:
    """The model that a path names: a file, or the one in the folder of a run."""
    place = Path(path)
    if not place.exists():
        raise UsageError(f"{place}: there is no such file or folder; give a model file or the folder of a run")
    if not place.is_dir():
        return place
    folder = RunFolder(place)
    if not folder.model.exists():
        run = "its training is not finished yet; `regard train` goes on with it"
        raise RegardError(f"{place}: {run if folder.config.exists() else 'this folder holds no run'}")
    return folder.model


def strategy_of(artifact: Artifact) -> Strategy | None:
    """How the model was set up to decode."""
    table = artifact.config.get("decoding")
    if table is None:
        return None
    member = STRATEGIES.get(str(table.get("name", "beam")), f"{artifact.name}: decoding")
    settings: Strategy = from_dict({key: value for key, value in table.items() if key != "name"}, member)
    return settings


def shortlist_of(artifact: Artifact) -> Shortlist:
    """The shortlist that was made for the model."""
    if "shortlist" not in artifact.extras:
        raise UsageError(f"{artifact.name}: has no shortlist; `regard shortlist` makes one")
    return Shortlist.from_extras(artifact.extras["shortlist"], artifact.name)


def subwords_of(artifact: Artifact) -> SubwordPair:
    """The subwords of both sides, the same object where they are one vocabulary."""
    source, target = artifact.tokenizers["source"], artifact.tokenizers["target"]
    read = Subwords.from_json(source)
    return SubwordPair(read, read if source == target else Subwords.from_json(target))

"""From a model in Python to the one file that `load` reads.

>>> translator = load("runs/en-de")
>>> ...                                   # change its weights, its strategy
>>> save(translator, "mine.safetensors")
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.base.config import to_dict
from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.generator import Generator
from regard.decoding.opening import strategy_of
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.sample import Sample
from regard.decoding.translator import Translator
from regard.models.model import Design
from regard.runs.artifact import Artifact, origin_of, save_artifact


def save(
    model: Translator | Generator | nn.Module,
    path: str | Path,
    *,
    design: Design | None = None,
    subwords: Subwords | Sequence[Subwords] | None = None,
) -> Path:
    """Write a model, with all that is needed to use it, as one safetensors file; `load` reads it again.

    What `load` gave is saved as it is, with its present weights, strategy, alignment heads and shortlist. A model that
    was built in Python needs the `design` that built it, and its `subwords` (source and target, or one vocabulary),
    unless a `Translator` or `Generator` brings them along.

    >>> design = models.Transformer.preset("tiny")
    >>> network = design.build({"source": len(subwords), "target": len(subwords)})
    >>> save(Translator(network, subwords, subwords), "new.safetensors", design=design)
    """
    network = _network(model)
    found = origin_of(network)
    if design is not None or found is None:
        found = _described(network, design, _vocabularies(model, subwords))
    artifact = _with_settings(found, model).with_weights(network.state_dict())
    _check(artifact)
    save_artifact(path, artifact)
    return Path(path)


def _network(model: Any) -> nn.Module:
    """The network of what is saved; an ensemble has several."""
    if isinstance(model, nn.Module):
        return model
    networks = getattr(model, "models", None) or [getattr(model, "model", None)]
    if not all(isinstance(network, nn.Module) for network in networks):
        raise UsageError(f"save: give a model, or what regard.load returned, not a {type(model).__name__}")
    if len(networks) != 1:
        raise UsageError(f"save: an ensemble of {len(networks)} models is no one file; save each, or average them")
    only: nn.Module = networks[0]
    return only


def _vocabularies(model: Any, given: Subwords | Sequence[Subwords] | None) -> list[Subwords]:
    if given is not None:
        return [given] if isinstance(given, Subwords) else list(given)
    if isinstance(model, Translator):
        return [model.source, model.target]
    return [model.subwords] if isinstance(model, Generator) else []


def _described(network: nn.Module, design: Design | None, subwords: list[Subwords]) -> Artifact:
    """The artifact, without weights, of a model that was built in Python."""
    if design is None:
        raise UsageError("save: this model was not loaded from a file; give the design that built it, design=…")
    task = {("source", "target"): "translate", ("text",): "language"}.get(design.needs)
    if task is None or not 1 <= len(subwords) <= len(design.needs):
        needed = " and ".join(design.needs)
        raise UsageError(f"save: give the subwords of {needed}, subwords=…; a model is of no use without them")
    of_side = dict(zip(design.needs, subwords if len(subwords) > 1 else subwords * len(design.needs), strict=True))
    return Artifact(
        config={"model": {"name": design.where, **to_dict(design)}},
        task=task,
        sizes={side: len(own) for side, own in of_side.items()},
        tokenizers={side: own.to_json() for side, own in of_side.items()},
    )


def _with_settings(artifact: Artifact, model: Any) -> Artifact:
    """With the strategy, alignment heads, shortlist and longest source that a translator or generator has now."""
    own = getattr(model, "strategy", None)
    usual = Beam() if isinstance(model, Translator) else Sample(max_length=100)
    if own is not None and own != (strategy_of(artifact) or usual):
        name = type(own).__module__.rpartition(".")[2]
        artifact = replace(artifact, config={**artifact.config, "decoding": {"name": name, **to_dict(own)}})
    if not isinstance(model, Translator):
        return artifact
    extras = {"max_source": model.max_source, "alignment": model.alignment}
    if model.shortlist is not None:
        extras["shortlist"] = model.shortlist.to_extras()
    return artifact.with_extras(**{name: value for name, value in extras.items() if value is not None})


def _check(artifact: Artifact) -> None:
    """Refuse weights that are not those of the design, which no one could load again."""
    with torch.device("meta"):
        expected = {name: tensor.shape for name, tensor in artifact.design().build(artifact.sizes).state_dict().items()}
    found = {name: tensor.shape for name, tensor in artifact.weights.items()}
    if found != expected:
        odd = min(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        raise UsageError(
            f"save: the tensor '{odd}' is not as the design makes it; save a model as it was built, "
            "in float32 rather than in another precision"
        )

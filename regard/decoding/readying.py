"""Keep a model ready: what a `ReadyTranslator` needs, from a translator that has it in torch."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.decoding.packed.compiled import Compiled, position_vectors
from regard.decoding.packed.compiled_search import MOST_CANDIDATES
from regard.decoding.packed.decoder import packed
from regard.decoding.ready_file import ready_place, write_ready
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategy import Strategy
from regard.decoding.translator import Translator
from regard.models.transformer import TransformerModel
from regard.native.kernels import kernels
from regard.native.library import address
from regard.native.stored import described

_POSITIONS = 512


def make_ready(model: str | Path, translator: Translator) -> None:
    """Keep the model of a file or run ready, if its translator computes by compiled layers and does nothing unusual."""
    if type(translator) is not Translator or len(translator.models) != 1 or not translator.is_small:
        return
    native, place = kernels(), ready_place(model)
    if native is None or place is None or place[1] != native.kind or place[0].exists():
        return
    with torch.inference_mode():
        stepper = packed(translator.models[0])
        if type(stepper) is Compiled and isinstance(stepper.model, TransformerModel) and _is_plain(translator):
            write_ready(place[0], *_parts(translator, stepper))


def _is_plain(translator: Translator) -> bool:
    """Whether a compiled search does all that the strategy asks for."""
    own: Strategy = translator.strategy
    usual = Strategy.__dataclass_fields__
    same = all(getattr(own, name) == usual[name].default for name in ("min_length", "no_repeat_ngram", "prefix"))
    few = isinstance(own, Beam) and 2 * own.size <= min(MOST_CANDIDATES, len(translator.target))
    return same and few and type(own) is Beam and translator.shortlist is None


def _parts(translator: Translator, stepper: Compiled) -> tuple[list[np.ndarray], dict[str, Any]]:
    stacks = stepper.stacks
    model: Any = stepper.model
    strategy: Any = translator.strategy
    output, encoder = stacks.output(), stacks.encoder
    arrays = list({address(array): array for array in stacks.packed_arrays}.values())  # tables may be shared
    at = {address(array): number for number, array in enumerate(arrays)}
    count = min(_POSITIONS, stepper.limit or _POSITIONS)
    places: list[int | None] = []
    for table in (position_vectors(model.source, count), stepper.places(count)):
        places.append(None if table is None else len(arrays))
        arrays += [] if table is None else [np.asarray(table, np.float32)]
    search = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    enough = None if strategy.patience is None else strategy.enough
    both = {translator.source.to_json(): None, translator.target.to_json(): None}  # one where they are the same
    return arrays, {
        "encoder": described(encoder.weights, at) if encoder is not None else None,
        "decoder": described(stacks.decoder.weights, at),
        "output": described(output, at),
        "places": places,
        "first": model.first,
        "limit": stepper.limit,
        "search": search | {"enough": enough},
        "tokenizers": list(both),
        "max_source": translator.max_source,
        "language": translator.language,
        "split": translator.split,
    }

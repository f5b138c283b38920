"""Embeddings that begin with word vectors from files, instead of random numbers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from regard.base.errors import ConfigError
from regard.base.unpacking import located
from regard.data.subwords.tokenizer import Subwords
from regard.data.word_vectors import WordVectors, read_word_vectors
from regard.layers.embedding import Embedding
from regard.tasks.task import Prepared, Task


def starting_vectors_of(
    task: Task, prepared: Prepared, data: Path, note: Callable[[str], None]
) -> dict[str, WordVectors]:
    """The word vectors that `data.vectors` names, by side; relative names start at the folder `data`."""
    files: tuple[Path, ...] = getattr(getattr(task, "data", None), "vectors", ())
    sides = {side: text for side, text in prepared.tokenizers.items() if side in task.sizes}
    if not files:
        return {}
    if len(files) not in (1, len(sides)):
        raise ConfigError(f"data.vectors: must be one file, or one for each of {', '.join(sides)}, not {len(files)}")
    found = {}
    for (side, text), file in zip(sides.items(), files if len(files) > 1 else files * len(sides), strict=True):
        found[side] = read_word_vectors(located(data, file), Subwords.from_json(text))
        note(
            f"{file}: vectors for {len(found[side].ids):,} of the {found[side].words:,} words of the {side} vocabulary"
        )
    return found


def enter_vectors(model: Any, vectors: Mapping[str, WordVectors]) -> None:
    """Let a model's embeddings begin with word vectors."""
    for side, given in vectors.items():
        embedding = next((part for part in _embeddings(model, side) if isinstance(part, Embedding)), None)
        if embedding is None:
            raise ConfigError(f"data.vectors: the model has no embedding of {side} tokens; leave data.vectors out")
        width, own = given.rows.shape[1], embedding.table.weight.shape[1]
        if width != own:
            raise ConfigError(
                f"data.vectors: the {side} vectors have {width} numbers, but the model's embeddings {own}; set "
                f"model.embedding = {width}, or model.width = {width} where the model has no width of embeddings"
            )
        embedding.begin(torch.from_numpy(given.ids), torch.from_numpy(given.rows))


def _embeddings(model: Any, side: str) -> list[Any]:
    """What may embed the tokens of a side; a model of one text calls it source or target."""
    return [getattr(model, name, None) for name in ((side,) if side in ("source", "target") else ("target", "source"))]

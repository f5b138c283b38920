"""Models from whatever holds their weights: a model file, a run folder, or a snapshot or checkpoint inside one.

A snapshot holds weights alone. What else a model is made of (settings, tokenizers, extras) comes from the model file of
the run that the snapshot belongs to.
"""

from dataclasses import replace
from pathlib import Path

from regard.base.errors import RegardError
from regard.layers.low_rank import merged
from regard.runs.artifact import Artifact, load_artifact, split_ties
from regard.runs.checkpoint import is_checkpoint, read_checkpoint
from regard.runs.folder import RunFolder, model_file


def holds_model(path: str | Path) -> bool:
    """Whether a path is that of a model, a run folder or a snapshot, rather than of a text."""
    place = Path(path)
    return place.is_dir() or place.suffix == ".safetensors"


def open_artifact(path: str | Path) -> Artifact:
    """Read the model of a file, a run folder or a snapshot; any other file raises an error that says what it is."""
    file = model_file(path)
    if not is_checkpoint(file):
        return load_artifact(file)
    run = RunFolder(file.absolute().parent.parent)
    if not run.model.exists():
        raise RegardError(
            f"{file}: holds weights alone, and {run.model}, which says how to use them, is not there; "
            "give a snapshot inside its run folder"
        )
    whole = load_artifact(run.model)
    weights = merged(read_checkpoint(file).part("model"))
    once, tied = split_ties(whole.weights)
    if once.keys() != weights.keys() or any(once[name].shape != weights[name].shape for name in once):
        raise RegardError(f"{file}: its weights are not those of the model in {run.model}")
    both = weights | {name: weights[first] for name, first in tied.items()}
    return replace(whole, weights=both, name=str(file))

"""The names of the classes or tags of a folder, and what kind of answer they are."""

from collections.abc import Mapping
from typing import Any

from regard.base.errors import RegardError


def class_names(config: Mapping[str, Any], where: str) -> list[str]:
    """The name of each class, in the order of the logits; numbers without classes (regression) are refused."""
    names = config.get("id2label") or {str(at): f"LABEL_{at}" for at in range(int(config.get("num_labels", 2)))}
    if config.get("problem_type") == "regression":
        raise RegardError(f"{where}: problem_type is 'regression', but classes alone are read")
    if len(names) < 2:
        raise RegardError(f"{where}: has {len(names)} label, which is a regression, but classes alone are read")
    missing = [str(at) for at in range(len(names)) if str(at) not in names]
    if missing:
        raise RegardError(f"{where}: id2label has {len(names)} labels, but none of the number {missing[0]}")
    labels = [str(names[str(at)]) for at in range(len(names))]
    twice = next((label for at, label in enumerate(labels) if label in labels[:at]), None)
    if twice is not None:
        raise RegardError(f"{where}: id2label has the label {twice!r} twice, but each must have a name of its own")
    return labels


def is_multi_label(config: Mapping[str, Any]) -> bool:
    """Whether an input may have any number of classes."""
    return config.get("problem_type") == "multi_label_classification"

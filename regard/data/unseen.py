"""Labels that occur in a test or dev set, but not in training: named in a warning, and errors of the model."""

from collections import Counter
from collections.abc import Iterable, Sequence

_SHOWN = 10


def unseen_labels(found: Iterable[str], known: Sequence[str]) -> Counter[str]:
    """How often each label occurs that is not one of the known ones; the most frequent come first."""
    counted = Counter(found)
    strange = sorted((label for label in counted if label not in set(known)), key=lambda one: (-counted[one], one))
    return Counter({label: counted[label] for label in strange})


def unseen_note(unseen: Counter[str], where: str, kind: str, unit: str) -> str:
    """The warning, such as "test.txt: the tag I-LST (2 words) does not occur in training …"."""
    shown = [f"{label} ({count:,} {unit}{'' if count == 1 else 's'})" for label, count in unseen.items()][:_SHOWN]
    more = [f"{len(unseen) - _SHOWN:,} more"] if len(unseen) > _SHOWN else []
    several = len(unseen) > 1
    listed = ", ".join(shown + more)
    return (
        f"{where}: the {kind}{'s' if several else ''} {listed} {'do' if several else 'does'} not occur in the training "
        "data, so each counts as an error of the model"
    )

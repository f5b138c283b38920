"""A backend is one implementation of attention; all backends give the numbers of the definition."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

from jaxtyping import Float
from torch import Tensor

from regard.attention.call import Call
from regard.attention.part import Part
from regard.base.catalog import Catalog
from regard.base.errors import CombinationError

BACKENDS = Catalog("regard.attention.backends")


class Attended(NamedTuple):
    """The output of attention, and the attention weights if they were requested."""

    output: Float[Tensor, "batch heads query value_width"]
    weights: Float[Tensor, "batch heads query key"] | None = None


class Backend(Part):
    """One implementation of attention."""

    rank: ClassVar[int] = 0
    """among the backends that support a call, the one of the lowest rank is chosen"""

    def refusal(self, call: Call) -> str | None:
        """Why this backend does not support the call; None if it does."""
        return None

    def hesitation(self, call: Call) -> str | None:
        """Why another backend would be better, though this one supports the call; None if none would be."""
        return None

    def __call__(self, call: Call) -> Attended:
        """Compute attention."""
        raise self.unbuilt()


@cache
def backends() -> tuple[tuple[str, Backend], ...]:
    """All backends by name, in the order of their rank."""
    found = [(name, BACKENDS.make(name)) for name in BACKENDS.names]
    return tuple(sorted(found, key=lambda pair: pair[1].rank))


def choose(call: Call) -> Backend:
    """The backend that was named, or else the best of those that support the call."""
    if call.backend is not None:
        backend: Backend = BACKENDS.make(call.backend, "attend: backend")
        reason = backend.refusal(call)
        if reason:
            able = ", ".join(name for name, other in backends() if not other.refusal(call))
            raise CombinationError(f"attend: {_name(backend)} cannot serve this call: {reason}; {able} can")
        return backend
    willing = None
    for _, backend in backends():
        if backend.refusal(call) is None:
            if backend.hesitation(call) is None:
                return backend
            willing = willing or backend
    if willing is None:
        raise CombinationError("attend: no backend can serve this call")
    return willing


@dataclass(frozen=True)
class BackendChoice:
    """The backend chosen for a call, and why each of the others is not."""

    chosen: str
    reasons: dict[str, str]

    def __str__(self) -> str:
        return "\n".join(f"{'→' if name == self.chosen else ' '} {name}: {why}" for name, why in self.reasons.items())


def backend_choice_of(call: Call) -> BackendChoice:
    """Explain the choice of a backend for a call."""
    chosen = _name(choose(call))
    reasons = {}
    for name, backend in backends():
        if name == chosen:
            reasons[name] = "asked for" if call.backend is not None else "chosen: the fastest that serves this call"
        else:
            why = backend.refusal(call)
            rather = backend.hesitation(call)
            reasons[name] = f"cannot: {why}" if why else f"could, but {rather or 'the chosen one is faster'}"
    return BackendChoice(chosen, reasons)


def _name(backend: Backend) -> str:
    return type(backend).__module__.rpartition(".")[2]

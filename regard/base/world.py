"""Which of several processes this one is, as its environment says; torch is not needed to know.

torchrun (or SLURM, or Ray Train) tells every process its number by the environment variables RANK, WORLD_SIZE,
LOCAL_RANK, MASTER_ADDR and MASTER_PORT. Without WORLD_SIZE, or with 1, a process is alone.
"""

import os

from regard.base.errors import UsageError


def world_size() -> int:
    """The number of ranks that the environment names; 1 without any."""
    return number_of("WORLD_SIZE", 1)


def own_rank() -> int:
    """The number of this process among the ranks; 0 for one that is alone."""
    return number_of("RANK", 0) if world_size() > 1 else 0


def number_of(name: str, default: int | None = None) -> int:
    """The number in an environment variable; an error says which is wrong."""
    text = os.environ.get(name) or (None if default is None else str(default))
    try:
        return int(text or "")
    except ValueError as error:
        raise UsageError(
            f"{name}: this environment variable must be a number, but is {text or 'not set'}; torchrun sets it"
        ) from error

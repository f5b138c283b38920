"""How long the campaigns are: bounded in `make test`, long in `make torture`, which sets REGARD_TORTURE."""

import os

LONG = bool(os.environ.get("REGARD_TORTURE"))


def times(count: int) -> int:
    """So many examples, and 25 times as many in the long form."""
    return 25 * count if LONG else count

"""How long the campaigns are: bounded in `make test`, long in `make torture`, which sets REGARD_TORTURE."""

import os
import sys

LONG = bool(os.environ.get("REGARD_TORTURE"))


def times(count: int) -> int:
    """So many examples, and 25 times as many in the long form."""
    return 25 * count if LONG else count


def report(campaign: str, good: int, tried: int) -> None:
    """Say how many ended well, and fail unless all did."""
    if LONG:
        sys.__stdout__.write(f"\n{campaign}: {good} of {tried}\n")  # past pytest's capture
        sys.__stdout__.flush()
    assert good == tried, f"{campaign}: {good} of {tried}"

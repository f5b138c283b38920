"""The fixtures of the commands: a folder in which models were trained."""

from tests.apps.conftest import alone, home, run, trained

__all__ = ["alone", "home", "run", "trained"]

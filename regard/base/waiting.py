"""How OpenMP's threads wait for each other: asleep instead of spinning, set before torch is loaded.

torch splits a large operation among OpenMP threads, and GCC's runtime, which torch's Linux wheels bring along, lets a
thread that is done early spin for milliseconds until the others are. Alone on a machine that saves a wake-up of some
20 µs. Beside other work it burns the very time that the others need, and a training can all but stand still
(docs/measured.md). A runtime reads these variables once, when it is loaded:
https://gcc.gnu.org/onlinedocs/libgomp/Environment-Variables.html
"""

import os
import sys

PASSIVE = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
"""asleep at once: of every OpenMP runtime, of GCC's, and of LLVM's and Intel's"""


def wait_passively() -> None:
    """Let waiting threads sleep, unless torch is loaded already or the user has decided how they wait."""
    if "torch" not in sys.modules and not any(os.environ.get(variable) for variable in PASSIVE):
        os.environ.update(PASSIVE)

"""Whether a model is exactly what a fast path knows: these types and no subclass of them, with nothing hooked on.

A fast path reads the weights of modules and computes in their place. So a module that does anything else (a replaced
layer, a subclass, a parametrization, a forward hook) must be found before, and the model left to compute by itself.
"""

from collections.abc import Collection

from torch import nn


def stranger(model: nn.Module, known: Collection[type[nn.Module]]) -> str | None:
    """The first module that is none of the known types, or does more than its type says; None if there is none."""
    waiting = [("", model)]
    while waiting:
        name, module = waiting.pop()
        where, kind = name.removeprefix(".") or "the model", type(module)
        if kind not in known:
            return f"{where} is of the type {kind.__name__}"
        if module._forward_hooks or module._forward_pre_hooks:
            return f"{where} has a forward hook"
        if "forward" in vars(module):
            return f"{where} has a forward function of its own"
        waiting.extend((f"{name}.{child}", part) for child, part in module._modules.items() if part is not None)
    return None

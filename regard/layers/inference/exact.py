"""Check that a model has exactly the module types that a fast path knows: no subclasses, no hooks.

A fast path reads the weights of modules and computes in their place. A model with any other module (a replaced layer,
a subclass, a parametrization, a forward hook) must be found before, and computed by its own code.
"""

from collections.abc import Collection

from torch import nn


def stranger(model: nn.Module, known: Collection[type[nn.Module]]) -> str | None:
    """Describe the first module that is of no known type, has a hook or is in training mode; None if there is none."""
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

"""What settings mean: the text below each field of a dataclass, read from its source.

steps: int = 100
\"\"\"the number of training steps\"\"\"
"""

import ast
import sys
from functools import cache
from pathlib import Path


def meanings(kind: type) -> dict[str, str]:
    """The text below each field, of the class or of the nearest base that has one; fields without one are left out.

    >>> meanings(TrainingSettings)["clip"]
    'gradient clipping: the largest norm of the gradient'
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        found |= _own(base.__module__, base.__qualname__)
    return found


@cache
def _own(module: str, name: str) -> dict[str, str]:
    node = _classes(module).get(name)
    if node is None:
        return {}
    found = {}
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=own)), ast.Expr(value=ast.Constant(value=str(text))):
                found[own] = " ".join(text.split())
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module's source by name; empty for modules that were not read from a file."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not file.endswith(".py"):
        return {}
    tree = ast.parse(Path(file).read_text(encoding="utf-8"), filename=file)
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

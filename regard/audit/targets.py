"""Targets as they are written on the command line.

torch.nn.functional:scaled_dot_product_attention       a function of a module
torch.nn:MultiheadAttention(16, 4, batch_first=True)   a class with its arguments, which are literals
./mine.py:attend                                       of a file
./model-folder                                         a Hugging Face model
"""

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from regard.base.errors import UsageError
from regard.base.extras import install_hint

_FORMS = "write package.module:name, file.py:name or the folder of a Hugging Face model"


def target_of(text: str) -> Any:
    """Import what the text names. It runs the code of that module, as importing does."""
    if ":" not in text and Path(text).is_dir():
        return _hugging_face(Path(text))
    home, colon, wanted = text.partition(":")
    if not colon or not home or not wanted:
        raise UsageError(f"audit: cannot read '{text}'; {_FORMS}")
    name, args, settings = _called(wanted, text)
    found: Any = _module(home)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"audit: {home} has no '{part}'")
        found = getattr(found, part)
    if args is None:
        if isinstance(found, type):
            raise UsageError(f"audit: {name} is a class; write it with its arguments, as {name}(…)")
        return found
    try:
        return found(*args, **settings)
    except Exception as error:
        raise UsageError(f"audit: {wanted} fails with {type(error).__name__}: {error}") from error


def _called(wanted: str, text: str) -> tuple[str, list[Any] | None, dict[str, Any]]:
    """The name, and the arguments if it is called."""
    try:
        tree = ast.parse(wanted, mode="eval").body
        if not isinstance(tree, ast.Call):
            return ast.unparse(tree), None, {}
        settings = {word.arg or "**": ast.literal_eval(word.value) for word in tree.keywords}
        return ast.unparse(tree.func), [ast.literal_eval(arg) for arg in tree.args], settings
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"audit: cannot read '{text}'; arguments are numbers, texts, True, False or None") from error


def _module(home: str) -> Any:
    try:
        if not home.endswith(".py"):
            return importlib.import_module(home)
        path = Path(home)
        if not path.is_file():
            raise UsageError(f"{path}: no such file; {_FORMS}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise UsageError(f"{path}: Python cannot import it")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"audit: importing {home} fails with {type(error).__name__}: {error}") from error


def _hugging_face(folder: Path) -> Any:
    if not (folder / "config.json").is_file():
        raise UsageError(f"{folder}: no config.json in it, so it is not a Hugging Face model; {_FORMS}")
    try:
        from transformers import AutoModel
    except ImportError as error:
        raise UsageError(f"{folder}: auditing it needs transformers; {install_hint('audit')}") from error
    try:
        return AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except Exception as error:
        sentence = " ".join(str(error).split())[:200]
        raise UsageError(f"{folder}: transformers cannot load it: {type(error).__name__}: {sentence}") from error

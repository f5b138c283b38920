"""A folder is a registry: `masks/window.py` makes `window` a mask, and nothing else has to be edited.

A member is the one public dataclass of its file, called like the file: `top_k.py` holds `TopK`.
Members are written in a config or on a command line

    window                                by name
    window(size=128)                      with settings
    causal & window(128)                  composed, where the members compose
    { name = "window", size = 128 }       as a table

In Python a catalog is read like a mapping from names to classes:

>>> from regard import masks
>>> list(masks), len(masks), "window" in masks
>>> masks.Window(128) == masks["window"](128) == masks.make("window(128)")
>>> print(masks.describe())
"""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from regard.base.config import Choice, check_chosen, convert, from_dict
from regard.base.errors import ConfigError, unknown

_FEW = 4
"""members with a setting that another has not, which are named in its error"""


@dataclass(frozen=True, repr=False)
class Catalog(Choice):
    """The members of one folder, found by their file names and imported when first asked for.

    >>> [masks[name] for name in masks]
    """

    package: str
    besides: tuple[str, ...] = ()
    """files of the folder that are not members"""
    default: str | None = None
    """the member that a table without a name selects"""
    optional: bool = False
    """whether "none" may be chosen of them wherever one can be"""

    @property
    def kind(self) -> str:
        """The folder's name, a plural noun: `masks`."""
        return self.package.rpartition(".")[2]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The members' names in alphabetical order, found without importing the members."""
        folder = importlib.import_module(self.package)
        found = (module.name for module in pkgutil.iter_modules(folder.__path__))
        return tuple(sorted(name for name in found if not name.startswith("_") and name not in self.besides))

    def get(self, name: str, where: str | None = None) -> type:
        """The class of a member."""
        if name not in self.names:
            raise ConfigError(unknown(where or self.kind, name, self.names, self.kind))
        module = importlib.import_module(f"{self.package}.{name}")
        spelled = name.replace("_", "")
        for candidate in vars(module).values():
            if isinstance(candidate, type) and candidate.__name__.lower() == spelled:
                return candidate
        raise ConfigError(f"{self.kind}/{name}.py holds no class whose name is '{name}' in CamelCase")

    def __getattr__(self, name: str) -> Any:
        """`masks.Window` is `masks.get("window")`."""
        for member in () if name.startswith("_") else self.names:
            if member.replace("_", "") == name.lower() and not name.islower():
                return self.get(member)
        module = sys.modules.get(f"{self.package}.{name}")
        if module is not None:  # a catalog may stand where its folder does: `import regard.models.gpt as gpt`
            return module
        raise AttributeError(unknown(self.kind, name, self.names, self.kind))

    def __getitem__(self, name: str) -> type:
        """`masks["window"]` is `masks.Window`."""
        if name not in self.names:
            raise KeyError(unknown(self.kind, name, self.names, self.kind))
        return self.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self.kind}: {', '.join(self.names)}>"

    def describe(self) -> str:
        """One line for each member: its name and the first sentence of what it says about itself."""
        width = max(map(len, self.names), default=0)
        return "\n".join(f"{name:<{width}}  {first_sentence(self.get(name))}" for name in self.names)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self.get(name).__name__ for name in self.names)]

    def make(self, spec: Any, where: str | None = None) -> Any:
        """Make a part from its text or table; a part that is made already is returned as it is."""
        where = where or self.kind
        if isinstance(spec, str):
            return self._from_text(spec, where)
        if isinstance(spec, Mapping):
            settings = dict(spec)
            name = settings.pop("name", self.default)
            if name is None:
                raise ConfigError(f"{where}: the table has no 'name'; {self.kind} are: {', '.join(self.names)}")
            return self._call(str(name), (), settings, where)
        if isinstance(spec, bool | int | float | list | tuple):
            raise ConfigError(f"{where}: must be one of the {self.kind}, but is {spec!r}: {', '.join(self.names)}")
        return spec

    def choose(self, value: Any, where: str) -> Any:
        """Make the part that a config has at the path `where`; errors name settings by their path."""
        if not isinstance(value, Mapping):
            return self.make(value, where)
        name = value.get("name", self.default)
        if name is None:
            raise ConfigError(f"{where}.name: missing; {self.kind} are: {', '.join(self.names)}")
        member = self.get(str(name), f"{where}.name")
        settings = {key: item for key, item in value.items() if key != "name"}
        try:
            return from_dict(settings, member, where)
        except ConfigError as error:
            strange = [key for key in settings if f"{where}: unknown '{key}'" in str(error)]
            if not strange:
                raise
            raise ConfigError(f"{error}{self._owners(strange[0])}") from error

    def _owners(self, setting: str) -> str:
        """Whose setting it is, for the error message of a member that has not got it."""
        owners = [name for name in self.names if self._has(name, setting)]
        return f"; '{setting}' is a setting of {', '.join(owners)}" if 0 < len(owners) <= _FEW else ""

    def _has(self, name: str, setting: str) -> bool:
        try:
            return setting in {field.name for field in dataclasses.fields(self.get(name)) if field.init}
        except ConfigError:  # a file without a member
            return False

    def _from_text(self, text: str, where: str) -> Any:
        try:
            return self._evaluate(ast.parse(text.strip(), mode="eval").body, text, where)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ConfigError(f"{where}: cannot read '{text[:80]}'; write for example {self.names[0]}(…)") from error

    def _evaluate(self, tree: ast.expr, text: str, where: str) -> Any:
        match tree:
            case ast.Name(id=name):
                return self._call(name, (), {}, where)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                literals = [_literal(arg, text, where) for arg in args]
                settings = {word.arg or "**": _literal(word.value, text, where) for word in keywords}
                return self._call(name, literals, settings, where)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                return self._compose(self._evaluate(left, text, where), "&", self._evaluate(right, text, where), where)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._compose(self._evaluate(left, text, where), "|", self._evaluate(right, text, where), where)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self._compose(self._evaluate(operand, text, where), "~", None, where)
        raise ConfigError(
            f"{where}: cannot read '{text}'; only names, settings in brackets and, for masks, & | ~ are understood"
        )

    def _compose(self, left: Any, operator: str, right: Any, where: str) -> Any:
        try:
            if operator == "~":
                return ~left
            return left & right if operator == "&" else left | right
        except TypeError as error:
            raise ConfigError(f"{where}: {self.kind} are not composed with {operator}; only masks are") from error

    def _call(self, name: str, args: Sequence[Any], settings: dict[str, Any], where: str) -> Any:
        member = self.get(name, where)
        fields = {field.name: field for field in dataclasses.fields(member) if field.init}
        if len(args) > len(fields):
            raise ConfigError(f"{where}: {name} takes {len(fields)} settings ({', '.join(fields)}), not {len(args)}")
        given = dict(zip(fields, args, strict=False))
        for setting in given.keys() & settings.keys():
            raise ConfigError(f"{where}: {name} is given '{setting}' twice")
        given |= settings
        hints = typing.get_type_hints(member, include_extras=True)
        for setting, value in given.items():
            if setting not in fields:
                strange = unknown(f"{where}.{name}", setting, fields, "its settings")
                raise ConfigError(strange + self._owners(setting))
            check_chosen(value, fields[setting], hints[setting], f"{where}.{name}.{setting}")
            given[setting] = convert(value, hints[setting], f"{where}.{name}.{setting}")
        for setting, field in fields.items():
            nothing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if nothing and setting not in given:
                raise ConfigError(f"{where}: {name} needs its setting '{setting}', as in {name}({setting}=…)")
        try:
            return member(**given)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}" if where != self.kind else str(error)) from error


def first_sentence(kind: type) -> str:
    """The first sentence of a class's docstring."""
    paragraph = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[^.\d]\.)\s+(?=[A-Z`])", paragraph, maxsplit=1)[0]


def _literal(node: ast.expr, text: str, where: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise ConfigError(f"{where}: '{ast.unparse(node)}' in '{text}' is not a number, a text or a list") from error

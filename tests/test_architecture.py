"""The rules of the house (docs/architecture.md) as tests.

A rule is a function from the root of a checkout to a list of complaints. Each is run on this checkout, where it
must find nothing, and on small made-up trees, where it must find the fault that was put there.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FRONT_DOOR = "regard/__init__.py"
ORDER = (
    ("base",),
    ("native",),
    ("attention", "data"),
    ("layers",),
    ("models",),
    ("runs",),
    ("training", "decoding", "metrics"),
    ("alignment", "markup"),
    ("audit", "inspection", "interop"),
    ("tasks",),
    (FRONT_DOOR,),
    ("comparison", "reference", "representation"),
    ("apps",),
)
RANKS = {folder: rank for rank, folders in enumerate(ORDER) for folder in folders}

VARIANTS = ("scores", "masks", "normalizers", "positions", "memories", "backends")

WITHOUT_SOURCE = (
    "benchmarks",
    "faults",
    "laws",
    "test_architecture.py",
    "test_checking.py",
    "test_deploy.py",
    "test_documents.py",
    "test_examples.py",
    "test_lectures.py",
    "test_packaging.py",
    "test_public.py",
)  # tests of many files at once
LONGEST = 400
COMMANDS = Path("regard/apps/commands")
PICKLERS = ("pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve")
UNSAFE_CALLS = ("torch.load", "torch.save", "torch.serialization.load", "torch.serialization.save")
UNSAFE_SETTINGS = {"weights_only": False, "allow_pickle": True}

DOCUMENTS = ("*.md", "docs/*.md", "recipes/*.md")

Rule = Callable[[Path], list[str]]
Function = ast.FunctionDef | ast.AsyncFunctionDef


# What the rules look at


def sources(root: Path) -> list[Path]:
    """The package's source files, relative to the root."""
    return sorted(path.relative_to(root) for path in (root / "regard").rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(root: Path, source: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a file imports, wherever in the file it does so."""
    for node in ast.walk(parse(root / source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                here = source.parts[: len(source.parts) - level] if level else ()
                start = ".".join((*here, *([module] if module else [])))
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in names)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                if ast.unparse(function).split(".")[-1] in ("import_module", "__import__"):
                    yield node.lineno, name


def is_public(name: str) -> bool:
    return not name.startswith("_")


def members(root: Path) -> Iterator[Path]:
    """The files of the variant folders that are members of their catalog."""
    for source in sources(root):
        if source.parts[1] == "attention" and source.parent.name in VARIANTS and is_public(source.stem):
            yield source


def catalog_members(root: Path) -> set[Path]:
    """The files of all folders that a `Catalog("regard.a.b")` lists, without those it names in `besides`."""
    found: set[Path] = set()
    for node in (node for source in sources(root) for node in ast.walk(parse(root / source))):
        match node:
            case ast.Call(func=ast.Name(id="Catalog"), args=[ast.Constant(value=str(package)), *_], keywords=words):
                besides = {text for word in words if word.arg == "besides" for text in ast.literal_eval(word.value)}
                files = (root / package.replace(".", "/")).glob("*.py")
                found |= {path.relative_to(root) for path in files if is_public(path.stem) and path.stem not in besides}
    return found


def public_names(module: ast.Module) -> set[str]:
    """What a module defines for others: classes, functions, constants and types."""
    names: set[str] = set()
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                parts = [part for target in targets for part in ast.walk(target)]
                names |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return {name for name in names if is_public(name)}


# The rules


def imports_go_one_way(root: Path) -> list[str]:
    """A folder imports only from the left, and not from the neighbors of its own place."""
    complaints = []
    for source in sources(root):
        if source.name == "__main__.py" and len(source.parts) == 2:
            continue
        home = FRONT_DOOR if len(source.parts) == 2 else source.parts[1]
        if home not in RANKS:
            complaints.append(f"{source}: the folder '{home}' has no place in the import order")
            continue
        for line, name in imports(root, source):
            package, _, rest = name.partition(".")
            if package != "regard":
                continue
            folder = rest.split(".")[0]
            if not (root / "regard" / folder).is_dir() or not folder:
                folder = FRONT_DOOR
            if folder != home and RANKS.get(folder, len(ORDER)) >= RANKS[home]:
                complaints.append(f"{source}:{line}: {home} may not import {folder} ({name})")
    return complaints


def variants_are_not_named(root: Path) -> list[str]:
    """Nothing inside attention/ imports a member of a variant folder; it asks the catalog."""
    pattern = re.compile(rf"regard\.attention\.({'|'.join(VARIANTS)})\.\w+")
    return [
        f"{source}:{line}: names the variant {name}; ask its catalog, or take it as an argument"
        for source in sources(root)
        if source.parts[1] == "attention"
        for line, name in imports(root, source)
        if pattern.match(name)
    ]


def sources_have_mirror_tests(root: Path) -> list[str]:
    """regard/a/b.py has its tests in tests/a/test_b.py, and every such test file has a source."""
    wanted = {
        Path("tests", *source.parts[1:-1], f"test_{source.stem.lstrip('_')}.py"): source
        for source in sources(root)
        if source.name not in ("__init__.py", "__main__.py")
    }
    found = {path.relative_to(root) for path in (root / "tests").rglob("test_*.py")}
    found = {path for path in found if path.parts[1] not in WITHOUT_SOURCE}
    missing = [f"{wanted[test]}: has no tests; they belong in {test}" for test in sorted(wanted.keys() - found)]
    return missing + [f"{test}: tests no source file of that name" for test in sorted(found - wanted.keys())]


def nothing_is_pickled(root: Path) -> list[str]:
    """No pickle is read or written, by whatever name."""
    complaints = []
    for source in sources(root):
        for line, name in imports(root, source):
            if name.split(".")[0] in PICKLERS or name in UNSAFE_CALLS:
                complaints.append(f"{source}:{line}: imports {name}; files are safetensors, JSON or TOML")
        aliases = _aliases(parse(root / source))
        for node in ast.walk(parse(root / source)):
            if not isinstance(node, ast.Call):
                continue
            head, dot, tail = ast.unparse(node.func).partition(".")
            called = aliases.get(head, head) + dot + tail
            if called in UNSAFE_CALLS:
                complaints.append(f"{source}:{node.lineno}: calls {called}; files are safetensors, JSON or TOML")
            for word in node.keywords:
                unsafe = UNSAFE_SETTINGS.get(word.arg or "")
                if unsafe is not None and isinstance(word.value, ast.Constant) and word.value.value is unsafe:
                    complaints.append(f"{source}:{node.lineno}: {word.arg}={unsafe} lets a pickle in")
    return complaints


def _aliases(module: ast.Module) -> dict[str, str]:
    """What `import a.b as c` calls things."""
    plain = [alias for node in ast.walk(module) if isinstance(node, ast.Import) for alias in node.names]
    return {alias.asname: alias.name for alias in plain if alias.asname}


def public_names_are_documented(root: Path) -> list[str]:
    """Public modules, classes, functions and methods say what they are for; overriding methods need not again."""
    modules = {source: parse(root / source) for source in sources(root)}
    classes: dict[str, list[ast.ClassDef]] = {}
    for module in modules.values():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)
    complaints = []
    for source, module in modules.items():
        if module.body and not ast.get_docstring(module):
            complaints.append(f"{source}: the module has no docstring")
        for line, name in _undocumented(module, classes):
            complaints.append(f"{source}:{line}: {name} has no docstring")
    return complaints


def _undocumented(
    scope: ast.Module | ast.ClassDef, classes: dict[str, list[ast.ClassDef]]
) -> Iterator[tuple[int, str]]:
    for node in scope.body:
        if not isinstance(node, Function | ast.ClassDef) or not is_public(node.name):
            continue
        inherits = isinstance(scope, ast.ClassDef) and _documented_by_base(scope, node.name, classes)
        if not ast.get_docstring(node) and not inherits and not _is_variant_of_another(node):
            inside = f"{scope.name}." if isinstance(scope, ast.ClassDef) else ""
            yield node.lineno, inside + node.name
        if isinstance(node, ast.ClassDef):
            yield from _undocumented(node, classes)


def _is_variant_of_another(node: Function | ast.ClassDef) -> bool:
    """Setters, deleters and overloads are documented where the name is first defined."""
    endings = (ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list)
    return any(ending in ("setter", "deleter", "overload") for ending in endings)


def _documented_by_base(child: ast.ClassDef, name: str, classes: dict[str, list[ast.ClassDef]]) -> bool:
    bases = [ast.unparse(base).split("[")[0].split(".")[-1] for base in child.bases]
    found = [node for base in bases for node in classes.get(base, []) if node is not child]
    return any(name in _documented(node) or _documented_by_base(node, name, classes) for node in found)


def _documented(node: ast.ClassDef) -> set[str]:
    """Methods with a docstring, and attributes with a text below them."""
    names = {item.name for item in node.body if isinstance(item, Function) and ast.get_docstring(item)}
    for item, below in zip(node.body, node.body[1:], strict=False):
        match item, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str())):
                names.add(name)
    return names


def files_are_short(root: Path) -> list[str]:
    """A source file is of a few screens."""
    lengths = {source: len((root / source).read_text(encoding="utf-8").splitlines()) for source in sources(root)}
    return [f"{path}: has {length} lines, more than {LONGEST}" for path, length in lengths.items() if length > LONGEST]


def inner_init_files_are_empty(root: Path) -> list[str]:
    """Only the front door has names of its own."""
    inner = [path for path in sources(root) if path.name == "__init__.py" and len(path.parts) > 2]
    return [f"{path}: must be empty" for path in inner if (root / path).read_text(encoding="utf-8").strip()]


def folders_have_init_files(root: Path) -> list[str]:
    """A folder of sources is a package."""
    folders = sorted({source.parent for source in sources(root)})
    return [f"{folder}: has no __init__.py" for folder in folders if not (root / folder / "__init__.py").exists()]


def a_variant_is_one_dataclass(root: Path) -> list[str]:
    """A member file holds one public frozen dataclass, called like the file."""
    complaints = []
    for source in members(root):
        public = [node for node in parse(root / source).body if isinstance(node, ast.ClassDef) and is_public(node.name)]
        names = [node.name for node in public if _is_frozen_dataclass(node)]
        spelled = source.stem.replace("_", "")
        if [name.lower() for name in names] != [spelled]:
            has = ", ".join(names) or "none"
            complaints.append(
                f"{source}: must hold one public frozen dataclass named '{spelled}' in CamelCase, but has: {has}"
            )
    return complaints


def _is_frozen_dataclass(node: ast.ClassDef) -> bool:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == "dataclass":
            settings = {word.arg: ast.unparse(word.value) for word in decorator.keywords}
            return settings.get("frozen") == "True"
    return False


def module_names_are_unique(root: Path) -> list[str]:
    """One module name, one meaning. Members are addressed through their catalogs, and commands by people."""
    listed = catalog_members(root)
    homes: dict[str, list[Path]] = {}
    for source in sources(root):
        if is_public(source.stem) and source.parent != COMMANDS:
            homes.setdefault(source.stem, []).append(source)
    return _taken_twice("module name", homes, lambda name, source: source in listed)


def public_names_are_unique(root: Path) -> list[str]:
    """One public name, one definition; of members, one in each catalog. Each command has its `app`."""
    listed = catalog_members(root)
    homes: dict[str, list[Path]] = {}
    for source in sources(root):
        for name in public_names(parse(root / source)):
            if (source.parent, name) != (COMMANDS, "app"):
                homes.setdefault(name, []).append(source)
    return _taken_twice(
        "public name", homes, lambda name, source: source in listed and name.lower() == source.stem.replace("_", "")
    )


def _taken_twice(kind: str, homes: dict[str, list[Path]], excused: Callable[[str, Path], bool]) -> list[str]:
    return [
        f"{', '.join(map(str, files))}: the {kind} '{name}' is taken {len(files)} times; a name has one meaning"
        for name, files in sorted(homes.items())
        if len(files) > 1 and not all(excused(name, source) for source in files)
    ]


def links_lead_somewhere(root: Path) -> list[str]:
    """Every relative link or picture in a document points to an existing file."""
    complaints = []
    for document in sorted(path for pattern in DOCUMENTS for path in root.glob(pattern)):
        prose = re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
        targets = re.findall(r"\]\(<?([^)>\s]+)", prose) + re.findall(r"""(?:src|href)=["']([^"']+)""", prose)
        for target in dict.fromkeys(targets):
            path = target.partition("#")[0]
            if path and not re.match(r"[a-z][a-z+.-]*:", path) and not (document.parent / path).exists():
                complaints.append(f"{document.relative_to(root)}: links to {target}, which does not exist")
    return complaints


RULES: tuple[Rule, ...] = (
    imports_go_one_way,
    variants_are_not_named,
    sources_have_mirror_tests,
    nothing_is_pickled,
    public_names_are_documented,
    files_are_short,
    inner_init_files_are_empty,
    folders_have_init_files,
    a_variant_is_one_dataclass,
    module_names_are_unique,
    public_names_are_unique,
    links_lead_somewhere,
)


def label(value: object) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize("rule", RULES, ids=label)
def test_the_rule_holds(rule: Rule) -> None:
    complaints = rule(ROOT)
    assert not complaints, f"{rule.__doc__}\n" + "\n".join(complaints)


def test_the_page_of_settings_is_current() -> None:
    """docs/settings.md is what `regard settings --markdown` prints; every setting in it has a meaning."""
    command = [sys.executable, "-m", "regard", "settings", "--markdown"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    silent = [line for line in made.splitlines() if re.search(r"^\| `[^|]*\| [^|]*\|  \(", line)]
    assert not silent, "a text below the field has to say what it means:\n" + "\n".join(silent)
    kept = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert kept == made, "docs/settings.md is old; `python -m regard settings --markdown > docs/settings.md` writes it"


# The rules themselves, tried on made-up trees

MASK = '''"""Who may look where."""

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError

MASKS = Catalog("regard.attention.masks", besides=("odd",))


class Mask:
    """A predicate."""

    causal: bool = False
    """a key may stand at or before its query"""

    def forward(self):
        """The predicate."""
        raise ConfigError
'''

CAUSAL = '''"""The past alone."""

from dataclasses import dataclass

from regard.attention.mask import Mask


@dataclass(frozen=True)
class Causal(Mask):
    """A key may stand at or before its query."""

    @property
    def causal(self):
        return True

    def forward(self):
        return 1
'''

SOUND = {
    "regard/__init__.py": '"""The package."""\nfrom regard.attention.mask import Mask\n',
    "regard/__main__.py": '"""Start."""\nfrom regard.apps.cli import main\nmain()\n',
    "regard/base/__init__.py": "",
    "regard/base/errors.py": '"""Errors."""\n\nclass ConfigError(Exception):\n    """Wrong setting."""\n',
    "regard/attention/__init__.py": "",
    "regard/attention/mask.py": MASK,
    "regard/attention/masks/__init__.py": "",
    "regard/attention/masks/causal.py": CAUSAL,
    "regard/attention/score.py": '"""Scores."""\nSCORES = Catalog("regard.attention.scores")\n',
    "regard/attention/scores/__init__.py": "",
    "regard/attention/scores/causal.py": CAUSAL,
    "regard/apps/__init__.py": "",
    "regard/apps/commands/__init__.py": "",
    "regard/apps/commands/mask.py": '"""Draw."""\napp = 1\n',
    "regard/apps/commands/score.py": '"""Judge."""\napp = 2\n',
    "regard/apps/cli.py": '"""Commands."""\nimport regard\n\ndef main():\n    """Start."""\n',
    "tests/test_architecture.py": "",
    "tests/laws/test_masks.py": "",
    "tests/base/test_errors.py": "",
    "tests/attention/test_mask.py": "",
    "tests/attention/masks/test_causal.py": "",
    "tests/attention/test_score.py": "",
    "tests/attention/scores/test_causal.py": "",
    "tests/apps/commands/test_mask.py": "",
    "tests/apps/commands/test_score.py": "",
    "tests/apps/test_cli.py": "",
    "README.md": "[law](docs/law.md#one) [web](https://example.org) [up](#top)\n```python\na[0](b)\n```\n",
    "docs/law.md": "![house](house.png) back to the [`front`](../README.md)",
    "docs/house.png": "",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def faults() -> Iterator[tuple[Rule, str, str, str]]:
    """A rule, the file that breaks it, what the file says, and a piece of the complaint."""
    errors, mask = "regard/base/errors.py", "regard/attention/mask.py"
    causal = "regard/attention/masks/causal.py"

    rule: Rule = imports_go_one_way
    yield rule, errors, "from regard.attention.mask import Mask", "base may not import attention"
    yield rule, errors, "def f():\n    from ..apps.cli import main", "base may not import apps"
    yield rule, errors, "from .. import apps", "base may not import apps"
    yield rule, errors, "import importlib\nimportlib.import_module('regard.apps.cli')", "errors.py:2: base may not"
    yield rule, mask, "from regard import Mask", f"attention may not import {FRONT_DOOR}"
    yield rule, mask, "import regard", f"attention may not import {FRONT_DOOR}"
    yield rule, "regard/data/corpus.py", "from regard.attention import mask", "data may not import attention"
    yield rule, FRONT_DOOR, "import regard.apps.cli", "may not import apps"
    yield rule, "regard/utils/a.py", "", "'utils' has no place"

    rule = variants_are_not_named
    yield rule, mask, "from regard.attention.masks.causal import Causal", "mask.py:1: names the variant"
    yield rule, mask, "def f():\n    from regard.attention.masks import causal", "mask.py:2: names the variant"
    yield rule, "regard/attention/masks/window.py", "from .causal import Causal", "names the variant"

    rule = sources_have_mirror_tests
    yield rule, "regard/attention/core.py", "", "they belong in tests/attention/test_core.py"
    yield rule, "tests/attention/test_core.py", "", "tests no source file"
    yield rule, "tests/test_everything.py", "", "tests no source file"

    rule = nothing_is_pickled
    yield rule, mask, "import pickle", "imports pickle"
    yield rule, mask, "def f():\n    from joblib import dump", "imports joblib.dump"
    yield rule, mask, "from torch import save", "imports torch.save"
    yield rule, mask, "import torch\ntorch.load('x')", "mask.py:2: calls torch.load"
    yield rule, mask, "import torch as t\nt.save({}, 'x')", "calls torch.save"
    yield rule, mask, "read('x', weights_only=False)", "weights_only=False"
    yield rule, mask, "import numpy as np\nnp.load('x', allow_pickle=True)", "allow_pickle=True"

    rule = public_names_are_documented
    yield rule, errors, "class Error:\n    '''Doc.'''", "the module has no docstring"
    yield rule, errors, "'''Doc.'''\nclass Error:\n    x = 1", "errors.py:2: Error has no docstring"
    yield rule, errors, "'''Doc.'''\ndef keep():\n    return 1", "keep has no docstring"
    yield rule, errors, "'''Doc.'''\nclass Error:\n    '''Doc.'''\n    def forward(self): ...", "Error.forward has no"
    yield rule, causal, CAUSAL + "\n    def reverse(self):\n        return 2\n", "Causal.reverse has no docstring"

    yield files_are_short, mask, "\n" * (LONGEST + 1), "has 401 lines"
    yield inner_init_files_are_empty, "regard/base/__init__.py", "import os", "must be empty"
    yield folders_have_init_files, "regard/data/corpus.py", "", "regard/data: has no __init__.py"

    rule = a_variant_is_one_dataclass
    yield rule, causal, CAUSAL.replace("frozen=True", "order=True"), "one public frozen dataclass"
    yield rule, causal, CAUSAL.replace("Causal", "Past"), "named 'causal' in CamelCase, but has: Past"
    yield rule, causal, CAUSAL + CAUSAL.replace("Causal", "Past"), "has: Causal, Past"
    yield rule, "regard/attention/masks/top_k.py", CAUSAL, "named 'topk'"
    yield rule, "regard/attention/scores/dot.py", "class Dot: ...", "but has: none"

    rule = module_names_are_unique
    yield rule, "regard/base/mask.py", "", "mask.py, regard/base/mask.py: the module name 'mask' is taken 2 times"
    yield rule, "regard/attention/causal.py", "", "the module name 'causal' is taken 3 times"
    yield rule, "regard/base/score.py", "", "attention/score.py, regard/base/score.py: the module name 'score'"

    rule = public_names_are_unique
    yield rule, errors, "class Mask: ...", "attention/mask.py, regard/base/errors.py: the public name 'Mask' is taken"
    yield rule, errors, "def main(): ...", "the public name 'main'"
    yield rule, errors, "MASKS: int = 1", "the public name 'MASKS'"
    yield rule, errors, "app, SCORES = 1, 2", "the public name 'SCORES'"
    yield rule, errors, "Causal = 1", "the public name 'Causal' is taken 3 times"
    yield rule, "regard/attention/masks/odd.py", "class Causal: ...", "the public name 'Causal' is taken 3 times"
    yield rule, "regard/apps/commands/draw.py", "app = 1\ndef main(): ...", "the public name 'main'"

    rule = links_lead_somewhere
    yield rule, "README.md", "[gone](docs/gone.md)", "README.md: links to docs/gone.md"
    yield rule, "docs/law.md", "[`gone`](../regard/gone.py#L3)", "links to ../regard/gone.py#L3"
    yield rule, "docs/law.md", '<img width="1" src="gone.png">', "links to gone.png"


@pytest.mark.parametrize("rule", RULES, ids=label)
def test_a_sound_tree_passes(rule: Rule, tmp_path: Path) -> None:
    assert rule(plant(tmp_path, SOUND)) == []


@pytest.mark.parametrize(("rule", "file", "text", "complaint"), tuple(faults()), ids=label)
def test_a_fault_is_found(rule: Rule, file: str, text: str, complaint: str, tmp_path: Path) -> None:
    complaints = rule(plant(tmp_path, SOUND | {file: text}))
    assert len(complaints) == 1
    assert complaint in complaints[0]


def test_every_rule_is_tried() -> None:
    assert {rule for rule, *_ in faults()} == set(RULES)

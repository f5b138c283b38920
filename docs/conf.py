"""The documentation site, which `make docs` builds into build/site.

Its pages are the Markdown files of the checkout, linked as they are there. The reference is made from docstrings, one
page for each folder of `regard/`.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx import addnodes
from sphinx.application import Sphinx

import regard
from regard.base.catalog import Catalog

ROOT = Path(__file__).resolve().parents[1]
FORGE = "https://github.com/regard-attention/regard"

project = "Regard"
author = "The Regard authors"
copyright = author  # noqa: A001  the name that Sphinx reads
version = release = regard.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/lectures/*.md", "docs/api/*.rst", "recipes/README.md"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 150
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_title = "Regard"
html_favicon = "../regard/inspection/page/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_math_renderer = "mathml"

CONTENTS = {
    "Use": (
        "docs/translate docs/classify docs/images docs/graphs docs/sets docs/pointing docs/unsupervised "
        "docs/supervised docs/representation docs/compare docs/long docs/copying docs/bleu_table recipes/README "
        "docs/align docs/inspect docs/markup docs/serve docs/scale docs/export docs/audit"
    ),
    "The lectures": (
        "docs/lectures/rnn-attention docs/lectures/transformers docs/lectures/translation docs/lectures/memory "
        "docs/lectures/language-models docs/lectures/symmetry"
    ),
    "Understand": "docs/attention docs/families docs/tour docs/architecture docs/formulas docs/measured",
    "Look up": "docs/settings docs/api/index",
    "Take part": "CONTRIBUTING CHANGELOG SECURITY",
}


def setup(app: Sphinx) -> None:
    """Hook into the build."""
    for setting in fields(Catalog):
        setting.repr = setting.name == "package"  # all that signatures show of it
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("builder-inited", write_reference)
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", plain_to_rst)
    app.connect("doctree-read", leave_object_out)
    app.connect("doctree-read", link_sources)
    app.connect("build-finished", add_index)


def write_reference(_: Sphinx) -> None:
    """One page for each folder of the package, with all of its modules, and a page that lists them."""
    place = ROOT / "docs" / "api"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    packages, rooms = [], []
    for folder in sorted({path.parent for path in (ROOT / "regard").rglob("*.py")}):
        package = ".".join(folder.relative_to(ROOT).parts)
        modules = [path.stem for path in sorted(folder.glob("*.py")) if not path.stem.startswith("__")]
        named = (folder / "__init__.py").read_text(encoding="utf-8").strip()
        own = (
            [_documented(package) + "   :no-index:\n\n"] if named else []
        )  # its names are indexed where they are defined
        parts = own + [_titled(module, "-") + _documented(f"{package}.{module}") + "\n" for module in modules]
        title = package.removeprefix("regard.")
        (place / f"{package}.rst").write_text(_titled(title, "=") + "".join(parts), encoding="utf-8")
        packages.append(f"   {package}\n")
        links = ", ".join(f":py:mod:`{module} <{package}.{module}>`" for module in modules)
        rooms.append(f":doc:`{title} <{package}>`\n   {links or 'nothing of its own'}\n")
    front = _titled("Reference", "=") + "".join(rooms)
    hidden = "\n.. toctree::\n   :hidden:\n   :titlesonly:\n\n" + "".join(packages)
    (place / "index.rst").write_text(front + hidden, encoding="utf-8")


def _titled(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n\n"


def _documented(module: str) -> str:
    return f".. automodule:: {module}\n"


def add_contents(_: Sphinx, document: str, source: list[str]) -> None:
    """The README, read as the first page, also says what stands in the sidebar."""
    if document == root_doc:
        for caption, pages in CONTENTS.items():
            options = f":hidden:\n:titlesonly:\n:caption: {caption}"
            source[0] += "\n".join(["\n```{toctree}", options, *pages.split(), "```\n"])


def plain_to_rst(_: Sphinx, kind: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain sentences with `code`, indented formulas and examples; autodoc reads reStructuredText."""
    if lines and lines[0].startswith("Alias for field number"):  # of a named tuple, by Python itself
        lines.clear()
    text = re.sub(r"(https?://\S+)\n(?=\S)", r"\1\n\n", "\n".join(lines))  # a paper ends its line
    lines[:] = "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text)).split("\n")


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return text
    if text.startswith(("    ", "|")):  # a formula, or a table whose columns are laid out already
        return "::\n\n" + indent(dedent(text), "    ")
    return "".join(_escaped(text))


def _escaped(text: str) -> Iterator[str]:
    for part in re.split(r"(`[^`]+`)", text):
        if part.startswith("`") and len(part) > 1:
            yield f"\\ `{part}`\\ "
        else:
            yield re.sub(r"([\\*|`]|_(?!\w))", r"\\\1", part)


def leave_object_out(_: Sphinx, tree: nodes.document) -> None:
    """What every class is derived from need not be said."""
    for line in [node for node in tree.findall(nodes.paragraph) if node.astext() == "Bases: object"]:
        line.parent.remove(line)


def link_sources(app: Sphinx, tree: nodes.document) -> None:
    """A link to a source file leads to its place in the reference, one to any other file to the forge."""
    for link in [*tree.findall(addnodes.download_reference), *tree.findall(addnodes.pending_xref)]:
        target = link["reftarget"].partition("#")[0]
        path = (ROOT / app.env.docname).parent.joinpath(target).resolve()
        if link.get("refdomain") or not target or not path.is_relative_to(ROOT) or not path.exists():
            continue
        place = path.relative_to(ROOT)
        if place.parts[0] == "regard" and (path.is_dir() or path.suffix == ".py"):
            module = ".".join(place.with_suffix("").parts)
            kind = {"refdomain": "py", "reftype": "mod"} if path.is_file() else {"refdomain": "std", "reftype": "doc"}
            target = module if path.is_file() else f"/docs/api/{module}"
            new: nodes.Element = addnodes.pending_xref(
                "", refdoc=app.env.docname, reftarget=target, refexplicit=True, refwarn=True, **kind
            )
        else:
            new = nodes.reference("", "", refuri=f"{FORGE}/{'tree' if path.is_dir() else 'blob'}/main/{place}")
        new += link.children
        link.replace_self(new)


def write_math(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Formulas become MathML, which browsers draw by themselves: nothing is loaded from elsewhere."""
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def add_index(app: Sphinx, failure: Exception | None) -> None:
    """The first page is also found by the name that web servers look for."""
    if failure is None:
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))

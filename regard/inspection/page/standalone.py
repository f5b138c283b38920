"""A self-contained HTML file that shows an explanation offline.

Texts reach the page as JSON inside a script element that no browser runs, in which no `<` is left, and are only ever
inserted as text. A Content-Security-Policy lets the page run the one script that stands in it, and nothing else.
"""

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent
STYLES = ("colors.css", "style.css", "inspector.css")
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


def standalone(explanation: dict[str, Any], title: str, page: str = "offline") -> str:
    """The page that shows an explanation, given as `Explanation.to_dict()` has it.

    `page` names what stands in its shell: `offline` is for translations, `seeing` for pictures, `encoder` for texts.
    """
    script, style = bundle(page), "\n".join(_read(name) for name in STYLES)
    filled = {
        "POLICY": f"default-src 'none'; img-src data:; script-src '{_digest(script)}'; style-src '{_digest(style)}'",
        "TITLE": _escaped(title),
        "STYLE": style,
        "DATA": as_data(explanation),
        "SCRIPT": script,
    }
    template = _read("shell.html").replace("{{BODY}}", _read(f"{page}.html"))
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], template)


def as_data(value: Any) -> str:
    """JSON that can stand inside a script element, whatever texts it holds."""
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        compact = compact.replace(character, f"\\u{ord(character):04x}")
    return compact


@cache
def bundle(entry: str) -> str:
    """A module and all that it imports as one script, with nothing left to load.

    Each module becomes a function that is called once, the imported ones first; what it exports is what it returns.
    """
    written: dict[str, str] = {}

    def add(name: str) -> None:
        if name in written:
            return
        text = _read(f"{name}.js")
        for _, imported in _IMPORT.findall(text):
            add(imported)
        body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = \2_module;", text))
        exported = ", ".join(_EXPORT.findall(text))
        written[name] = f"const {name}_module = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    add(entry)
    return "\n".join(written.values())


def _read(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escaped(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text

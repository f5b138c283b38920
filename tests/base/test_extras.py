"""How to install what is missing."""

import re
import tomllib
from pathlib import Path

from regard.base.extras import install_hint

ROOT = Path(__file__).resolve().parents[2]


def test_an_index_and_a_checkout_are_named() -> None:
    assert install_hint("plots") == "pip install 'regard[plots]', or in a checkout pip install -e '.[plots]'"


def test_every_extra_that_is_named_exists_and_nobody_writes_the_sentence_himself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = [path for path in (ROOT / "regard").rglob("*.py") if path.name != "extras.py"]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    named = {extra for text in texts for extra in re.findall(r"install_hint\(['\"](\w+)['\"]\)", text)}
    assert {"plots", "serve", "onnx"} <= named <= set(project["optional-dependencies"])
    assert not [path for path, text in zip(sources, texts, strict=True) if "pip install 'regard[" in text]

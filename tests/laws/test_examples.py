"""Every member of every folder can be tried, and one that cannot says what is missing."""

from pathlib import Path

import pytest

from regard.attention.backend import BACKENDS
from regard.attention.mask import MASKS
from regard.attention.memory import MEMORIES
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS
from regard.attention.score import SCORES
from regard.base.catalog import Catalog
from regard.layers.feed import FEEDS
from regard.layers.mixer import MIXERS

from .examples import EXAMPLES, examples, settings_of

CATALOGS = (SCORES, MASKS, NORMALIZERS, POSITIONS, MEMORIES, BACKENDS, FEEDS, MIXERS)


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda catalog: catalog.kind)
def test_every_member_has_examples(catalog: Catalog) -> None:
    tried = {type(example.values[0]) for example in examples(catalog)}
    assert tried == {catalog.get(name) for name in catalog.names}
    assert len({example.id for example in examples(catalog)}) == len(list(examples(catalog)))


@pytest.mark.parametrize("catalog", CATALOGS, ids=lambda catalog: catalog.kind)
def test_every_example_is_of_a_member(catalog: Catalog) -> None:
    assert set(EXAMPLES.get(catalog.kind, {})) <= set(catalog.names)


def test_a_new_member_without_an_example_is_told_where_to_add_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new_masks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "far.py").write_text(
        "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Far:\n    size: int\n    steps: int = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LookupError, match=r"new_masks/far.py needs size: add an example to .*tests/laws/examples.py"):
        settings_of(Catalog("new_masks"), "far")

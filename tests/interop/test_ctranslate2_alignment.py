"""Words are linked alike, whoever computes."""

from pathlib import Path

import pytest

from regard.interop.ctranslate2_export import export_ctranslate2
from regard.loading import load
from regard.models.transformer import Transformer
from tests.apps import toy
from tests.data.examples import LINES
from tests.interop.examples import SMALL, write, write_trained

TEXTS = list(dict.fromkeys(LINES))


@pytest.mark.parametrize(
    "heads",
    [None, [["decoder.layers.1.cross", 2]], [["decoder.layers.1.cross", 2], ["decoder.layers.0.cross", 1]]],
    ids=["not chosen", "of one layer", "of two layers"],
)
@pytest.mark.parametrize("shift", [0, 1])
def test_both_engines_link_the_same_words(heads: list[list[object]] | None, shift: int, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    extras = {} if heads is None else {"alignment": {"heads": heads, "shift": shift, "measure": "", "score": 0.0}}
    file = write(tmp_path / "model.safetensors", Transformer(**SMALL), **extras)
    wanted, found = (load(file, engine=engine).translate(TEXTS, alignments=True) for engine in ("torch", "ctranslate2"))
    for ours, theirs in zip(wanted, found, strict=True):
        assert ours.alignment
        assert [link[:2] for link in theirs.alignment] == [link[:2] for link in ours.alignment]
        assert [link.confidence for link in theirs.alignment] == pytest.approx(
            [link.confidence for link in ours.alignment], abs=1e-4
        )


def test_an_export_alone_aligns_by_the_heads_that_it_has(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    file = write_trained(tmp_path / "toy.safetensors")
    folder = export_ctranslate2(file, tmp_path / "export")
    text = toy.pairs(1, seed=2)[0][0]
    (ours,), (theirs,) = (
        load(place, engine=engine).translate([text], alignments=True)
        for place, engine in ((file, "torch"), (folder, "ctranslate2"))
    )
    assert [link[:2] for link in theirs.alignment] == [link[:2] for link in ours.alignment]

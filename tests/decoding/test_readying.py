"""A model is kept ready where compiled layers do all that its translator does."""

import shutil
from pathlib import Path

import pytest

from regard.decoding.ready_file import ready_place
from regard.decoding.readying import make_ready
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from tests.decoding.ready import model_file, translator, use_cache

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_cache(tmp_path, monkeypatch)


def test_a_model_is_written_once_and_under_its_content(tmp_path: Path) -> None:
    model = model_file(tmp_path)
    make_ready(model, translator())
    place = ready_place(model)
    assert place is not None
    before = place[0].stat().st_mtime_ns
    make_ready(model, translator())
    assert place[0].stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "strategy", [Greedy(), Beam(min_length=2), Beam(no_repeat_ngram=3), Beam(prefix=(5,)), Beam(size=40)], ids=repr
)
def test_what_a_compiled_search_does_not_do_is_not_kept(strategy: Beam, tmp_path: Path) -> None:
    model = model_file(tmp_path)
    make_ready(model, translator(strategy=strategy))
    place = ready_place(model)
    assert place is not None
    assert not place[0].exists()

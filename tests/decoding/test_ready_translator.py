"""A translator that starts at once answers what the whole one answers, and asks it for the rest."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from regard.decoding.ready_file import ready_place
from regard.decoding.ready_translator import open_ready
from regard.decoding.readying import make_ready
from regard.decoding.strategies.beam import Beam
from regard.decoding.translator import Translator
from tests.data.examples import LINES
from tests.decoding.ready import answers, model_file, translator, use_cache

TEXTS = [*dict.fromkeys(LINES)][:8]

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


class Pair:
    """A ready translator, the whole one, and how often that was asked for."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        model = model_file(folder)
        model.write_bytes(f"{folder}{settings}".encode())
        self.whole, self.asked = translator(**settings), 0
        make_ready(model, self.whole)
        place = ready_place(model)
        found = open_ready(model, self.opened)
        assert place is not None
        assert found is not None
        self.place, self.ready = place[0], found

    def opened(self) -> Translator:
        self.asked += 1
        return self.whole


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    use_cache(tmp_path, monkeypatch)
    return Pair(tmp_path)


def test_answers_are_the_same_to_the_last_digit(pair: Pair) -> None:
    texts = [*TEXTS, "", " \n", f"{TEXTS[0]} {TEXTS[1]}\n\n{TEXTS[2]}  "]
    assert answers(pair.ready, texts) == answers(pair.whole, texts)
    alone = [one for text in texts for one in answers(pair.ready, [text])]
    assert [one.n_best for one in alone] == [one.n_best for one in answers(pair.whole, texts)]
    assert pair.asked == 0


@pytest.mark.parametrize(
    "strategy",
    [Beam(size=1), Beam(size=3, n_best=3, length_penalty=0.6), Beam(max_length=4), Beam(max_ratio=0.3, max_extra=1)],
    ids=repr,
)
def test_the_models_own_search_is_kept(strategy: Beam, tmp_path: Path, pair: Pair) -> None:
    other = Pair(tmp_path, strategy=strategy)
    assert answers(other.ready, TEXTS) == answers(other.whole, TEXTS)
    assert other.asked == 0


def test_the_patient_search_too(tmp_path: Path, pair: Pair) -> None:
    other = Pair(tmp_path, strategy=Beam(patience=None), max_source=40)
    assert answers(other.ready, TEXTS[:3]) == answers(other.whole, TEXTS[:3])


class Braces:
    """Keeps nothing, but finds braces."""

    def finds(self, text: str) -> list[tuple[int, int]]:
        return [(0, 1)] if "{" in text else []

    def __call__(self, texts: list[str], translate: Any, repair: Any, lay_out: Any) -> list[Any]:
        return list(translate(texts))


@pytest.mark.parametrize("given", [[TEXTS[0] * 200], [f"{{name}} {TEXTS[0]}"], TEXTS * 10], ids=["long", "{}", "many"])
def test_the_whole_one_does_the_rest(given: list[str], pair: Pair) -> None:
    pair.ready.keeper = Braces()
    assert answers(pair.ready, given) == answers(pair.whole, given)
    assert pair.asked == 1


def test_settings_are_for_the_whole_one(pair: Pair) -> None:
    assert len(pair.ready.translate(TEXTS[:1], strategy="beam(n_best=2)")[0].n_best) == 2
    assert pair.asked == 1


def test_what_is_missing_or_damaged_is_not_opened(pair: Pair, tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    assert open_ready(model, pair.opened) is not None
    pair.place.write_bytes(pair.place.read_bytes()[:-5])
    assert open_ready(model, pair.opened) is None

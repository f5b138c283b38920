"""Links between characters from the weights of tokens."""

import numpy as np
import pytest

from regard.alignment import character_links as module
from regard.alignment.character_links import character_links
from regard.alignment.cross_weights import Looked
from regard.data.links import Link
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.translator import Translator
from regard.models.seq2seq import Seq2seq
from tests.data.examples import subwords


def translator(one: Subwords) -> Translator:
    return Translator(Seq2seq(width=8).build({"source": len(one), "target": len(one)}), one, one)


def looking(monkeypatch: pytest.MonkeyPatch, weights: list[list[float]]) -> None:
    """A model that looks where it is told."""
    monkeypatch.setattr(module, "look", lambda *_: Looked(np.array(weights, dtype=np.float32), (), ()))


def test_marks_and_the_end_link_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Read: ▁ d o ▁ g </s>, written: ▁ n o </s>
    looking(monkeypatch, [[1, 0, 0, 0, 0, 0], [0.5, 0.2, 0.3, 0, 0, 0], [0, 0, 0, 0.6, 0.1, 0.3], [0, 1, 0, 0, 0, 0]])
    assert character_links(translator(subwords("character")), "do g", "no") == (
        Link(1, 0, pytest.approx(0.3)),
        Link(3, 1, pytest.approx(0.1)),
    )


def test_the_weight_of_a_piece_is_shared_by_its_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    one = subwords("word")
    assert [one.pieces[piece] for piece in one.encode("the dogs")] == ["▁the", "▁dogs"]
    looking(monkeypatch, [[0.4, 0.45, 0.15], [0.2, 0.8, 0.0], [1, 0, 0]])
    links = character_links(translator(one), "the dogs", "dogs the")
    assert [link.source for link in links] == [0] * 4 + [4] * 3  # 0.4 / 3 of "t" is more than 0.45 / 4 of "d"
    assert [link.target for link in links] == [0, 1, 2, 3, 5, 6, 7]
    assert links[-1].confidence == pytest.approx(0.2)


def test_a_real_model_links_every_character_but_spaces() -> None:
    links = character_links(translator(subwords("character")), "A dog runs", "Ein Hund")
    assert [link.target for link in links] == [0, 1, 2, 4, 5, 6, 7]
    assert all(0 <= link.source < 10 and link.source not in (1, 5) for link in links)

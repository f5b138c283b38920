"""Links from attention: those of a model that knows, in one direction and in both."""

import numpy as np
import pytest

from regard.alignment.aligner import Aligner, links_of
from regard.alignment.head_choice import HeadChoice
from regard.alignment.symmetrizing import grow_diag_final_and, intersection
from regard.base.errors import UsageError
from regard.data.links import Link, to_pharaoh
from regard.decoding.strategies.greedy import Greedy
from tests.alignment.aligned import knowing, pairs
from tests.alignment.test_cross_weights import DESIGNS, TEXTS, translator

COMING = HeadChoice((("decoder.layers.1.cross", 1),), 0)
READ = HeadChoice((("decoder.layers.0.cross", 1),), 1)


def test_links_from_weights_by_hand() -> None:
    weights = np.array([[0.7, 0.2, 0.0], [0.3, 0.35, 0.3], [0.0, 0.0, 0.1]], dtype=np.float32)
    assert to_pharaoh(links_of(weights)) == "0-0 1-1 2-2"
    assert to_pharaoh(links_of(weights, threshold=0.3)) == "0-0 0-1 1-1 2-1 2-2"
    assert to_pharaoh(links_of(weights, null=0.2)) == "0-0 1-1"
    assert to_pharaoh(links_of(weights, threshold=0.3, null=0.5)) == "0-0"
    assert links_of(weights)[1] == Link(1, 1, pytest.approx(0.35))
    assert links_of(weights * 2)[0].confidence == 1.0
    assert links_of(np.zeros((2, 3), dtype=np.float32)) == ()
    assert links_of(np.zeros((0, 3), dtype=np.float32)) == links_of(np.zeros((2, 0), dtype=np.float32)) == ()


@pytest.mark.parametrize("kind", ["word", "bpe"])
@pytest.mark.parametrize("heads", [COMING, READ])
def test_a_model_that_knows_links_what_belongs_together(kind: str, heads: HeadChoice) -> None:
    sources, targets, orders = pairs()
    found = Aligner(knowing(kind), heads=heads).align(sources, targets)
    for own, order in zip(found, orders, strict=True):
        assert [link.target for link in own] == list(range(len(order)))
        assert [link.source for link in own] == order
    if kind == "word":
        assert min(link.confidence for own in found for link in own) > 0.99


def test_the_row_matters() -> None:
    sources, targets, orders = pairs()
    wrong = Aligner(knowing(), heads=HeadChoice(COMING.heads, 1)).align(sources, targets)
    hits = sum(link.source == order[link.target] for own, order in zip(wrong, orders, strict=True) for link in own)
    assert hits < 0.3 * sum(map(len, orders))


def test_both_directions_are_put_together() -> None:
    sources, targets, orders = pairs()
    ahead, back = knowing(), knowing(turned=True)
    back.alignment = READ.to_dict()
    for name in ("intersection", "union", "grow-diag-final-and"):
        found = Aligner(ahead, back, heads=COMING, symmetrize=name).align(sources, targets)
        assert [[link.source for link in own] for own in found] == orders
    first, second = (translator(DESIGNS["transformer"]) for _ in range(2))
    one = Aligner(first).align(TEXTS, TEXTS[::-1])
    other = Aligner(second).align(TEXTS[::-1], TEXTS)
    turned = [tuple(Link(link.target, link.source, link.confidence) for link in own) for own in other]
    for name, way in (("intersection", intersection), ("grow-diag-final-and", grow_diag_final_and)):
        both = Aligner(first, second, symmetrize=name).align(TEXTS, TEXTS[::-1])
        for left, right, own in zip(one, turned, both, strict=True):
            assert [link.point for link in own] == [link.point for link in way(left, right)]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_translator_says_what_belongs_together(name: str) -> None:
    model = translator(DESIGNS[name])
    model.aligner = Aligner(model)
    found = model.translate([*TEXTS, ""], strategy=Greedy(min_length=2, max_length=6), alignments=True)
    for one, text in zip(found, TEXTS, strict=False):
        assert one.alignment
        assert [link.target for link in one.alignment] == list(range(len(one.text.split())))
        assert all(0 <= link.source < len(text.split()) and 0 < link.confidence <= 1 for link in one.alignment)
    assert found[2].alignment == ()


def test_wrong_use_is_refused() -> None:
    model = translator(DESIGNS["current"])
    with pytest.raises(UsageError, match=r"aligner\.symmetrize: unknown 'unoin' \(did you mean 'union'\?\)"):
        Aligner(model, symmetrize="unoin")
    with pytest.raises(UsageError, match=r"threshold must be from 0 to 1, but is 1\.5"):
        Aligner(model, threshold=1.5)
    with pytest.raises(UsageError, match="2 sources, but 1 targets"):
        Aligner(model).align(TEXTS, TEXTS[:1])

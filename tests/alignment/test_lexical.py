"""Words that occur together are found, in any order and any script."""

import random
from pathlib import Path

import pytest

from regard.alignment.lexical import lexical_links
from regard.base.files import read_lines
from regard.data.links import Gold, Link, parse_gold
from regard.metrics.alignment_error import error_rates

SHARED = Path(__file__).parents[3] / "shared" / "data" / "czenali"


def made_up(count: int, seed: int = 0) -> tuple[list[tuple[list[str], list[str]]], list[Gold]]:
    """Sentences whose words are translated one by one, with two neighbors exchanged in each."""
    chance = random.Random(seed)
    pairs, gold = [], []
    for _ in range(count):
        source = [f"词{chance.randint(0, 40)}" for _ in range(chance.randint(2, 9))]
        order = list(range(len(source)))
        at = chance.randrange(len(source) - 1)
        order[at], order[at + 1] = order[at + 1], order[at]
        pairs.append((source, [source[place].replace("词", "Wort") for place in order]))
        points = frozenset((place, target) for target, place in enumerate(order))
        gold.append(Gold(points, points))
    return pairs, gold


def sure_links(found: list[Gold]) -> list[list[Link]]:
    return [[Link(*point) for point in own.sure] for own in found]


def test_a_word_by_word_translation_is_understood_though_words_change_places() -> None:
    pairs, gold = made_up(300)
    rates = error_rates(sure_links(lexical_links(pairs)), gold)
    assert rates.precision > 0.95
    assert rates.recall > 0.9


def test_sure_links_are_possible_and_inside_their_sentence() -> None:
    pairs, _ = made_up(30, seed=3)
    for (source, target), own in zip(pairs, lexical_links(pairs), strict=True):
        assert own.sure <= own.possible
        assert all(one < len(source) and other < len(target) for one, other in own.possible)
        assert {other for _, other in own.possible} == set(range(len(target)))


def test_the_same_text_gives_the_same_links_and_case_does_not_matter() -> None:
    pairs, _ = made_up(40)
    shouted = [(source, [word.upper() for word in target]) for source, target in pairs]
    assert lexical_links(pairs) == lexical_links(pairs) == lexical_links(shouted)


def test_empty_sides_have_no_links() -> None:
    nothing = Gold(frozenset(), frozenset())
    assert lexical_links([]) == []
    assert lexical_links([([], ["a"])]) == [nothing]
    found = lexical_links([(["a"], []), (["a"], ["b"]), ([], [])])
    assert found == [nothing, Gold(frozenset({(0, 0)}), frozenset({(0, 0)})), nothing]


@pytest.mark.skipif(not SHARED.exists(), reason="needs the hand-made links of CzEnAli beside the checkout")
def test_real_text_is_linked_as_people_did_far_more_often_than_not() -> None:
    sources, targets, gold = (list(read_lines(SHARED / f"gold.{side}.gz"))[:500] for side in ("en", "cs", "links"))
    found = lexical_links([(one.split(), two.split()) for one, two in zip(sources, targets, strict=True)])
    rates = error_rates(sure_links(found), [parse_gold(line) for line in gold])
    assert rates.precision > 0.7
    assert rates.recall > 0.5

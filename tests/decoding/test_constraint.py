from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.constraint import Constraint, Phrase

TOKENS = st.integers(4, 8)
PHRASES = st.lists(
    st.builds(
        Phrase,
        st.lists(st.lists(TOKENS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=2).map(tuple),
        st.booleans(),
    ),
    max_size=3,
).map(tuple)


def occurs(phrase: Phrase, tokens: list[int], ends: set[int]) -> bool:
    """Whether one of its sequences stands in the output, before the end of a word if it must."""
    for one in phrase.alternatives:
        for start in range(len(tokens) - len(one) + 1):
            after = tokens[start + len(one) : start + len(one) + 1]
            if tuple(tokens[start : start + len(one)]) == one and (not phrase.whole or not after or after[0] in ends):
                return True
    return False


@given(PHRASES, st.lists(TOKENS, max_size=12), st.sets(TOKENS))
def test_what_is_met_is_what_occurs(phrases: tuple[Phrase, ...], tokens: list[int], ends: set[int]) -> None:
    ends |= {one[0] for phrase in phrases for one in phrase.alternatives}  # where a phrase begins, a word has ended
    constraint = Constraint(phrases, ends)
    assert constraint.unmet(tuple(tokens)) == [phrase for phrase in phrases if not occurs(phrase, tokens, ends)]


@given(PHRASES, st.lists(TOKENS, max_size=8), st.sets(TOKENS))
def test_what_is_missing_can_be_written_in_so_many_tokens(
    phrases: tuple[Phrase, ...], tokens: list[int], ends: set[int]
) -> None:
    constraint = Constraint(phrases, ends)
    coverage = constraint.start
    for token in tokens:
        coverage = constraint.advance(coverage, token)
    assert 0 <= coverage.missing <= constraint.least
    while coverage.missing:
        following = [constraint.advance(coverage, token) for token in sorted(coverage.following)]
        best = min(following, key=lambda one: one.missing)
        assert best.missing < coverage.missing
        coverage = best
    assert constraint.may_end(coverage)


def test_the_first_phrases_that_fit_are_kept() -> None:
    long, short = Phrase(((4, 5, 6),)), Phrase(((7, 8), (9,)))
    constraint = Constraint((long, short))
    assert constraint.least == 4
    assert constraint.fitting(4) is constraint
    assert constraint.fitting(3).phrases == (long,)
    assert constraint.fitting(2).phrases == (short,)
    assert constraint.fitting(0).phrases == ()

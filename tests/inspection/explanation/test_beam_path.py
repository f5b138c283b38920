"""The way of a search to its output."""

from itertools import pairwise

from regard.data.subwords.tokenizer import EOS
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.sample import Sample
from regard.decoding.trace import DROPPED, Alternative, Trace
from regard.inspection.explanation.beam_path import beam_path
from tests.decoding.fakes import Fake, sources


def test_the_chosen_branches_spell_every_output_of_a_beam() -> None:
    trace = Trace()
    source, lengths = sources(5)
    found = search(Fake(end=2.0), source, lengths, Beam(size=3, n_best=3), trace=trace)
    for sentence, hypotheses in enumerate(found):
        for one in hypotheses:
            path = beam_path(trace[sentence], one.tokens)
            chosen = [branch for step in path for branch in step if branch.chosen]
            assert [branch.token for branch in chosen] == [*one.tokens, EOS]
            assert chosen[-1].finished
            for before, after in pairwise(chosen):
                assert before.becomes == after.parent


def test_rows_of_a_sample_that_begin_alike_are_told_apart() -> None:
    steps = [
        [Alternative(row, 7, -1.0, -1.0, False, row) for row in (0, 1)],
        [Alternative(0, 8, -1.0, -2.0, False, 0), Alternative(1, EOS, -1.0, -2.0, True, DROPPED)],
        [Alternative(0, EOS, -1.0, -3.0, True, DROPPED)],
    ]
    short = [[branch.chosen for branch in step] for step in beam_path(steps, [7])]
    assert short == [[False, True], [False, True], [False]]
    long = [[branch.chosen for branch in step] for step in beam_path(steps, [7, 8])]
    assert long == [[True, False], [True, False], [True]]


def test_samples_have_ways_too() -> None:
    trace = Trace()
    source, lengths = sources(3)
    found = search(Fake(end=1.0), source, lengths, Sample(n_best=3), trace=trace)
    for sentence, hypotheses in enumerate(found):
        for one in hypotheses:
            chosen = [b.token for step in beam_path(trace[sentence], one.tokens) for b in step if b.chosen]
            assert chosen == [*one.tokens, EOS]


def test_no_steps_no_path() -> None:
    assert beam_path([], [5, 6]) == ()

import pytest

from regard.data.subwords.tokenizer import EOS
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.trace import DROPPED, Trace
from tests.decoding.fakes import Fake, sources


def test_a_beam_search_can_be_followed_from_its_trace() -> None:
    trace, model = Trace(), Fake(end=2.0)
    source, lengths = sources(6)
    found = search(model, source, lengths, Beam(size=3, n_best=3), trace=trace)
    for sentence, hypotheses in enumerate(found):
        alive, ended = {0: ((), 0.0)}, {}
        for step in trace[sentence]:
            following = {}
            for seen in step:
                tokens, score = alive[seen.beam]
                assert score + seen.token_score == pytest.approx(seen.score, abs=1e-4)
                if seen.finished:
                    assert seen.token == EOS
                    ended[tokens] = seen.score
                elif seen.becomes != DROPPED:
                    following[seen.becomes] = ((*tokens, seen.token), seen.score)
            alive = following
        for one in hypotheses:
            assert ended[one.tokens] == pytest.approx(one.score, abs=1e-4)


def test_a_walk_notes_what_it_took_among_the_likeliest() -> None:
    source, lengths = sources(3)
    for strategy in (Greedy(), Sample(n_best=2)):
        trace = Trace()
        found = search(Fake(end=1.0), source, lengths, strategy, trace=trace)
        for sentence, hypotheses in enumerate(found):
            walked: dict[int, list[int]] = {}
            for step in trace[sentence]:
                for seen in step:
                    if seen.becomes != DROPPED:
                        walked.setdefault(seen.beam, []).append(seen.token)
            made = sorted(tuple(walked.get(beam, ())) for beam in range(len(hypotheses)))
            assert made == sorted(one.tokens for one in hypotheses)


def test_an_empty_trace_knows_no_steps() -> None:
    assert Trace()[0] == []

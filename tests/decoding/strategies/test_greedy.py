import torch

from regard.data.subwords.tokenizer import BOS, EOS
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from tests.decoding.fakes import Fake, sources


def test_greedy_takes_the_likeliest_at_every_step() -> None:
    model = Fake(end=1.5).eval()
    source, lengths = sources(8)
    found = search(model, source, lengths, Greedy(max_length=12))
    for at, (one,) in enumerate(found):
        state, token, tokens = model.start(source[at : at + 1], lengths[at : at + 1]), torch.tensor([BOS]), []
        while len(tokens) < 12:
            logits, state = model.step(token, state)
            logits[:, :3] = -torch.inf
            token = logits.argmax(-1)
            if token == EOS:
                break
            tokens.append(int(token))
        assert list(one.tokens) == tokens
    assert len({len(one) for (one,) in found}) > 1


def test_greedy_is_a_beam_of_one() -> None:
    source, lengths = sources(40)
    for end in (0.0, 2.0):
        greedy = search(Fake(end=end), source, lengths, Greedy())
        beam = search(Fake(end=end), source, lengths, Beam(size=1))
        assert [one[0].tokens for one in greedy] == [one[0].tokens for one in beam]

import torch

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.permuted_filler import PermutedFiller
from regard.models.xlnet import XLNet


def test_each_hidden_place_is_guessed_from_the_others() -> None:
    subwords = learn_subwords(["the dog sees the cat"] * 20, SubwordSettings(size=40)).with_mask()
    torch.manual_seed(1)
    model = XLNet(layers=2, width=16, heads=2).build({"text": len(subwords)}).eval()
    filler = PermutedFiller(model, subwords)
    (guesses,), (two,) = filler.fill(["the <mask> sees"], count=3), filler.fill(["the <mask> <mask>"], count=2)
    assert [len(guesses), len(guesses[0]), len(two)] == [1, 3, 2]
    tokens = [1, *subwords.encode("the"), subwords.mask, *subwords.encode("sees"), 2]
    assert guesses[0][0].probability > guesses[0][1].probability
    # all that is not hidden is seen, whatever stands at the hidden place
    place = tokens.index(subwords.mask)
    seen = torch.ones(1, len(tokens), len(tokens), dtype=torch.bool)
    seen[:, :, place] = False
    given = torch.tensor([tokens])
    given[0, 0], given[0, -1] = 2, 3
    with torch.no_grad():
        query = model.two_streams(given, torch.tensor([len(tokens)]), seen, torch.tensor([[place]])).query
    best = model.output(query)[0, 0].softmax(-1).max().item()
    assert abs(best - guesses[0][0].probability) < 1e-6

import torch

from regard.data.subwords.tokenizer import EOS
from regard.decoding.scoring import score_tokens
from tests.decoding.fakes import Fake, FakeLanguage, sources


def test_each_token_has_its_log_probability_and_padding_none() -> None:
    model = Fake().train()
    source, lengths = sources(2)
    target = torch.tensor([[4, 5, EOS, 9], [6, EOS, 9, 9]])
    scores = score_tokens(model, source, lengths, target, torch.tensor([3, 2]))
    assert model.training
    model.eval()
    logits = model(source, lengths, torch.tensor([[2, 4, 5], [2, 6, 0]])).log_softmax(-1)
    expected = torch.stack([logits[0, at, token] for at, token in enumerate([4, 5, EOS])])
    torch.testing.assert_close(scores[0, :3], expected)
    torch.testing.assert_close(scores[1, :2], torch.stack([logits[1, 0, 6], logits[1, 1, EOS]]))
    assert scores[0, 3] == scores[1, 2] == scores[1, 3] == 0


def test_an_ensemble_averages_probabilities() -> None:
    models = [FakeLanguage(seed=1), FakeLanguage(seed=2)]
    target, lengths = torch.tensor([[4, 5, EOS]]), torch.tensor([3])
    together = score_tokens(models, None, None, target, lengths)
    alone = [score_tokens(model, None, None, target, lengths).exp() for model in models]
    torch.testing.assert_close(together.exp(), (alone[0] + alone[1]) / 2)

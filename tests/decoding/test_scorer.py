import pytest
import torch

from regard.base.errors import CombinationError, UsageError
from regard.decoding.scorer import Scorer, evaluating, log_mean
from tests.decoding.fakes import Fake, FakeLanguage, sources


def test_an_ensemble_is_the_mean_of_probabilities() -> None:
    models = [Fake(seed=1), Fake(seed=2), Fake(seed=3)]
    source, lengths = sources(4)
    token = torch.tensor([2, 5, 6, 7])
    with evaluating(models):
        together = Scorer(models)
        logits, norm, _ = together.step(token, together.start(source, lengths, 4))
        alone = [model.step(token, model.start(source, lengths))[0].softmax(-1) for model in models]
    torch.testing.assert_close((logits - norm[:, None]).exp(), torch.stack(alone).mean(0))


def test_one_model_gives_its_logits_with_their_norm() -> None:
    model = Fake().eval()
    source, lengths = sources(3)
    scorer = Scorer(model)
    with evaluating([model]):
        logits, norm, states = scorer.step(torch.tensor([2, 2, 2]), scorer.start(source, lengths, 3))
    torch.testing.assert_close((logits - norm[:, None]).exp().sum(-1), torch.ones(3))
    assert states.keep(torch.tensor([1])).spread(2).reorder(torch.tensor([1, 0])).parts[0].past.shape[0] == 2


def test_models_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(CombinationError, match="language models"):
        Scorer([Fake(), FakeLanguage()])
    with pytest.raises(UsageError, match="no model"):
        Scorer([])
    with pytest.raises(CombinationError, match="20, 30 tokens"):
        log_mean([torch.zeros(2, 20), torch.zeros(2, 30)])


def test_evaluating_restores_training() -> None:
    training, done = Fake().train(), Fake().eval()
    with evaluating([training, done]):
        assert not training.training
        assert torch.is_inference_mode_enabled()
    assert training.training
    assert training.dropout.training
    assert not done.training

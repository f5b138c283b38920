import torch

from regard.decoding.one_way import walk
from regard.decoding.rules import Offer
from regard.decoding.scorer import Scorer
from regard.decoding.search import evaluating
from regard.decoding.strategy import SearchTask
from tests.decoding.fakes import Fake, rules, sources


def task(model: Fake, **changes: object) -> SearchTask:
    source, lengths = sources(2)
    scorer = Scorer(model)
    return SearchTask(scorer, scorer.start(source, lengths, 2), rules(**changes), ((), ()))


def test_every_choice_is_taken_and_lengths_are_kept_apart() -> None:
    plans = {0: [4, 5, 3], 1: [6, 3, 7]}

    def choose(offer: Offer, sentences: torch.Tensor, step: int) -> torch.Tensor:
        return torch.tensor([plans[sentence][step] for sentence in sentences.tolist()])

    model = Fake().eval()
    with evaluating([model]):
        found = walk(task(model), choose)
    assert [one[0].tokens for one in found] == [(4, 5), (6,)]
    assert [len(one[0].token_scores) for one in found] == [3, 2]
    assert model.steps == [2, 2, 1]


def test_rows_of_a_sentence_end_each_in_its_time_and_are_ranked() -> None:
    def choose(offer: Offer, sentences: torch.Tensor, step: int) -> torch.Tensor:
        return torch.tensor([3, 4] * len(sentences)) if step < 2 else torch.full((2 * len(sentences),), 3)

    model = Fake().eval()
    with evaluating([model]):
        found = walk(task(model), choose, rows=2)
    for hypotheses in found:
        assert {one.tokens for one in hypotheses} == {(), (4, 4)}
        assert hypotheses[0].score >= hypotheses[1].score

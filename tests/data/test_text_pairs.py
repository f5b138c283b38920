import torch

from regard.data.framed import Frame
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.text_pairs import PairRows


def rows(count: int = 7) -> PairRows:
    frame = Frame()
    first, second = ([frame.row([[9 + at] * (at + more)]) for at in range(count)] for more in (1, 2))
    lengths = [torch.tensor([len(row) for row, _ in side]).int().numpy() for side in (first, second)]
    return PairRows(first, second, BatchPlan(lengths[0], lengths[1], BatchSettings(tokens=24)))


def test_partners_stay_together() -> None:
    made = rows()
    seen = []
    for item in made.all():
        assert item.count == item.size == len(item.first.lengths)
        assert item.first.tokens[:, 1].tolist() == item.second.tokens[:, 1].tolist()
        assert item.second.lengths.tolist() == (item.first.lengths + 1).tolist()
        assert item.shares(4) == [item]
        assert item.to("cpu").first.tokens.equal(item.first.tokens)
        seen += item.first.tokens[:, 1].tolist()
    assert sorted(seen) == [9 + at for at in range(7)]
    assert made.epoch() == (len(made.all()), 7)


def test_a_position_holds_the_same_batch_again() -> None:
    made = rows()
    (position, item), (after, _) = [pair for pair, _ in zip(made.walk(), range(2), strict=False)]
    assert position == BatchPosition()
    assert made.at(position).first.tokens.equal(item.first.tokens)
    assert after == BatchPosition(index=1)

import torch

from regard.models.deep_sets import DeepSets


def test_an_output_is_that_of_the_pooled_features() -> None:
    model = DeepSets(width=4, layers=1).build({"elements": 2, "outputs": 3})
    sets, lengths = torch.randn(2, 3, 2), torch.tensor([3, 1])
    features, keep = model.encode(sets, lengths)
    assert keep.tolist() == [[True] * 3, [True, False, False]]
    torch.testing.assert_close(model(sets, lengths), model.output(model.pooled(features, keep)))

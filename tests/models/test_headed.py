import pytest
import torch

from regard.base.errors import ConfigError
from regard.models.bert import Bert
from regard.models.headed import ClassHead, Headed, TagHead, TokenHead, VectorHead, pool

DESIGN = Bert(layers=1, width=8, heads=2, dropout=0.0, attention_dropout=0.0)
TOKENS, LENGTHS = torch.tensor([[2, 5, 6, 3], [2, 7, 3, 0]]), torch.tensor([4, 3])


def built(**sizes: int) -> Headed:
    return DESIGN.build({"text": 20, **sizes}).eval()


@pytest.mark.parametrize(
    ("sizes", "kind", "shape"),
    [
        ({}, TokenHead, (2, 4, 8)),
        ({"classes": 3}, ClassHead, (2, 3)),
        ({"tags": 5}, TagHead, (2, 4, 5)),
        ({"vector": 8}, VectorHead, (2, 8)),
    ],
)
def test_the_sizes_choose_the_head(sizes: dict[str, int], kind: type, shape: tuple[int, ...]) -> None:
    model = built(**sizes)
    assert type(model.head) is kind
    assert model(TOKENS, LENGTHS).shape == shape


def test_masked_tokens_are_scored_by_their_embeddings() -> None:
    model = built()
    assert model.output.weight is model.source.table.weight  # type: ignore[union-attr]
    assert model.output(model(TOKENS, LENGTHS)).shape == (2, 4, 20)
    with pytest.raises(ConfigError, match="a ClassHead gives no logits over the vocabulary"):
        _ = built(classes=2).output


def test_pooling_counts_no_padding() -> None:
    features = torch.tensor([[[1.0], [5.0], [3.0]], [[2.0], [4.0], [9.0]]])
    keep = torch.tensor([[True, True, True], [True, True, False]])
    assert pool("first", features, keep).flatten().tolist() == [1, 2]
    assert pool("mean", features, keep).flatten().tolist() == [3, 3]
    assert pool("max", features, keep).flatten().tolist() == [5, 4]

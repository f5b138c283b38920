import torch

from regard.layers.mixer import MIXERS
from regard.layers.mixers.self_attention import SelfAttention


def test_the_usual_attention_unless_a_model_says_more() -> None:
    assert MIXERS.make("self_attention") == SelfAttention()
    layer = SelfAttention().build(16)
    assert layer.heads == 8
    x = torch.randn(2, 3, 16)
    assert layer(x).shape == (2, 3, 16)
    past = SelfAttention().causal().build(16)
    torch.testing.assert_close(past(x)[:, :2], past(x[:, :2]))

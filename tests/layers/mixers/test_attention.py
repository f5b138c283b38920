from regard.attention.multihead import Attention
from regard.layers.mixer import MIXERS


def test_attention_is_a_mixer_by_name() -> None:
    assert MIXERS.get("attention") is Attention
    assert MIXERS.make("attention(heads=2)") == Attention(heads=2)

import numpy as np
import pytest
import torch

from regard.attention.memories.compressed import Compressed
from regard.attention.multihead import Attention
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError, ShapeError
from regard.models.bert import Bert

READING = Reading(ScaledDot(), Softmax())
SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=3)


def test_is_linformers_projection() -> None:
    blend = Compressed(slots=3, length=7).build(SIZES).double()
    key, value = torch.randn(2, 2, 5, 4, dtype=torch.float64), torch.randn(2, 2, 5, 3, dtype=torch.float64)
    query = torch.randn(2, 2, 4, 4, dtype=torch.float64)
    output = blend.start(READING).extend(key, value).read(READING, query, torch.arange(4)).detach().numpy()
    keys = np.einsum("st,bhtd->bhsd", blend.keys.detach().numpy()[:, :5], key.numpy())
    values = np.einsum("st,bhtd->bhsd", blend.values.detach().numpy()[:, :5], value.numpy())
    logits = np.einsum("bhid,bhsd->bhis", query.numpy(), keys) / 2
    weights = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    np.testing.assert_allclose(output, weights @ values, rtol=1e-10, atol=1e-12)


def test_longer_texts_than_it_was_made_for_are_told() -> None:
    memory = Compressed(slots=3, length=7).build(SIZES).start(READING)
    memory = memory.extend(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 3))
    with pytest.raises(ShapeError, match="compressed memory: 8 pairs were written, but it was made for length=7"):
        memory.extend(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 3))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="compressed: slots must be at least 1, but is 0"):
        Compressed(0, 7)


def test_with_the_identity_it_is_plain_attention() -> None:
    """As many slots as positions, E = F = 1: what is read are the pairs themselves, also with padding."""
    compressed = Attention(heads=2, memory="compressed(6, 6)").build(8).double()
    plain = Attention(heads=2).build(8).double()
    plain.load_state_dict({name: value for name, value in compressed.state_dict().items() if "memory" not in name})
    with torch.no_grad():
        compressed.memory.keys.copy_(torch.eye(6))
        compressed.memory.values.copy_(torch.eye(6))
    x = torch.randn(3, 6, 8, dtype=torch.float64)
    torch.testing.assert_close(compressed(x), plain(x), rtol=0, atol=1e-12)
    for made in (compressed, plain):
        made.zero_grad()
        made(x).square().sum().backward()
    theirs = dict(plain.named_parameters())
    for name, weight in compressed.named_parameters():
        if "memory" not in name:
            torch.testing.assert_close(weight.grad, theirs[name].grad, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("sharing", "weights"), [("none", 2 * 2 * 3 * 7), ("heads", 2 * 3 * 7), ("pairs", 3 * 7), ("layers", 3 * 7)]
)
def test_projections_are_shared_in_the_papers_ways(sharing: str, weights: int) -> None:
    blend = Compressed(3, 7, sharing).build(SIZES)
    assert sum(weight.numel() for weight in blend.parameters()) == weights
    key, value = torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    keys, values = blend.start(READING).extend(key, value).blended()
    for head in range(2):
        own = blend.keys[head] if sharing == "none" else blend.keys
        torch.testing.assert_close(keys[0, head], own[:, :5] @ key[0, head])
        other = own if blend.values is None else blend.values[head] if sharing == "none" else blend.values
        torch.testing.assert_close(values[0, head], other[:, :5] @ value[0, head])


def test_all_layers_may_share_one_projection() -> None:
    built = Bert(layers=3, width=8, heads=2, memory="compressed(3, 16, 'layers')").build({"text": 9})
    own = {id(block.self_attention.memory.keys) for block in built.encoder.blocks}
    assert len(own) == 1
    assert sum("memory" in name for name, _ in built.named_parameters()) == 1

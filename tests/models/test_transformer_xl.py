import pytest
import torch

from regard.base.errors import ConfigError
from regard.models.transformer_xl import TransformerXL, TransformerXLModel

TOKENS = torch.randint(4, 20, (2, 12), generator=torch.Generator().manual_seed(1))


def made(memory: str = "rolling(4)", layers: int = 2) -> TransformerXLModel:
    torch.manual_seed(3)
    design = TransformerXL(layers=layers, width=16, heads=2, memory=memory, dropout=0.0)
    return design.build({"text": 20}).double().eval()


def test_segments_equal_one_long_pass() -> None:
    """The window is the memory, so that nothing is lost between segments, however long they are."""
    model = made()
    whole = model.hidden(None, None, TOKENS)
    for length in (1, 3, 5):
        hidden, memories = [], ()
        for piece in TOKENS.split(length, dim=1):
            found, memories = model.segment(piece, memories)
            hidden.append(found)
            assert all(memory.shape[1] <= 3 for memory in memories)
        torch.testing.assert_close(torch.cat(hidden, 1), whole, rtol=0, atol=1e-12)


def test_text_before_is_recalled_and_gets_no_gradient() -> None:
    """Two layers with a window of 4 reach 6 positions back."""
    model = made()
    whole = model.hidden(None, None, TOKENS)
    recalled = model.hidden(None, None, TOKENS[:, 7:], TOKENS[:, 1:7])
    torch.testing.assert_close(recalled, whole[:, 7:], rtol=0, atol=1e-12)
    shorter = model.hidden(None, None, TOKENS[:, 7:], TOKENS[:, 5:7])
    assert not torch.allclose(shorter, whole[:, 7:])
    recalled.square().sum().backward()
    grown = model.target.table.weight.grad.any(1).nonzero().flatten().tolist()
    assert set(grown) <= set(TOKENS[:, 7:].flatten().tolist())
    joint = model.decoder.blocks[0].self_attention.projections.joint.weight.grad
    assert joint is not None
    assert joint.any()


def test_a_longer_memory_than_in_training_sees_farther() -> None:
    model, longer = made(), made("rolling(8)")
    model.remember_more(8)
    torch.testing.assert_close(model.hidden(None, None, TOKENS), longer.hidden(None, None, TOKENS))
    with pytest.raises(ConfigError, match="memory: that of this model is growing, which has no size"):
        made("growing").remember_more(8)


def test_what_it_cannot_have_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"transformer_xl\.mixer: segments are recalled by self-attention"):
        TransformerXL(mixer="convolution", positions=None).build({"text": 20})
    with pytest.raises(ConfigError, match="compressed blends all positions, so a decoder cannot decode step by step"):
        TransformerXL(memory="compressed(4)").build({"text": 20})
    with pytest.raises(ConfigError, match="recurrent memory: needs a score with positive features"):
        TransformerXL(memory="recurrent", positions=None).build({"text": 20})

"""What encoder-decoder models share; tests/laws compare steps with whole texts for each of them."""

import pytest
import torch

from regard.base.errors import ShapeError
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.t5 import T5
from regard.models.transformer import Transformer

SMALL = {"encoder_layers": 1, "decoder_layers": 1, "width": 8, "heads": 2, "feedforward": 12}


@pytest.mark.parametrize("design", [T5(**SMALL), Transformer(**SMALL)])
def test_a_source_is_needed_and_read_without_its_padding(design: T5 | Transformer) -> None:
    model = design.build({"source": 20, "target": 20}).eval()
    assert isinstance(model, EncoderDecoder)
    with pytest.raises(ShapeError, match="needs a source and its lengths"):
        model.hidden(None, None, torch.tensor([[2, 5]]))
    target = torch.tensor([[2, 5, 6]])
    short = model(torch.tensor([[7, 8, 3]]), torch.tensor([3]), target)
    padded = model(torch.tensor([[7, 8, 3, 0, 0]]), torch.tensor([3]), target)
    torch.testing.assert_close(short, padded)


def test_the_cost_of_a_token_counts_every_matrix_once() -> None:
    design = Transformer(**SMALL)
    model = design.build({"source": 20, "target": 20})
    source, target = design.multiplications(model, 0.0)
    layer = 4 * 8 * 8 + 2 * 8 * 12
    assert source == layer + 2 * 8 * 8  # and the keys and values that the decoder reads
    assert target == layer + 2 * 8 * 8 + 20 * 8

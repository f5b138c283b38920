import pytest
import torch

from regard.base.errors import ShapeError, UsageError
from regard.models.gpt import Gpt
from regard.models.model import Encoder
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.models.writer import LayerState, State, Transducer, Writer, fitting, given


def test_a_model_says_what_it_offers_by_its_class() -> None:
    language = Gpt(layers=1, width=8, heads=2).build({"text": 20})
    assert isinstance(language, Writer)
    assert not isinstance(language, Encoder | Transducer)
    for design in (Transformer(width=8, heads=2, encoder_layers=1, decoder_layers=1), Seq2seq(width=8)):
        assert isinstance(design.build({"source": 20, "target": 20}), Transducer)
    assert issubclass(Transducer, Writer)
    assert issubclass(Transducer, Encoder)


def test_only_single_rows_are_spread() -> None:
    state = LayerState(sentences=2, memories=())
    with pytest.raises(UsageError, match="1 row a sentence can be spread, but this one has 3"):
        state.spread(3).spread(2)


def test_a_state_must_fit() -> None:
    class Other(State):
        def pick_rows(self, rows):
            return self

        def pick_sentences(self, sentences):
            return self

    state = LayerState(sentences=2, beams=3)
    assert fitting(state, LayerState, torch.zeros(6, dtype=torch.long)) is state
    with pytest.raises(ShapeError, match="2 sentences of 3 rows, but 2 tokens"):
        fitting(state, LayerState, torch.zeros(2, dtype=torch.long))
    with pytest.raises(UsageError, match="goes on from a LayerState, but was given a Other"):
        fitting(Other(sentences=1), LayerState, torch.zeros(1, dtype=torch.long))


def test_a_source_is_asked_for() -> None:
    with pytest.raises(ShapeError, match="needs a source"):
        given(None, None)

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from regard.base.config import from_dict, to_dict
from regard.base.errors import ConfigError
from regard.layers.feeds.experts import Experts
from regard.models.gpt import Gpt
from regard.models.headed import Headed
from regard.models.model import MODELS, weights_in
from regard.models.rnn_lm import RnnLm
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.models.writer import Writer

PRESETS = [(name, preset) for name in MODELS.names for preset in MODELS.get(name).presets]


def test_a_file_is_a_model() -> None:
    assert {"gpt", "rnn_lm", "seq2seq", "transformer"} <= set(MODELS.names)
    assert MODELS.get("seq2seq") is Seq2seq
    assert MODELS.make("transformer(width=64, heads=4)").width == 64


def with_few_experts(design: Any) -> Any:
    """The same, but that of thousands of equal experts there are no more than twice as many as a token chooses."""
    experts = {name: value for name, value in vars(design).items() if isinstance(value, Experts)}
    few = {name: replace(value, count=min(value.count, 2 * value.chosen)) for name, value in experts.items()}
    return replace(design, **few)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_presets_are_plain_settings_that_build(name: str, preset: str) -> None:
    kind = MODELS.get(name)
    design = kind.preset(preset)
    assert from_dict(kind.presets[preset], kind) == design
    sizes = dict.fromkeys(design.needs, 100) | {side: 224 for side in ("height", "width") if side in design.needs}
    design = with_few_experts(design)
    with torch.device("meta"):
        model = design.build(sizes)
    assert not isinstance(model, Writer | Headed) or model.output.weight.shape[0] == 100
    assert design.training_flops(1e3, 1e3, sizes) > 0


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_design_is_written_and_read_back(name: str, preset: str) -> None:
    design = MODELS.get(name).preset(preset)
    assert from_dict(to_dict(design), type(design)) == design


def test_presets_can_be_changed_also_inside() -> None:
    design = Seq2seq.preset("bahdanau", width=64, attention={"dropout": 0.5})
    assert (design.width, design.embedding) == (64, 620)
    assert design.attention is not None
    assert design.attention.dropout == 0.5
    assert design.attention.score == Seq2seq.preset("bahdanau").attention.score
    assert Seq2seq.preset("bahdanau", attention=None).attention is None
    with pytest.raises(ConfigError, match=r"Seq2seq: unknown 'bahdanu' \(did you mean 'bahdanau'\?\)"):
        Seq2seq.preset("bahdanu")


@pytest.mark.parametrize(
    ("kind", "setting", "complaint"),
    [
        (Transformer, {"norm_place": "befor"}, r"transformer\.norm_place: unknown 'befor' \(did you mean 'before'\?\)"),
        (Transformer, {"positions": "rotori"}, r"transformer\.positions: unknown 'rotori'"),
        (Transformer, {"attention_dropout": 1.0}, "transformer: attention_dropout must be"),
        (Transformer, {"encoder_layers": 0}, "transformer: encoder_layers must be at least 1"),
        (Gpt, {"activation": "rellu"}, r"gpt\.activation: unknown 'rellu'"),
        (Gpt, {"score": "dott"}, r"gpt\.score: unknown 'dott'"),
        (RnnLm, {"cell": "lstn"}, r"rnn_lm\.cell: unknown 'lstn' \(did you mean 'lstm'\?\)"),
        (Seq2seq, {"query": "next"}, r"seq2seq\.query: unknown 'next'"),
        (Seq2seq, {"dropout": -0.5}, "seq2seq: dropout must be"),
    ],
)
def test_wrong_settings_are_named(kind: type, setting: dict[str, object], complaint: str) -> None:
    design = kind()
    for name, value in setting.items():  # past the type checker, which would speak first
        object.__setattr__(design, name, value)
    with pytest.raises(ConfigError, match=complaint):
        design.__post_init__()


def test_wrong_settings_of_a_file_are_named_too() -> None:
    with pytest.raises(ConfigError, match=r"model\.norm: unknown 'befor'"):
        from_dict({"norm": "befor"}, Transformer, "model")
    with pytest.raises(ConfigError, match=r"model\.attention\.score: unknown 'dott'"):
        from_dict({"attention": {"score": "dott"}}, Seq2seq, "model")


def test_matrices_are_counted_once_and_embeddings_not() -> None:
    linear = nn.Linear(3, 4)
    shared = nn.Sequential(linear, nn.Embedding(7, 3), linear)
    assert weights_in(shared, None, linear) == 12


@pytest.mark.parametrize("name", MODELS.names)
def test_a_design_says_which_sizes_it_needs(name: str) -> None:
    kind = MODELS.get(name)
    needed = ", ".join(kind.needs)
    with pytest.raises(ConfigError, match=rf"{name}: .* needs the sizes of: {needed}; but was given those of: pixels$"):
        kind().build({"pixels": 3})
    with pytest.raises(ConfigError, match="given those of: none"):
        kind().sizes_from({})
    given_more = dict.fromkeys(kind.needs, 9) | {"pixels": 3}
    assert kind().sizes_from(given_more) == (9,) * len(kind.needs)

from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING

from regard.base.errors import RegardError
from regard.interop.family import FAMILIES, Entry, activation_here, affine


def test_a_file_is_a_family() -> None:
    assert {"bert", "distilbert", "gpt2", "roberta"} <= set(FAMILIES.names)
    assert all(FAMILIES.make(name).type() == name for name in FAMILIES.names)


SAME_AS_NONE = {("llama", "num_key_value_heads"): 32, ("t5", "num_decoder_layers"): 6}


@pytest.mark.parametrize("name", FAMILIES.names)
def test_what_a_config_lacks_is_what_transformers_takes(name: str) -> None:
    family, usual = FAMILIES.make(name), CONFIG_MAPPING[name]().to_dict()
    expected = {key: usual[key] if value is not None else value for key, value in family.defaults.items()}
    assert {key: list(one) if isinstance(one, tuple) else one for key, one in expected.items()} == family.defaults
    none = {(name, key): usual[key] for key, value in family.defaults.items() if value is None and usual[key]}
    assert none.items() <= SAME_AS_NONE.items()
    assert all("dropout" in key or "drop" in key for key in set(family.names.values()) - set(family.defaults))


@pytest.mark.parametrize("name", FAMILIES.names)
def test_settings_have_the_other_names_that_transformers_knows(name: str) -> None:
    assert FAMILIES.make(name).also_called == CONFIG_MAPPING[name].attribute_map


def test_two_names_of_a_setting_must_agree() -> None:
    gpt2 = FAMILIES.make("gpt2")
    assert gpt2.completed({"hidden_size": 24, "n_embd": 24}, "here")["n_embd"] == 24
    with pytest.raises(RegardError, match="here: n_embd is 24, but hidden_size, which is the same, is 32"):
        gpt2.completed({"hidden_size": 32, "n_embd": 24}, "here")


@pytest.mark.parametrize("name", FAMILIES.names)
def test_settings_of_a_search_are_known_everywhere(name: str) -> None:
    family = FAMILIES.make(name)
    family.model(family.completed({"num_beams": 4, "top_k": 50, "do_sample": False, "max_length": 20}, "here"), "here")
    with pytest.raises(RegardError, match=r"pruned_heads is \{'0': \[1\]\}, but only \{\} can be read"):
        family.model(family.completed({"pruned_heads": {"0": [1]}}, "here"), "here")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"tie_word_embeddings": None}, "here: tie_word_embeddings is None, but must be true or false, as in True"),
        ({"hidden_dropout_prob": None}, "here: hidden_dropout_prob is None, but must be a number, as in 0.1"),
        ({"hidden_size": 24.0}, "here: hidden_size is 24.0, but must be a whole number, as in 768"),
        ({"num_attention_heads": True}, "here: num_attention_heads is True, but must be a whole number"),
        ({"layer_norm_eps": "small"}, "here: layer_norm_eps is 'small', but must be a number, as in 1e-12"),
        ({"hidden_act": 3}, "here: hidden_act is 3, but must be a name, as in 'gelu'"),
        ({"num_hidden_layers": -1}, "here: num_hidden_layers is -1, but must be at least 1"),
    ],
)
def test_a_value_of_another_kind_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RegardError, match=sentence):
        FAMILIES.make("bert").completed(settings, "here")


@pytest.mark.parametrize(
    "entry",
    [
        Entry("x", ("a",)),
        Entry("x", ("a", "b", "c")),
        Entry("x", ("a",), turned=True),
        Entry("x", ("a", "b"), split=(1, 3)),
        Entry("x", ("a",), skipped=2),
        Entry("x", ("a",), vocabulary=True, missing=-9.0),
    ],
)
def test_written_and_read_a_tensor_is_the_same(entry: Entry) -> None:
    order = {entry.side: [None, 2, 0, 1]}
    rows = 4 if entry.vocabulary or entry.split else 6
    tensor = torch.randn(rows, 5)
    if entry.vocabulary:
        tensor[0] = -9.0
    there = entry.write(tensor, order)
    assert list(there) == list(entry.theirs)
    assert torch.equal(entry.read(there, order, "here"), tensor)


def test_rows_of_the_vocabulary_are_those_of_their_order() -> None:
    entry = Entry("x", ("a",), vocabulary=True)
    made = entry.read({"a": torch.arange(3.0)}, {entry.side: [None, 2, 0, 1]}, "here")
    assert made.tolist() == [0, 2, 0, 1]


def test_a_bias_is_not_transposed() -> None:
    weight, bias = affine("x", "a", turned=True)
    assert (weight.turned, bias.turned) == (True, False)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(RegardError, match="here: has no tensor 'b', which the model needs"):
        Entry("x", ("a", "b")).read({"a": torch.ones(1)}, [], "here")
    assert activation_here("gelu_new", "hidden_act") == "gelu_tanh"
    with pytest.raises(RegardError, match="hidden_act: activation: unknown 'mish'"):
        activation_here("mish", "hidden_act")

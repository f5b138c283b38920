"""Searches of other folders: read, refused or noted by name."""

from typing import Any

import pytest

from regard.base.errors import RegardError
from regard.interop.search_settings import SEARCH_SETTINGS, search_of_pairs, search_of_texts

GREEDY = {"name": "greedy"}


@pytest.mark.parametrize(
    ("said", "table"),
    [
        ({}, None),
        ({"num_beams": 1}, GREEDY),
        ({"max_new_tokens": 30, "min_new_tokens": 4}, GREEDY | {"max_length": 30, "min_length": 4}),
        ({"max_length": 30, "min_length": 4}, GREEDY | {"max_length": 29, "min_length": 3}),
        ({"max_length": 30, "forced_eos_token_id": 1}, GREEDY | {"max_length": 28}),
        ({"do_sample": True}, {"name": "sample", "temperature": 1.0, "top_k": 50, "top_p": 1.0}),
        (
            {"do_sample": True, "temperature": 0.7, "top_k": 0, "top_p": 0.8},
            {"name": "sample", "temperature": 0.7, "top_k": 0, "top_p": 0.8},
        ),
        (
            {"num_beams": 4, "early_stopping": True, "length_penalty": 2.0, "no_repeat_ngram_size": 3},
            {"name": "beam", "size": 4, "patience": 1.0, "no_repeat_ngram": 3, "length_penalty": 2.0},
        ),
    ],
)
def test_what_a_folder_says_is_read(said: dict[str, Any], table: dict[str, Any] | None) -> None:
    assert search_of_pairs({}, said, always=False) == table
    assert search_of_pairs(said, {}, always=False) == table  # older folders have them in config.json


def test_both_files_start_outputs_after_the_same_token() -> None:
    said = {"decoder_start_token_id": 0, "max_new_tokens": 5}
    assert search_of_pairs({"pad_token_id": 0}, said, always=False) == GREEDY | {"max_length": 5}
    with pytest.raises(RegardError, match="decoder_start_token_id is 0, but config"):
        search_of_pairs({"decoder_start_token_id": 7}, said, always=False)


def test_the_file_of_its_own_counts_before_the_config() -> None:
    assert search_of_pairs({"num_beams": 4}, {"num_beams": 1}, always=False) == GREEDY
    assert search_of_pairs({}, {}, always=True) == GREEDY


def test_a_language_model_is_searched_as_its_folder_says() -> None:
    sampled = {"do_sample": True, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "eos_token_id": [1, 2]}
    table, notes = search_of_texts({}, sampled)
    assert table == {"name": "sample", "max_length": 100, "temperature": 0.7, "top_k": 20, "top_p": 0.8}
    assert notes == []
    assert search_of_texts({"n_layer": 2}, {"bos_token_id": 1, "transformers_version": "4.31"}) == (None, [])
    assert search_of_texts({}, {"max_new_tokens": 7, "do_sample": False})[0] == GREEDY | {"max_length": 7}


def test_what_is_not_here_is_noted_for_a_language_model_and_refused_for_others() -> None:
    said = {"repetition_penalty": 1.1, "surprise": 1, "max_length": 4096}
    table, notes = search_of_texts({}, said)
    assert table is None
    assert notes == [
        "repetition_penalty is 1.1, which searches here do not have; set it to 1.0, or leave it out",
        "the setting 'surprise' is not known here",
        "max_length counts the prompt there, so it is not read; --max-length does not",
    ]
    with pytest.raises(RegardError, match=r"^repetition_penalty is 1\.1, which searches here do not have"):
        search_of_pairs({}, said, always=False)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"num_beams": 2.5}, "num_beams is 2.5, which is no whole number"),
        ({"do_sample": True, "temperature": "hot"}, "temperature is 'hot', which is no number"),
        ({"max_new_tokens": float("inf")}, "max_new_tokens is inf, which is no whole number"),
        ({"max_new_tokens": float("nan")}, "max_new_tokens is nan, which is no whole number"),
        ({"do_sample": True, "temperature": 10**400}, "temperature is 10+, which is no number"),
        ({"do_sample": "yes"}, "do_sample is 'yes', but must be true or false"),
    ],
)
def test_a_value_of_another_kind_is_refused(said: dict[str, Any], sentence: str) -> None:
    for read in (lambda: search_of_pairs({}, said, always=False), lambda: search_of_texts({}, said)):
        with pytest.raises(RegardError, match=sentence):
            read()


def test_every_setting_of_transformers_is_known() -> None:
    transformers = pytest.importorskip("transformers")
    assert set(transformers.GenerationConfig().to_dict()) <= SEARCH_SETTINGS

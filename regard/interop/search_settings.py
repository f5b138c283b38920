"""How a model of Hugging Face searches: its `generation_config.json`, or the config of an older folder.

What changes outputs and is not here is refused for a model that reads a source, whose search belongs to its figure.
Of a language model it is noted, since commands choose its search anyway.
"""

from collections.abc import Callable, Mapping
from sys import float_info
from typing import Any

from regard.base.errors import RegardError

_READ = (
    *("do_sample", "temperature", "top_k", "top_p", "num_beams", "early_stopping", "length_penalty"),
    *("max_length", "max_new_tokens", "min_length", "min_new_tokens", "no_repeat_ngram_size"),
)
_CHECKED: Mapping[str, tuple[Any, ...]] = {
    "num_beam_groups": (1,),
    "diversity_penalty": (0.0,),
    "num_return_sequences": (1,),
    "repetition_penalty": (1.0,),
    "encoder_repetition_penalty": (1.0,),
    "encoder_no_repeat_ngram_size": (0,),
    "forced_bos_token_id": (),
    "forced_decoder_ids": (),
    "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],),
    "sequence_bias": ({},),
    "typical_p": (1.0,),
    "min_p": (0.0,),
    "top_h": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
    "penalty_alpha": (0.0,),
    "guidance_scale": (1.0,),
    "renormalize_logits": (False,),
    "token_healing": (False,),
    "exponential_decay_length_penalty": (),
    "stop_strings": ([],),
    "max_time": (),
    "constraints": ([],),
    "force_words_ids": ([],),
    "dola_layers": (),
    "watermarking_config": (),
}
"""settings that change outputs, with the values that searches here have; not set is one of them"""
_HARMLESS = (
    *("use_cache", "cache_implementation", "cache_config", "max_cache_len", "low_memory", "prefill_chunk_size"),
    *("output_scores", "output_logits", "output_attentions", "output_hidden_states", "return_dict_in_generate"),
    *("remove_invalid_values", "return_legacy_cache", "num_assistant_tokens", "num_assistant_tokens_schedule"),
    *("assistant_confidence_threshold", "assistant_early_exit", "assistant_lookbehind", "target_lookbehind"),
    *("assistant_ensemble_weight", "is_assistant", "prompt_lookup_num_tokens", "max_matching_ngram_size"),
    *("compile_config", "disable_compile", "continuous_batching_config", "speculation_type", "use_mtp"),
    *("generation_kwargs", "trust_remote_code", "transformers_version", "_from_model_config"),
)
_TOKENS = (
    *("bad_words_ids", "forced_eos_token_id", "decoder_start_token_id"),
    *("pad_token_id", "bos_token_id", "eos_token_id"),
)
_SAMPLED = {"temperature": 1.0, "top_k": 50, "top_p": 1.0}
"""what transformers takes for sampling where a folder does not say"""
_LONGEST_TEXT = 100
_USUAL_LENGTH = 20
"""what older configs have as `max_length` though nobody asked for it"""
SEARCH_SETTINGS = frozenset({*_READ, *_CHECKED, *_HARMLESS, *_TOKENS})
"""every setting of a search, so that they are known in the config of a model that writes nothing, too"""


def search_of_pairs(told: Mapping[str, Any], said: Mapping[str, Any], *, always: bool) -> dict[str, Any] | None:
    """The table [decoding] of a model that reads a source, by its config and what `generation_config.json` says.

    Their `max_length` counts the tokens before and after an output too, their `min_length` the one before it. Without a
    word about the search it is greedy if it is `always` said there, else not set.
    """
    both = {**told, **said}
    for problem in [*_others(both), *_unknown(said)]:
        raise RegardError(problem)
    never = {both.get("pad_token_id"), both.get("decoder_start_token_id")}
    others = [words for words in both.get("bad_words_ids") or () if len(words) != 1 or words[0] not in never]
    if others:
        raise RegardError(f"bad_words_ids has {others[0]}, but searches here can leave out <pad> alone")
    start, other = told.get("decoder_start_token_id", told.get("pad_token_id")), said.get("decoder_start_token_id")
    if other not in (None, start):
        raise RegardError(f"decoder_start_token_id is {other!r}, but config.json says {start!r}")
    if not always and all(both.get(name) is None for name in _READ):
        return None
    around = 1 + (both.get("forced_eos_token_id") is not None)
    how: dict[str, Any] = {}
    if both.get("max_new_tokens") is not None:
        how["max_length"] = max(1, _whole(both, "max_new_tokens") - around + 1)
    elif both.get("max_length") is not None:
        how["max_length"] = max(1, _whole(both, "max_length") - around)
    least = max(_whole(both, "min_length") - 1, _whole(both, "min_new_tokens"))
    return _table(both, how, least)


def search_of_texts(told: Mapping[str, Any], said: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """The table [decoding] of a language model, and notes on what is not read; None where nothing is said."""
    both = {**told, **said}
    notes = [*_others(both), *_unknown(said)]
    if both.get("bad_words_ids"):
        notes.append("bad_words_ids are given, which searches here do not have")
    counted = [name for name in ("max_length", "min_length") if both.get(name) and both[name] != _USUAL_LENGTH]
    if both.get("max_new_tokens") is None:
        notes += [f"{name} counts the prompt there, so it is not read; --max-length does not" for name in counted]
    asked = set(_READ) - {"max_length", "min_length", "early_stopping", "length_penalty"}
    if all(both.get(name) is None for name in asked):
        return None, notes
    longest = _LONGEST_TEXT if both.get("max_new_tokens") is None else _whole(both, "max_new_tokens")
    return _table(both, {"max_length": longest}, _whole(both, "min_new_tokens")), notes


def _table(both: Mapping[str, Any], how: dict[str, Any], least: int) -> dict[str, Any]:
    if least > 0:
        how["min_length"] = least
    if repeated := _whole(both, "no_repeat_ngram_size"):
        how["no_repeat_ngram"] = repeated
    beams, drawn = _whole(both, "num_beams") or 1, both.get("do_sample") or False
    if drawn not in (True, False):
        raise RegardError(f"do_sample is {drawn!r}, but must be true or false")
    if drawn and beams > 1:
        raise RegardError(f"do_sample with num_beams {beams} draws beams, which searches here do not; set one of them")
    if drawn:
        return {"name": "sample", **how, **_drawn(both)}
    if beams == 1:
        return {"name": "greedy", **how}
    patience = 1.0 if both.get("early_stopping") is True else None
    penalty = _number(both, "length_penalty", 1.0)
    return {"name": "beam", "size": beams, "patience": patience, **how, "length_penalty": penalty}


def _drawn(both: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "temperature": _number(both, "temperature", _SAMPLED["temperature"]),
        "top_k": _whole(both, "top_k") if both.get("top_k") is not None else _SAMPLED["top_k"],
        "top_p": _number(both, "top_p", _SAMPLED["top_p"]),
    }


def _others(both: Mapping[str, Any]) -> list[str]:
    """A sentence for each setting that searches here do not have."""
    found = []
    for name, known in _CHECKED.items():
        value = both.get(name)
        if value is not None and value not in known:
            usual = f"{known[0]!r}, or leave it out" if known else "null"
            found.append(f"{name} is {value!r}, which searches here do not have; set it to {usual}")
    return found


def _unknown(said: Mapping[str, Any]) -> list[str]:
    return [f"the setting '{name}' is not known here" for name in said if name not in SEARCH_SETTINGS]


def _whole(both: Mapping[str, Any], name: str) -> int:
    return int(_read(both, name, 0, int))


def _number(both: Mapping[str, Any], name: str, usual: float) -> float:
    return float(_read(both, name, usual, float))


def _read(both: Mapping[str, Any], name: str, usual: float, kind: Callable[[Any], float]) -> float:
    value = usual if both.get(name) is None else both[name]
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or not abs(value) <= float_info.max or kind(value) != value:
        raise RegardError(f"{name} is {value!r}, which is no {'whole ' if kind is int else ''}number")
    return value

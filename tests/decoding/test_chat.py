"""Chat templates against what transformers makes of them, and templates that misbehave."""

import json
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from regard.base.errors import RegardError, UsageError
from regard.decoding.chat import ChatTemplate, chat_of, stops_of
from regard.runs.artifact import Artifact
from tests.interop import hf_folders as folders

MARKED = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
BRACKETED = (
    "{{ bos_token }}{% for message in messages %}\n"
    "  {% if message['role'] == 'system' %}<<SYS>>{{ message['content'] | trim }}<</SYS>>{% endif %}\n"
    "  {% if message['role'] == 'user' %}[INST] {{ message['content'] }} [/INST]{% endif %}\n"
    "{% endfor %}"
)
MESSAGES = [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Why? {{ 1 + 1 }}"}]


@pytest.mark.parametrize("text", [MARKED, BRACKETED])
def test_prompts_are_those_of_transformers(text: str) -> None:
    theirs: PreTrainedTokenizerFast = folders.tokenizer(folders.ANGLES)
    expected = theirs.apply_chat_template(MESSAGES, chat_template=text, tokenize=False, add_generation_prompt=True)
    assert isinstance(expected, str)
    assert ChatTemplate(text, {"bos_token": "<s>", "eos_token": "</s>"}).prompt(MESSAGES) == expected.removeprefix(
        "<s>"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{ raise_exception('roles must alternate') }}", "chat template: roles must alternate"),
        ("{% for %}", "chat template: "),
        ("{{ messages[0].content.__class__.__mro__ }}", "chat template: access to attribute"),
        ("{{ messages.append(1) }}", "chat template: "),
        ("{{ messages[9]['content'] }}", "chat template: "),
        ("{{ 1 / 0 }}", "chat template: division by zero"),
    ],
)
def test_a_template_that_misbehaves_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RegardError) as caught:
        ChatTemplate(text, {}).prompt(MESSAGES)
    assert str(caught.value).startswith(sentence)


def test_ends_between_turns_are_refused() -> None:
    with pytest.raises(UsageError, match="it puts </s> between turns"):
        ChatTemplate("a</s>b", {"eos_token": "</s>"}).prompt(MESSAGES)


def artifact(files: dict[str, str], config: dict[str, Any]) -> Artifact:
    told = {"files": files, "config": config, "order": [None, None, 7, 8, 0, 1, 2, 3]}
    return Artifact(config={}, task="language", sizes={}, extras={"huggingface": told})


def test_templates_are_found_where_tokenizers_keep_them() -> None:
    config = json.dumps({"chat_template": MARKED, "bos_token": {"content": "<s>"}})
    found = chat_of(artifact({"tokenizer_config.json": config}, {}))
    assert found == ChatTemplate(MARKED, {"bos_token": "<s>"})
    own = chat_of(artifact({"tokenizer_config.json": config, "chat_template.jinja": BRACKETED}, {}))
    assert own is not None
    assert own.text == BRACKETED
    several = json.dumps({"chat_template": [{"name": "tools", "template": "x"}, {"name": "default", "template": "y"}]})
    named = chat_of(artifact({"tokenizer_config.json": several}, {}))
    assert named is not None
    assert named.text == "y"
    assert chat_of(artifact({"tokenizer_config.json": "no json"}, {})) is None
    assert chat_of(Artifact(config={}, task="language", sizes={})) is None


def test_all_ends_of_the_configs_stop_a_text() -> None:
    files = {"generation_config.json": json.dumps({"eos_token_id": [2, 8]})}
    assert stops_of(artifact(files, {"eos_token_id": 0})) == (4, 6)
    assert stops_of(artifact({}, {"eos_token_id": None})) == ()

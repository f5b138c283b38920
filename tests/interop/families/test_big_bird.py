"""The names of tensors and settings; tests/interop/test_huggingface.py compares the numbers of whole folders."""

from typing import Any

import pytest

from regard.interop.family import FAMILIES
from regard.models.model import MODELS


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    family = FAMILIES.make("big_bird")
    for task in dict.fromkeys(family.tasks.values()):
        sizes = {"text": 20} | {"classify": {"classes": 3}, "tag": {"tags": 3}, "embed": {"vector": 1}}.get(task, {})
        design = MODELS.make({"name": family.design, "layers": 2, "width": 8, "heads": 2, **UNTIED})
        model = design.build(sizes)
        table = {"layers": 2, "segments": getattr(design, "segments", None), "tie": "none"}
        ours = [entry.ours for entry in family.entries(table, task, {"pad_token_id": 0})]
        assert len(set(ours)) == len(ours)
        assert set(ours) == set(model.state_dict())


UNTIED = {"tie": "none"}


@pytest.mark.parametrize(
    ("config", "longest"),
    [
        ({}, 704),
        ({"block_size": 16, "num_random_blocks": 2}, 144),
        ({"attention_type": "original_full"}, 4096),
        ({"max_position_embeddings": 300}, 300),
    ],
)
def test_sparse_attention_is_read_as_far_as_it_is_full(config: dict[str, Any], longest: int) -> None:
    family = FAMILIES.make("big_bird")
    told = {"max_position_embeddings": 4096, "hidden_act": "gelu_new", **config}
    assert family.settings(told)["positions"] == f"learned({longest})"

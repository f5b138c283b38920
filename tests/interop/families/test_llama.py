"""The names of tensors and settings; tests/interop/test_huggingface.py compares the numbers of whole folders."""

from regard.interop.family import FAMILIES
from regard.models.model import MODELS


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    family = FAMILIES.make("llama")
    for task in dict.fromkeys(family.tasks.values()):
        sizes = {"text": 20} | {"classify": {"classes": 3}, "tag": {"tags": 3}}.get(task, {})
        design = MODELS.make({"name": family.design, "layers": 2, "width": 8, "heads": 2, **MORE})
        model = design.build(sizes)
        table = {"layers": 2, "width": 8, "heads": 2, "key_heads": None, "tie": "none"}
        ours = [entry.ours for entry in family.entries(table, task, {"pad_token_id": 1})]
        assert len(set(ours)) == len(ours)
        assert set(ours) == set(model.state_dict())


def test_it_learns_further_without_dropout_as_there() -> None:
    family = FAMILIES.make("llama")
    design = MODELS.make(family.model({**family.defaults}, "here"))
    assert (design.dropout, design.attention_dropout) == (0.0, 0.0)


MORE = {"tie": "none", "norm": "rms", "positions": "rotary", "feed": "gated", "linear_bias": "none"}

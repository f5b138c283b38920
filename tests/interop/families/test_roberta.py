"""The names of tensors and settings; tests/interop/test_huggingface.py compares the numbers of whole folders."""

import pytest

from regard.base.errors import RegardError
from regard.interop.family import FAMILIES
from regard.models.model import MODELS


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    family = FAMILIES.make("roberta")
    for task in dict.fromkeys(family.tasks.values()):
        sizes = {"text": 20} | {"classify": {"classes": 3}, "tag": {"tags": 3}, "embed": {"vector": 1}}.get(task, {})
        design = MODELS.make({"name": family.design, "layers": 2, "width": 8, "heads": 2, **UNTIED})
        model = design.build(sizes)
        table = {"layers": 2, "segments": getattr(design, "segments", None), "tie": "none"}
        ours = [entry.ours for entry in family.entries(table, task, {"pad_token_id": 1})]
        assert len(set(ours)) == len(ours)
        assert set(ours) == set(model.state_dict())


def test_another_activation_than_that_of_the_masked_token_head_is_refused() -> None:
    family = FAMILIES.make("roberta")
    config = {**family.defaults, "hidden_act": "relu"}
    assert family.model(config | {"architectures": ["RobertaForTokenClassification"]}, "here")["activation"] == "relu"
    with pytest.raises(RegardError, match="here: hidden_act is 'relu', but the masked-token head of RoBERTa has"):
        family.model(config | {"architectures": ["RobertaForMaskedLM"]}, "here")


UNTIED = {"tie": "none"} | ({"segments": None} if "roberta" == "distilbert" else {})

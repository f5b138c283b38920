"""The names of tensors and settings; tests/interop/test_huggingface.py compares the numbers of whole folders."""

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


UNTIED = {"tie": "none"} | ({"segments": None} if "roberta" == "distilbert" else {})

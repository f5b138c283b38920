"""The names of tensors; tests/interop/test_picture_folder.py compares the numbers of whole folders."""

from regard.base.config import to_dict
from regard.interop.family import FAMILIES
from regard.models.swin import Swin


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    design = Swin(width=8, stage_layers=(2, 1), stage_heads=(2, 2))
    model = design.build({"channels": 1, "height": 16, "width": 16, "classes": 3})
    ours = [entry.ours for entry in FAMILIES.make("swin").entries(to_dict(design), "pictures", {})]
    assert len(set(ours)) == len(ours)
    assert set(ours) == set(model.state_dict())

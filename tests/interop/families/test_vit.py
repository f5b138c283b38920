"""The names of tensors; tests/interop/test_picture_folder.py compares the numbers of whole folders."""

from regard.base.config import to_dict
from regard.interop.family import FAMILIES
from regard.models.vit import Vit


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    design = Vit(layers=2, width=8, heads=2)
    model = design.build({"channels": 1, "height": 16, "width": 16, "classes": 3})
    ours = [entry.ours for entry in FAMILIES.make("vit").entries(to_dict(design), "pictures", {})]
    assert len(set(ours)) == len(ours)
    assert set(ours) == set(model.state_dict())

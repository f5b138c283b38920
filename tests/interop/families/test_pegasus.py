"""The names of tensors; tests/interop/families/test_marian.py compares the numbers of whole folders."""

import torch

from regard.interop.family import FAMILIES
from regard.models.transformer import Transformer


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    family = FAMILIES.make("pegasus")
    design = Transformer(encoder_layers=2, decoder_layers=1, width=8, heads=2, output_bias="fixed")
    table = {"encoder_layers": 2, "decoder_layers": 1, "tie": "all", "norm_place": "before", "output_bias": "fixed"}
    ours = [entry.ours for entry in family.entries(table, "translate", {})]
    with torch.device("meta"):
        names = set(design.build({"source": 9, "target": 9}).state_dict())
    assert len(set(ours)) == len(ours)
    assert set(ours) == names - {"source.table.weight", "output.weight"}  # which are tied


def test_layers_that_are_normalized_after_are_refused() -> None:
    family = FAMILIES.make("pegasus")
    assert family.checked["normalize_before"] is True
    assert family.place == "before"

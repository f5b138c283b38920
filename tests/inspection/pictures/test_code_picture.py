import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.decoding.code_model import CodeModel
from regard.inspection.pictures.code_picture import code_picture
from regard.models.autoencoder import Autoencoder
from regard.models.vae import Vae

INPUTS = np.random.default_rng(1).random((3, 6)).astype(np.float32)


def test_rows_are_inputs_reconstructions_samples_and_walks() -> None:
    torch.manual_seed(1)
    figure = code_picture(CodeModel(Vae(code=4, width=8).build({"numbers": 6}), (2, 3)), INPUTS, traversed=2)
    names = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert names[:4] == ["input", "made again", "made up", "between"]
    assert len(names) == 6
    assert names[4].startswith("code ")
    plain = code_picture(CodeModel(Autoencoder(code=1, width=8).build({"numbers": 6}), (2, 3)), INPUTS)
    assert [axes.get_ylabel() for axes in plain.axes if axes.get_ylabel()] == [
        "input",
        "made again",
        "between",
        "code 0",
    ]


def test_only_pictures_are_drawn() -> None:
    model = CodeModel(Autoencoder(code=1, width=8).build({"numbers": 6}), (6,))
    with pytest.raises(UsageError, match=r"inputs must be pictures \[height, width\], but have the shape \[6\]"):
        code_picture(model, INPUTS)

"""Wrong shapes and wrong types do not pass unseen while tests run."""

import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from regard.base.errors import unknown
from regard.layers.residual import Residual
from regard.layers.weight_norm import NormedConvolution

from .checking import checked


@checked
def joined(one: Float[Tensor, "rows left"], other: Float[Tensor, "rows right"]) -> Float[Tensor, "left right"]:
    return one.mT @ other if one.shape[1] > 1 else one


def test_a_letter_is_one_number_in_a_call() -> None:
    assert joined(torch.zeros(2, 3), torch.zeros(2, 4)).shape == (3, 4)
    assert joined(torch.zeros(5, 3), torch.zeros(5, 4)).shape == (3, 4)
    with pytest.raises(TypeCheckError, match="parameter other"):
        joined(torch.zeros(2, 3), torch.zeros(3, 4))
    with pytest.raises(TypeCheckError, match="return"):
        joined(torch.zeros(2, 1), torch.zeros(2, 4))


def test_every_function_of_the_package_is_checked() -> None:
    layer = NormedConvolution(4, 6, kernel=3)
    with pytest.raises(TypeCheckError, match="parameter x"):
        layer(torch.zeros(7, 4))
    with pytest.raises(TypeCheckError, match="parameter where"):
        unknown(3, "name", ["names"], "kind")  # type: ignore[arg-type]
    with pytest.raises(TypeCheckError, match="parameter scale"):
        Residual(scale="wide")  # type: ignore[arg-type]


def test_users_have_no_checks(unchecked: None) -> None:
    assert joined(torch.zeros(2, 1), torch.zeros(2, 4)).shape == (2, 1)

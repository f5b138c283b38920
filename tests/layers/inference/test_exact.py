import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from regard.layers.inference.exact import stranger

KNOWN = {nn.Sequential, nn.Linear, nn.ReLU}


class Doubled(nn.Linear):
    """A subclass that computes something else."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2))).eval()


def test_a_model_of_known_types_has_no_stranger() -> None:
    assert stranger(model(), KNOWN) is None
    assert stranger(model(), KNOWN - {nn.Sequential}) == "the model is of the type Sequential"


def test_a_replaced_and_a_subclassed_layer_are_named() -> None:
    one = model()
    one[1][1] = nn.LayerNorm(2).eval()
    assert stranger(one, KNOWN) == "1.1 is of the type LayerNorm"
    one[1][1] = Doubled(2, 2).eval()
    assert stranger(one, KNOWN) == "1.1 is of the type Doubled"


def test_hooks_are_found() -> None:
    one = model()
    handle = one[0].register_forward_hook(lambda *_: None)
    assert stranger(one, KNOWN) == "0 has a forward hook"
    handle.remove()
    assert stranger(one, KNOWN) is None
    one[1].register_forward_pre_hook(lambda *_: None)
    assert stranger(one, KNOWN) == "1 has a forward hook"


def test_a_parametrization_is_found() -> None:
    one = model()
    weight_norm(one[0])
    assert stranger(one.eval(), KNOWN) == "0 is of the type ParametrizedLinear"


def test_a_function_in_place_of_forward_is_found() -> None:
    one = model()
    one[0].forward = torch.zeros_like
    assert stranger(one, KNOWN) == "0 has a forward function of its own"

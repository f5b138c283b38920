import pytest
import torch

from regard.attention.mask import MASKS, And, Mask, Not, Or
from regard.attention.masks.causal import Causal
from regard.attention.masks.global_tokens import GlobalTokens
from regard.attention.masks.padding import Padding
from regard.attention.masks.window import Window
from regard.base.errors import ConfigError, UsageError

AT = torch.arange(6)


def test_composed_masks_are_values() -> None:
    assert Causal() & Window(3) == And(Causal(), Window(3))
    assert Causal() & Window(3) != Causal() & Window(4)
    assert ~Causal() | Window(2) == Or(Not(Causal()), Window(2))
    assert hash(Causal() & Window(3)) == hash(Causal() & Window(3))


def test_and_binds_tighter_than_or_as_in_a_config() -> None:
    made = MASKS.make("causal & window(3) | global_tokens(1)")
    assert made == (Causal() & Window(3)) | GlobalTokens(1)
    expected = [[(j <= i and -2 <= i - j < 3) or i < 1 or j < 1 for j in range(6)] for i in range(6)]
    assert made(AT, AT).tolist() == expected


def test_not_is_what_the_other_forbids() -> None:
    assert MASKS.make("~causal") == ~Causal()
    assert (~Causal())(AT, AT).tolist() == [[j > i for j in range(6)] for i in range(6)]


def test_conjuncts_are_what_must_all_say_yes() -> None:
    padding = Padding(torch.tensor([3]))
    either = Causal() | Window(2)
    assert (Causal() & padding & either).conjuncts() == (Causal(), padding, either)
    assert (~(Causal() & padding)).conjuncts() == (~(Causal() & padding),)


def test_keys_only_holds_if_all_parts_hide_whole_keys() -> None:
    padding = Padding(torch.tensor([3]))
    assert (padding & padding).keys_only
    assert (padding | ~padding).keys_only
    assert not (padding & Causal()).keys_only
    assert not (Causal() | padding).keys_only
    assert not (Causal() & Causal()).causal


def test_masks_compose_with_masks_alone(unchecked: None) -> None:
    with pytest.raises(TypeError):
        _ = Causal() & torch.ones(2, 2, dtype=torch.bool).numpy().tolist()
    with pytest.raises(TypeError):
        _ = Causal() | 3


def test_a_mask_without_a_formula_says_so() -> None:
    with pytest.raises(UsageError, match="Mask has weights"):
        Mask()(AT, AT)


def test_unknown_masks_are_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as error:
        MASKS.make("causal & windw(3)", "model.attention.mask")
    assert str(error.value).startswith("model.attention.mask: unknown 'windw' (did you mean 'window'?); masks are: ")
    assert "causal" in str(error.value)


@pytest.mark.parametrize(
    "text", ["causal", "window(3)", "(causal & window(3, ahead=1)) | ~(global_tokens(2) | tiles((2, 3), columns=6))"]
)
def test_masks_are_spelled_as_a_config_has_them(text: str) -> None:
    mask = MASKS.make(text)
    assert MASKS.make(mask.spelled()) == mask
    assert (Causal() & Window(3)).spelled() == "(causal & window(size=3))"


def test_a_mask_with_tensors_is_not_spelled() -> None:
    with pytest.raises(ConfigError, match="mask: padding holds a tensor, so it comes with the batch"):
        (Causal() & Padding(torch.tensor([3]))).spelled()

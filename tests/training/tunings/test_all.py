import pytest

from regard.base.errors import ConfigError
from regard.training.tunings.all import All
from tests.training.test_tuning import encoder


def test_lower_layers_learn_more_slowly() -> None:
    model = encoder(norm_place="before")
    rates = All(0.5).rates(model, ())
    found = {name: rates.get(weight, 1.0) for name, weight in model.named_parameters()}
    for name, rate in found.items():
        expected = (
            1.0 if name.startswith("head.")
            else 0.25 if name.startswith("encoder.layers.0.")
            else 0.5 if name.startswith(("encoder.layers.1.", "encoder.norm."))
            else 0.125
        )  # fmt: skip
        assert rate == expected, name
    assert All().rates(model, ()) == {}


@pytest.mark.parametrize("decay", [0.0, 1.5, float("nan")])
def test_the_decay_is_a_share(decay: float) -> None:
    with pytest.raises(ConfigError, match="decay must be more than 0 and at most 1"):
        All(decay)

import pytest

from regard.base.config import from_dict, to_dict
from regard.base.errors import ConfigError
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon
from regard.training.schedules.cosine import Cosine
from regard.training.schedules.inverse_square_root import InverseSquareRoot
from regard.training.settings import TrainingSettings


def test_settings_are_written_and_read() -> None:
    settings = TrainingSettings(steps=None, epochs=3, schedule="cosine(steps=9)")
    assert settings.schedule == Cosine(steps=9)
    assert from_dict(to_dict(settings), TrainingSettings) == settings
    assert TrainingSettings().schedule == InverseSquareRoot()


def test_one_number_of_steps_is_enough() -> None:
    once = from_dict({"steps": 20, "schedule": {"name": "cosine", "warmup": 4}}, TrainingSettings)
    twice = from_dict({"steps": 20, "schedule": {"name": "cosine", "warmup": 4, "steps": 20}}, TrainingSettings)
    assert once.schedule == Cosine(warmup=4)
    assert [once.rate(step, []) for step in range(1, 30)] == [twice.rate(step, []) for step in range(1, 30)]
    assert once.rate(4, []) == once.optimizer.learning_rate
    assert from_dict(to_dict(once), TrainingSettings) == once
    assert once.remarks() == twice.remarks() == []


def test_a_number_of_its_own_is_followed_and_remarked_on() -> None:
    settings = TrainingSettings(steps=50, schedule="cosine(steps=20)")
    assert settings.rate(20, []) == settings.rate(50, []) == 0
    assert settings.remarks() == [
        "the learning rate is 0 from step 20 on, as training.schedule.steps says; "
        "without that setting it falls over all 50 steps of the training"
    ]


def test_without_any_number_of_steps_a_cosine_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"cosine: must know how many steps .*; set training\.steps or"):
        TrainingSettings(steps=None, epochs=3, schedule="cosine")


def test_a_table_chooses_parts() -> None:
    table = {"optimizer": {"learning_rate": 0.1}, "schedule": {"name": "cosine", "steps": 5}}
    settings = from_dict(table, TrainingSettings, "training")
    assert settings.optimizer == Adam(learning_rate=0.1)
    assert settings.schedule == Cosine(5)


def test_an_optimizer_without_a_name_is_adam_and_is_written_as_it_was() -> None:
    assert to_dict(TrainingSettings())["optimizer"].keys() == {
        "learning_rate",
        "betas",
        "epsilon",
        "weight_decay",
        "l2",
    }
    table = {"name": "muon", "learning_rate": 0.1, "momentum": 0.9}
    settings = from_dict({"optimizer": table}, TrainingSettings)
    assert settings.optimizer == Muon(learning_rate=0.1, momentum=0.9)
    assert to_dict(settings)["optimizer"].items() >= table.items()
    with pytest.raises(ConfigError, match=r"optimizer\.name: unknown 'sgd'; optimizers are: adam, muon"):
        from_dict({"optimizer": {"name": "sgd"}}, TrainingSettings)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"steps": None}, "set at least one of steps, epochs and patience"),
        ({"steps": 0}, "steps must be at least 1, but is 0"),
        ({"average": 0}, "average must be at least 1"),
        ({"clip": 0.0}, "clip must be more than 0"),
        ({"precision": "float16"}, r"training\.precision: unknown 'float16'"),
        ({"average_of": "first"}, r"training\.average_of: unknown 'first'"),
        ({"schedule": "linear"}, "unknown 'linear'"),
        ({"schedule": "none"}, r"schedule: must be one of constant, cosine, .*, but is none"),
        ({"optimizer": None}, r"optimizer: must be one of adam, muon, but is none"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_settings_out_of_range_are_named(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        from_dict(wrong, TrainingSettings, "training")

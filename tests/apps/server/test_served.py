import pytest

from regard.apps.server.served import ServedModels, model_name, serve_as
from regard.base.errors import UsageError
from tests.apps.server.small_models import small_models


def test_models_are_found_by_name_and_a_lone_one_without() -> None:
    models = small_models()
    assert models.named("hull").task == "points"
    with pytest.raises(UsageError, match="model: say which; these are: moods, parts"):
        models.named(None)
    with pytest.raises(UsageError, match=r"unknown 'hul' \(did you mean 'hull'\?\)"):
        models.named("hul")
    assert ServedModels([models.named("hull")]).named(None).name == "hull"
    assert not ServedModels()


def test_only_models_that_read_texts_give_vectors() -> None:
    models = small_models()
    assert [one.name for one in models.reading_texts()] == ["moods", "parts", "masks", "vectors"]
    assert models.named("vectors").vectors(["the cat"]).shape == (1, 16)
    with pytest.raises(UsageError, match="hull: gives no vectors of texts"):
        models.named("hull").vectors(["the cat"])


def test_what_cannot_be_served_is_refused() -> None:
    with pytest.raises(UsageError, match="runs/x: a dict, which is not served; translators, language models"):
        serve_as("x", {}, "runs/x")
    assert model_name("runs/en-de") == "en-de"
    assert model_name("moods.safetensors") == "moods"

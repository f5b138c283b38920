"""Every kind of model answers, tells what it looked at, and names the mistakes of what it is asked."""

import json

import numpy as np
import pytest
import torch

from regard.apps.server.served_kinds import SERVED_KINDS, as_text
from regard.base.errors import RegardError
from tests.apps.server.small_models import QUESTIONS, picture, small_models


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_is_the_models_own_and_ready_for_json(name: str) -> None:
    model = small_models().named(name)
    (answer,) = model.answers([QUESTIONS[name]])
    assert answer["text"]
    json.dumps([answer, model.about])
    looked = model.looked_at(QUESTIONS[name])
    json.dumps(looked)
    assert looked["answer"].keys() >= {"text"}


def test_every_kind_is_tried() -> None:
    assert {type(model) for model in small_models().all} == set(SERVED_KINDS.values())


@pytest.mark.parametrize("name", ["moods", "parts", "masks", "vectors", "novels"])
def test_the_weights_of_texts_are_those_of_their_tokens(name: str) -> None:
    seen = small_models().named(name).looked_at(QUESTIONS[name])["attention"]
    assert seen["tokens"][0]["text"] == "▸"
    (layer,) = seen["layers"]
    for head in layer["heads"]:
        weights = np.array(head["weights"])
        assert weights.shape == (len(seen["tokens"]),) * 2
        np.testing.assert_allclose(weights.sum(1), 1, atol=0.01)  # three decimals are sent
    if name == "novels":
        assert np.triu(np.array(layer["heads"][0]["weights"]), 1).max() == 0


def test_a_classifier_answers_as_it_does_without_a_server() -> None:
    model = small_models().named("moods")
    (answer,) = model.answers(["the cat sat"])
    (own,) = model.opened.classify([["the cat sat"]])
    assert answer["probabilities"] == own.probabilities


def test_lines_of_an_encoder_are_compared() -> None:
    found = small_models().named("vectors").looked_at("the cat\nthe dog\nthe cat")["answer"]
    cosines = np.array(found["cosines"])
    assert cosines.shape == (3, 3)
    np.testing.assert_allclose(cosines[0], cosines[2], atol=1e-5)
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-5)


def test_what_points_sets_and_nodes_looked_at() -> None:
    models = small_models()
    steps = np.array(models.named("hull").looked_at(QUESTIONS["hull"])["steps"])
    np.testing.assert_allclose(steps.sum(1), 1, atol=1e-3)
    heads = np.array(models.named("sums").looked_at(QUESTIONS["sums"])["heads"])
    np.testing.assert_allclose(heads.sum(1), 1, atol=1e-3)
    asked = json.loads(QUESTIONS["club"]) | {"node": 1}
    seen = models.named("club").looked_at(json.dumps(asked))
    assert (seen["node"], set(seen["neighbors"])) == ("1", {"0", "1", "2"})
    np.testing.assert_allclose(np.array(seen["heads"]).sum(1), 1, atol=1e-3)


def test_a_picture_is_seen_as_from_a_file(tmp_path: object) -> None:
    model = small_models().named("digits")
    (answer,) = model.answers([picture()])
    pixels = np.random.default_rng(1).integers(0, 256, (1, 1, 8, 8), dtype=np.uint8)
    with torch.no_grad():
        logits = model.opened.model.eval()(model.opened.shades.normalized(torch.from_numpy(pixels) / 255))
    assert list(answer["probabilities"].values()) == pytest.approx(logits[0].softmax(-1).tolist(), abs=1e-5)
    assert model.looked_at(picture())["seen"]["layers"]


@pytest.mark.parametrize(
    ("name", "asked", "complaint"),
    [
        ("masks", "no place", "has no <mask>"),
        ("hull", "{", "not a JSON object"),
        ("hull", '{"points": [[1]]}', "vector 0 has 1 numbers, but 2 are expected"),
        ("sums", '{"points": []}', "has no 'elements'"),
        ("club", '{"features": [], "edges": []}', "features must be a list or an object"),
        ("club", '{"features": [[1, 2]], "edges": []}', "vector 0 has 2 numbers, but 4 are expected"),
        ("club", '{"features": [[1, 0, 0, 0]], "edges": [[0, 5]]}', "an edge names '5', which has no features"),
        ("club", '{"features": [[1, 0, 0, 0]], "edges": [[0]]}', "an edge must be a pair of nodes"),
        ("digits", "/etc/passwd", "must be a PNG or JPEG file in base64"),
        ("digits", "aGVsbG8=", "not a picture that can be read"),
    ],
)
def test_mistakes_are_one_sentence(name: str, asked: str, complaint: str) -> None:
    with pytest.raises(RegardError, match=complaint):
        small_models().named(name).looked_at(asked)


def test_objects_become_text() -> None:
    assert as_text({"points": [[1, 2]]}) == '{"points":[[1,2]]}'
    assert as_text("so") == "so"

"""A small model of each served kind, untrained: what a server does does not depend on how good its answers are."""

import base64
import io
from functools import cache

import numpy as np
import torch
from PIL import Image

from regard.apps.server.served import ServedModels, serve_as
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.data.pointing import PointingRule
from regard.data.set_examples import Scale
from regard.data.set_goals import NumberGoal
from regard.decoding.classifier import Classifier
from regard.decoding.filler import Filler
from regard.decoding.generator import Generator
from regard.decoding.image_classifier import ImageClassifier
from regard.decoding.node_classifier import NodeClassifier
from regard.decoding.point_solver import Box, PointSolver
from regard.decoding.sentence_encoder import SentenceEncoder
from regard.decoding.set_predictor import SetPredictor
from regard.decoding.tagger import Tagger
from regard.models.gpt import Gpt
from regard.models.graph_network import GraphNetwork
from regard.models.pointer import Pointer
from regard.models.set_transformer import SetTransformer
from regard.models.vit import Vit
from regard.tasks.nodes import GraphSettings, Nodes
from tests.decoding.readers import reader, vocabulary

QUESTIONS = {
    "moods": "the cat sat",
    "parts": "the cat sat",
    "masks": "the <mask> sat",
    "vectors": "the cat sat",
    "novels": "the cat",
    "hull": '{"points": [[0, 0], [1, 0], [0.5, 0.4]]}',
    "sums": '{"elements": [[1], [2], [3]]}',
    "club": '{"features": [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]], "edges": [[0, 1], [1, 2]]}',
    "digits": "",
}


def picture(size: int = 8) -> str:
    """A small gray picture as a data URL."""
    pixels = np.random.default_rng(1).integers(0, 256, (size, size), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


QUESTIONS["digits"] = picture()


@cache
def small_models() -> ServedModels:
    """One of each."""
    torch.manual_seed(1)
    words = vocabulary()
    nodes = Nodes(data=GraphSettings(train=()))._graph
    graph = GraphNetwork(width=8, message="gat(heads=2)").build({"features": 4, "classes": 2})
    pointer = Pointer(width=8, heads=2, encoder_layers=1, decoder_layers=1).build({"coordinates": 2})
    scale = Scale((0.0,), (1.0,))
    sets = SetTransformer(width=8, heads=2, seeds=2).build({"elements": 1, "outputs": 1})
    vit = Vit(layers=1, width=8, heads=2).build({"channels": 1, "height": 8, "width": 8, "classes": 3})
    gpt = Gpt(layers=1, width=16, heads=2, positions="learned(32)").build({"text": len(words)})
    with torch.no_grad():
        for weight in gpt.parameters():
            weight += 0.3 * torch.randn_like(weight)
    opened = {
        "moods": Classifier(reader(classes=2), words, ["good", "bad"]),
        "parts": Tagger(reader(tags=3), words, ["O", "X", "Y"]),
        "masks": Filler(reader(), words),
        "vectors": SentenceEncoder(reader(vector=16), words, normalize=True),
        "novels": Generator(gpt, words),
        "hull": PointSolver(pointer, PointingRule("all_once"), Box((0.0, 0.0), 1.0)),
        "sums": SetPredictor(sets, NumberGoal(scale), scale),
        "club": NodeClassifier([graph], ("a", "b"), (), lambda file, path: nodes(file, ("a", "b"), path)),
        "digits": ImageClassifier(vit, ["0", "1", "2"], Shades((0.5,), (0.25,)), Shape(1, 8, 8)),
    }
    return ServedModels(serve_as(name, one, name) for name, one in opened.items())

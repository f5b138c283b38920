"""Small models that read texts, with a vocabulary."""

import torch

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import Subwords
from regard.models.bert import Bert
from regard.models.headed import Headed

LINES = ["the cat sat on the mat", "a dog ran over the hill", "the dog and the cat"]


def vocabulary() -> Subwords:
    return learn_subwords(LINES, SubwordSettings(kind="word", min_count=1)).with_mask()


def reader(**sizes: int) -> Headed:
    torch.manual_seed(3)
    model = Bert(layers=1, width=16, heads=2, positions="learned(16)").build({"text": len(vocabulary()), **sizes})
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return model

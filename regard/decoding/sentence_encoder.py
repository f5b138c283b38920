"""A sentence encoder: a vector for each text, so that texts of like meaning have like vectors.

Reimers and Gurevych, Sentence-BERT, 2019, https://arxiv.org/abs/1908.10084
"""

from typing import Any

from regard.data.subwords.tokenizer import Subwords
from regard.decoding.predictor import TextReader
from regard.models.headed import Headed


class SentenceEncoder(TextReader):
    """A model of sentence vectors, which have length 1 if it says so.

    >>> load("minilm.safetensors", expect=SentenceEncoder).embed(["A dog", "A man"]).shape[0]
    2
    """

    def __init__(self, model: Headed, subwords: Subwords, *, normalize: bool = False, **settings: Any) -> None:
        super().__init__(model, subwords, **settings)
        self.normalize = normalize

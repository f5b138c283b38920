import numpy as np

from regard.decoding.sentence_encoder import SentenceEncoder

from .readers import LINES, reader, vocabulary


def test_vectors_have_length_one_if_the_model_says_so() -> None:
    plain, unit = (SentenceEncoder(reader(vector=1), vocabulary(), normalize=one) for one in (False, True))
    np.testing.assert_allclose(np.linalg.norm(unit.embed(LINES), axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(unit.embed(LINES, normalize=False), plain.embed(LINES))
    assert plain.pooling == "first"

from regard.data.row_sources.handwritten import Handwritten


def test_all_digits_are_there() -> None:
    found = Handwritten().rows()
    assert found.inputs.shape == (1797, 64)
    assert set(found.labels.tolist()) == set(range(10))

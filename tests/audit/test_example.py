import pytest
import torch
from hypothesis import find, settings
from hypothesis.errors import NoSuchExample

from regard.audit.example import Example, examples_of


def test_the_mask_forbids_the_named_pairs() -> None:
    keep = Example(1, 2, 2, ((0, 1, 0),)).keep
    assert torch.equal(keep, torch.tensor([[[True, True], [False, True]]]))


def test_an_example_tells_what_it_is() -> None:
    assert (
        str(Example(1, 2, 2, ((0, 1, 0),), 7)) == "batch 1, 2 queries, 2 keys, seed 7, forbidden keys: query 1 of 0: 0"
    )
    assert Example(seed=3).to_dict()["seed"] == 3


def test_padding_stands_at_the_end_and_squares_are_square() -> None:
    def odd(example: Example) -> bool:
        rows = example.keep[:, 0].int()
        return example.queries != example.keys or bool((rows.diff(dim=-1) > 0).any()) or not example.keep[..., 0].all()

    few = settings(max_examples=50, database=None)
    with pytest.raises(NoSuchExample):
        find(examples_of("padding", square=True), odd, settings=few)
    with pytest.raises(NoSuchExample):
        find(examples_of("none", square=True), lambda example: bool(example.forbidden), settings=few)
    smallest = find(examples_of("pairs", square=False), lambda example: bool(example.forbidden), settings=few)
    assert (smallest.batch, smallest.queries, smallest.keys, smallest.forbidden) == (1, 1, 1, ((0, 0, 0),))

import torch

from regard.base.chance import DrawingAgain, drawing, draws_so_far, random_bytes, random_seed


def test_draws_depend_on_the_seed_alone() -> None:
    with drawing(1, 2):
        first, second = random_bytes(11), random_bytes(11)
    with drawing(1, 2):
        assert torch.equal(random_bytes(11), first)
    with drawing(1, 3):
        assert not torch.equal(random_bytes(11), first)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    outside = random_seed()
    torch.manual_seed(3)
    assert random_seed() == outside
    assert random_seed() != outside


def test_what_was_drawn_is_drawn_again_and_the_rest_is_not_disturbed() -> None:
    with drawing(4):
        random_bytes(5)
        state = draws_so_far()
        first, then = random_bytes(20), random_bytes(20)
        with DrawingAgain(state):
            assert torch.equal(random_bytes(20), first)
            assert torch.equal(random_bytes(20), then)
        after = random_bytes(20)
    with drawing(4):
        random_bytes(5)
        random_bytes(20)
        random_bytes(20)
        assert torch.equal(random_bytes(20), after)
    assert draws_so_far() is None
    with DrawingAgain(None):
        assert len(random_bytes(3)) == 3

import torch

from regard.data.framed import Frame, batch_of
from regard.decoding.classifier import Classifier

from .readers import LINES, reader, vocabulary


def test_outputs_do_not_depend_on_the_batch_and_training_mode_is_kept() -> None:
    model = reader(classes=2).train()
    made = Classifier(model, vocabulary(), ["a", "b"], batch_tokens=1)
    rows = made.frame.rows(made.subwords, [[line] for line in LINES])
    alone = made.outputs(rows)
    made.batch_tokens = 1000
    together = made.outputs(rows)
    assert model.training
    torch.testing.assert_close(torch.stack(alone), torch.stack(together))
    torch.testing.assert_close(alone[0], model.eval()(*batch_of(rows[:1]).parts)[0])


def test_a_frame_is_no_longer_than_the_positions() -> None:
    for longest, expected in ((None, 16), (100, 16), (10, 10)):
        made = Classifier(reader(classes=2), vocabulary(), ["a", "b"], frame=Frame(longest=longest))
        assert made.frame.longest == expected
    long = " ".join(["cat"] * 50)
    assert len(made.classify([[long]])) == 1

"""The convolutional network of texts: its formula by a plain loop, and that padding counts for nothing."""

import pytest
import torch

from regard.base.errors import ConfigError
from regard.models.text_cnn import TextCnn

SIZES = {"text": 30, "classes": 4}


def test_the_formula_by_a_plain_loop() -> None:
    torch.manual_seed(1)
    model = TextCnn(width=6, filters=5, kernels=(1, 2, 3)).build(SIZES).double().eval()
    tokens, lengths = torch.randint(4, 30, (2, 7)), torch.tensor([7, 5])
    tokens[1, 5:] = 0
    with torch.no_grad():
        found = model(tokens, lengths)
        x = model.source.table.weight[tokens]
        for row, length in enumerate(lengths.tolist()):
            answers = []
            for layer, kernel in zip(model.filters, (1, 2, 3), strict=True):
                best = torch.full((5,), -torch.inf, dtype=torch.double)
                for at in range(length):
                    answer = layer.bias.clone()
                    for step in range(kernel):
                        place = at + step - (kernel - 1) // 2
                        if 0 <= place < length:
                            answer += layer.weight[:, :, step] @ x[row, place]
                    best = best.maximum(answer.relu())
                answers.append(best)
            expected = model.head.outer(torch.cat(answers))
            torch.testing.assert_close(found[row], expected, rtol=1e-12, atol=1e-12)


def test_a_kernel_must_see_something() -> None:
    with pytest.raises(ConfigError, match="kernels must be sizes of 1 or more"):
        TextCnn(kernels=(3, 0))

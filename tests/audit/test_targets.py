from pathlib import Path

import pytest
import torch

from regard.audit.targets import target_of
from regard.base.errors import UsageError

MINE = "def attend(query, key, value, keep):\n    return value\n"


def test_functions_and_classes_are_imported() -> None:
    assert (
        target_of("torch.nn.functional:scaled_dot_product_attention")
        is torch.nn.functional.scaled_dot_product_attention
    )
    made = target_of("torch.nn:MultiheadAttention(8, 2, batch_first=True)")
    assert (made.embed_dim, made.batch_first) == (8, True)


def test_a_file_is_imported(tmp_path: Path) -> None:
    (tmp_path / "mine_under_audit.py").write_text(MINE)
    assert target_of(f"{tmp_path}/mine_under_audit.py:attend")(1, 2, 3, None) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nothing", "cannot read 'nothing'; write package.module:name"),
        ("torch.nn:MultiheadAttention", "is a class; write it with its arguments"),
        ("torch.nn:MultiheadAttention(8", "cannot read"),
        ("torch.nn:MultiheadAttention(open('x'))", "arguments are numbers, texts, True, False or None"),
        ("torch.nn:MultiheadAttention(8, 3)", "fails with"),
        ("torch.nn:Multihead", "torch.nn has no 'Multihead'"),
        ("no_such_module:attend", "importing no_such_module fails with ModuleNotFoundError"),
        ("no_such_file.py:attend", "no_such_file.py: no such file"),
    ],
)
def test_mistakes_are_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=r"audit|no such file") as caught:
        target_of(text)
    assert sentence in str(caught.value)


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no config\.json in it"):
        target_of(str(tmp_path))

"""Small folders of random models, as transformers writes them, and how their numbers are compared."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

WORDS = [f"word{at}" for at in range(23)]
TEXTS = ["word1 word2 word3", "word9", "word4 word5 word6 word7 word8 word2"]


def tokenizer(names: dict[str, str], first: int = 5) -> PreTrainedTokenizerFast:
    """A vocabulary of words; the special tokens, by their roles, stand in the middle of it."""
    pieces = [*WORDS[:first], *dict.fromkeys(names.values()), *WORDS[first:]]
    made = Tokenizer(
        models.WordLevel({piece: at for at, piece in enumerate(pieces)}, unk_token=names.get("unk_token", "word0"))
    )
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


BRACKETS = {
    "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]",
}  # fmt: skip
ANGLES = {
    "bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>",
}  # fmt: skip


def write(folder: Path, kind: str, config: Any, names: dict[str, str], seed: int = 1) -> Any:
    """A model with weights away from their start, and its tokenizer."""
    made = tokenizer(names)
    for role in ("pad", "bos", "eos"):
        setattr(config, f"{role}_token_id", getattr(made, f"{role}_token_id"))
    config.vocab_size = len(made) + 3  # rows that are no tokens
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return model


def close(got: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    """Equal, relative to the size of what is compared."""
    assert got.shape == expected.shape
    assert (got - expected).abs().max() <= tolerance * expected.abs().max(), (got - expected).abs().max()


def rows_of(lengths: list[int], words: list[int], seed: int = 3) -> tuple[Tensor, Tensor]:
    """Random ids out of those given, padded on the right with the first, and where they are no padding."""
    keep = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    drawn = torch.randint(1, len(words), keep.shape, generator=torch.Generator().manual_seed(seed))
    return torch.tensor(words)[drawn * keep], keep

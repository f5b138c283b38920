"""Small folders of random models, as transformers writes them, and how their numbers are compared."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from regard.interop.family import standing_for
from regard.interop.huggingface import export_huggingface, import_folder, read_folder
from regard.runs.artifact import Artifact

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
    if hasattr(config, "decoder_vocab_size"):
        config.decoder_vocab_size = config.vocab_size
    if config.is_encoder_decoder:
        config.decoder_start_token_id = made.pad_token_id
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:  # sinusoids stay
                weight += 0.2 * torch.randn_like(weight)
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return model


def logits_both_ways(
    folder: Path, theirs: Any, source_lengths: list[int], target_length: int, tolerance: float = 1e-5
) -> Artifact:
    """Check a folder of a model that reads and writes: its logits all at once and step by step, read and written back.

    Ids are drawn from the whole vocabulary, sources are padded on the right.
    """
    artifact = read_folder(folder)
    order = artifact.extras["huggingface"]["order"]
    new = standing_for(order)
    pad, start = theirs.config.pad_token_id, theirs.config.decoder_start_token_id
    words = [pad, *(at for at in range(theirs.config.vocab_size) if at != pad)]
    source, keep = rows_of(source_lengths, words)
    target, _ = rows_of([target_length] * len(source_lengths), words, seed=4)
    target[:, 0] = start
    asked = {"input_ids": source, "attention_mask": keep.long(), "decoder_input_ids": target}
    expected = theirs(**asked).logits
    ids = source.clone().apply_(lambda old: new[old]) * keep
    said = target.clone().apply_(lambda old: new[old])
    back = torch.tensor([new[old] for old in range(len(new))])
    model = artifact.model()
    with torch.no_grad():
        whole = model(ids, keep.sum(1), said)
        state = model.start(ids, keep.sum(1))
        for at in range(target_length):
            logits, state = model.step(said[:, at], state)
            close(logits[:, back], expected[:, at], tolerance)
    close(whole[..., back], expected, tolerance)
    close(whole.log_softmax(-1)[..., back], expected.log_softmax(-1), tolerance)  # other tokens count nothing
    import_folder(folder, folder / "model.regard.safetensors")
    export_huggingface(folder / "model.regard.safetensors", folder / "again")
    again = type(theirs).from_pretrained(folder / "again").eval()
    close(again(**asked).logits, expected, 1e-6)
    return artifact


def close(got: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    """Equal, relative to the size of what is compared."""
    assert got.shape == expected.shape
    assert (got - expected).abs().max() <= tolerance * expected.abs().max(), (got - expected).abs().max()


def rows_of(lengths: list[int], words: list[int], seed: int = 3) -> tuple[Tensor, Tensor]:
    """Random ids out of those given, padded on the right with the first, and where they are no padding."""
    keep = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    drawn = torch.randint(1, len(words), keep.shape, generator=torch.Generator().manual_seed(seed))
    return torch.tensor(words)[drawn * keep], keep


def changed(folder: Path, *, without: Iterable[str] = (), **settings: Any) -> None:
    """Change settings of a folder's config, or leave them out."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = {key: value for key, value in config.items() if key not in set(without)}
    (folder / "config.json").write_text(json.dumps(kept | settings), encoding="utf-8")

"""Our tokenizers as the files that transformers reads."""

import json

from tokenizers import Tokenizer, processors

from regard.data.subwords.tokenizer import BOS, EOS, MASK_NAMES, PAD, SPECIALS, UNK
from regard.runs.artifact import Artifact


def tokenizer_files(artifact: Artifact) -> dict[str, str]:
    """Our tokenizer as transformers reads it; where the target has one of its own, it is in the folder `target`."""
    side, *others = artifact.tokenizers
    side = "source" if others else side
    pieces = Tokenizer.from_str(artifact.tokenizers[side]).get_vocab(with_added_tokens=True)
    mask = next((name for name in MASK_NAMES if name in pieces), None)
    named = {"pad_token": PAD, "unk_token": UNK, "bos_token": BOS, "eos_token": EOS, "cls_token": BOS, "sep_token": EOS}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{key: SPECIALS[number] for key, number in named.items()},
        **({} if mask is None else {"mask_token": mask}),
    }
    files = {"tokenizer.json": _tokenizer(artifact, side), "tokenizer_config.json": json.dumps(config, indent=2)}
    if others and artifact.tokenizers["source"] != artifact.tokenizers["target"]:
        own = {"tokenizer.json": _tokenizer(artifact, "target")}
        files |= {f"target/{name}": text for name, text in ({**files, **own}).items()}
    return files


def _tokenizer(artifact: Artifact, side: str) -> str:
    """Our tokenizer with the rule that puts `<s>` and `</s>` around texts that an encoder reads, or `</s>` after."""
    made = Tokenizer.from_str(artifact.tokenizers[side])
    if artifact.task != "language":
        ends = [(SPECIALS[BOS], BOS), (SPECIALS[EOS], EOS)]
        single = f"{SPECIALS[BOS]} $A {SPECIALS[EOS]}" if side == "text" else f"$A {SPECIALS[EOS]}"
        made.post_processor = processors.TemplateProcessing(
            single=single, pair=f"{single} $B:1 {SPECIALS[EOS]}:1", special_tokens=ends
        )
    return str(made.to_str())

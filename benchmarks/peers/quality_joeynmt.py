"""Train Joey NMT by its own command in a folder with train.en, train.de, val.en and val.de."""

import io
import sys
from pathlib import Path
from typing import Any

import sentencepiece
from joey_model import settings
from joeynmt.training import train

PIECES = 8000


def config_of(work: Path) -> dict[str, Any]:
    """Its config for the texts in a folder, with subwords learned from them."""
    pieces = learn(work)
    config = settings(str(work / "joeynmt"), training())
    side: dict[str, Any] = {
        "level": "bpe",
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(work / "pieces.model")},
        "voc_file": str(pieces),
    }
    config["data"] = {
        "train": str(work / "train"),
        "dev": str(work / "val"),
        "dataset_type": "plain",
        "src": {"lang": "en", **side},
        "trg": {"lang": "de", **side},
    }
    config["testing"] = {"eval_metrics": ["bleu"], "sacrebleu_cfg": {"tokenize": "13a"}, "batch_size": 256}
    (work / "joeynmt").mkdir(exist_ok=True)
    return config


def training() -> dict[str, Any]:
    """The settings of the published Transformer-Tiny."""
    return {
        "optimizer": "adam",
        "adam_betas": [0.9, 0.98],
        "learning_rate": 0.005,
        "scheduling": "warmupinversesquareroot",
        "learning_rate_warmup": 2000,
        "label_smoothing": 0.1,
        "normalization": "tokens",
        "clip_grad_norm": 1.0,
        "batch_size": 4096,
        "batch_type": "token",
        "epochs": 1000,
        "validation_freq": 150,
        "logging_freq": 50,
        "early_stopping_metric": "bleu",
        "keep_best_ckpts": 1,
    }


def learn(work: Path) -> Path:
    """A sentencepiece model of both sides, and the list of its pieces; one that is there is taken."""
    pieces = work / "pieces.txt"
    if pieces.exists():
        return pieces
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=io.StringIO(
            "".join((work / f"train.{side}").read_text(encoding="utf-8") for side in ("en", "de"))
        ),
        model_prefix=str(work / "pieces"),
        vocab_size=PIECES,
        model_type="bpe",
        character_coverage=1.0,
        pad_id=1,
        unk_id=0,
        bos_id=2,
        eos_id=3,
    )
    lines = (work / "pieces.vocab").read_text(encoding="utf-8").splitlines()
    pieces.write_text("".join(line.split("\t")[0] + "\n" for line in lines), encoding="utf-8")
    return pieces


if __name__ == "__main__":
    train(rank=0, world_size=0, cfg=config_of(Path(sys.argv[1])), skip_test=True)

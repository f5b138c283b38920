"""Pictures find their captions; and what is wrong with the data is said in one sentence."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.apps.cli import main
from regard.base.errors import ConfigError, RegardError
from regard.data.captioned import CaptionBatch
from regard.decoding.picture_texts import PictureTexts
from regard.tasks.captions import Captions
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.progress import Progress

SPRITES = {"name": "sprites", "side": 24, "sizes": 1, "angles": 2, "places": 2}


def tables(**changes: Any) -> dict[str, Any]:
    return {
        "task": "captions",
        "data": {"source": SPRITES, "batch": 8},
        "model": {
            "name": "clip", "layers": 1, "text_layers": 1, "width": 32, "heads": 2, "patch": 8, "vector": 8,
            "dropout": 0.0, "cross_layers": 1, "pooling": "mean",
        },
        "training": {"steps": 3, "validate_every": 3, "optimizer": {"learning_rate": 0.005}, "schedule": "constant"},
        **changes,
    }  # fmt: skip


def test_the_loss_counts_no_pair_with_the_same_caption(tmp_path: Path) -> None:
    run = run_of(tables(), "run")
    prepared: Any = run.task.prepare(tmp_path, tmp_path)
    torch.manual_seed(1)
    model: Any = run.model.build(prepared.sizes).double()
    _, item = next(prepared.train.walk())
    rows = torch.tensor([0, 1, 2, 0])
    item = CaptionBatch(item.pictures[[0, 1, 2, 3]].double(), item.texts.pick(rows))
    found = run.task.loss(model, item)
    seen, read = model.pictures.encode(item.pictures), model.texts.encode(*item.texts.parts)
    logits = model(item.pictures, *item.texts.parts).detach()
    expected = 0.0
    captions = [tuple(row) for row in item.texts.tokens.tolist()]
    for table in (logits, logits.T):
        for at in range(4):
            others = [other for other in range(4) if other == at or captions[other] != captions[at]]
            expected += 0.5 * -math.log(math.exp(table[at, at]) / sum(math.exp(table[at, other]) for other in others))
    matching = 0.0
    for at in range(4):
        wrong = [other for other in range(4) if captions[other] != captions[at]]
        text = max(wrong, key=lambda other: float(logits[at, other]))
        picture = max(wrong, key=lambda other: float(logits[other, at]))
        for shown, told, true in ((at, at, True), (at, text, False), (picture, at, False)):
            logit = float(model.matched(seen[0][[shown]], read[0][[told]], read[1][[told]]).detach())
            matching += math.log1p(math.exp(-logit if true else logit)) / 3
    assert float(found.parts["matching"]) == pytest.approx(matching, rel=1e-9)
    assert float(found.total) == pytest.approx(expected + matching, rel=1e-9)


def test_captions_are_found_after_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    table = tables()
    table["model"] |= {"cross_layers": "none"}
    table["training"] |= {"steps": 200, "validate_every": 200, "schedule": {"name": "cosine", "warmup": 20}}
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    opened = regard.load(tmp_path / "run", expect=PictureTexts)
    source = run_of(table, "run").task.data.source
    pictures = source.rows().inputs.reshape(-1, 24, 24)
    texts = sorted(set(source.captions()))
    found = opened.captions(pictures, texts)
    assert np.mean([one == other for one, other in zip(found, source.captions(), strict=True)]) > 0.6  # of 12 captions
    np.savez(tmp_path / "pairs.npz", pictures=pictures, captions=np.array(source.captions()))
    scores = Captions.evaluate(opened, [tmp_path / "pairs.npz"], Evaluation())
    assert [score.name for score in scores] == ["captions found", "pictures found"] and scores[0].value > 60
    np.testing.assert_allclose(np.linalg.norm(opened.embed(texts), axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(opened.embed(pictures[:3]), axis=1), 1, rtol=1e-5)
    image = pytest.importorskip("PIL.Image")
    image.fromarray((255 * pictures[5]).astype(np.uint8)).save(tmp_path / "one.png")
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["nearest", "run", "texts.txt", "one.png"]) == 0
    assert found[5] in capsys.readouterr().out.splitlines()[0]


def test_init_advises_a_table_of_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image")
    for at in range(6):
        image.fromarray(np.full((20, 24), 40 * at, np.uint8)).save(tmp_path / f"{at}.png")
    (tmp_path / "photos.tsv").write_text("".join(f"{at}.png\tshade {at}\n" for at in range(6)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "photos.tsv"]) == 0
    assert main(["train", "run.toml", "--set", "training.steps=1", "--set", "training.schedule=constant"]) == 0
    assert regard.load("runs/photos", expect=PictureTexts).embed(["0.png", "shade 1"]).shape == (2, 64)


def test_bad_arrays_and_settings(tmp_path: Path) -> None:
    pictures = np.zeros((5, 8, 8), np.float32)
    np.savez(tmp_path / "two.npz", pictures=pictures[:2], captions=np.array(["a", "b"]))
    with pytest.raises(RegardError, match="2 captions are too few"):
        run_of(tables(data={"train": ["two.npz"]}), "run").task.prepare(tmp_path, tmp_path)
    with pytest.raises(RegardError, match="handwritten has no captions; sprites has"):
        run_of(tables(data={"source": "handwritten"}), "run").task.prepare(tmp_path, tmp_path)
    with pytest.raises(ConfigError, match="set either source"):
        run_of(tables(data={}), "run").task.prepare(tmp_path, tmp_path)

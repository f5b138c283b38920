"""What tasks on text share: files, sides and subwords."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.base.errors import ConfigError, RegardError
from regard.data.corpus import open_corpus
from regard.models.transformer import Transformer
from regard.tasks.texts import MixedFiles, refuse_other, sides_of, weighted_parts
from tests.tasks.prepared import prepare, settings
from tests.training import examples


def test_subwords_are_loaded_where_they_are_given(home: Path, tmp_path: Path) -> None:
    corpus = open_corpus(home / "train.en", home / "train.de")
    learned = settings(home).task.subwords.find(corpus, tmp_path / "learned.json", home)
    (home / "one.json").write_text(learned.source.to_json(), encoding="utf-8")
    given = replace(settings(home).task.subwords, load=(Path("one.json"),), size=5000)
    loaded = given.find(corpus, tmp_path / "loaded.json", home)
    assert loaded.source.encode("the dog") == learned.source.encode("the dog")
    assert loaded.target.encode("das hund") == learned.source.encode("das hund")
    with pytest.raises(ConfigError, match=r"subwords\.load: at most 2 files fit this corpus, not 3"):
        replace(given, load=(Path("one.json"),) * 3).find(corpus, tmp_path / "none.json", home)


def test_a_text_that_does_not_fit_the_task_is_refused(home: Path, tmp_path: Path) -> None:
    both, one = settings(home), settings(home, "lm.toml")
    with pytest.raises(ConfigError, match=r"data\.train: has one side of text, but this task learns from"):
        prepare(replace(both, task=replace(both.task, data=one.task.data)), tmp_path / "a", home)
    with pytest.raises(ConfigError, match=r'learns from one side of text; task = "translate" would fit it'):
        prepare(replace(one, task=replace(one.task, data=both.task.data)), tmp_path / "b", home)


@pytest.mark.parametrize(
    ("data", "sides"),
    [
        ({"train": ["a.en", "a.de"]}, 2),
        ({"train": ["a.txt"]}, 1),
        ({"train": ["a.tsv.gz"]}, 2),
        ({"train": ["a.txt"], "format": "tsv"}, 2),
        ({"train": ["a.jsonl"], "keys": ["text"]}, 1),
        ({"train": ["a", "b", "c"]}, 3),
        ({"train": 5}, 0),
        ({"train": ["a.jsonl"], "format": "odd"}, 0),
    ],
)
def test_the_sides_that_a_table_names(data: dict[str, object], sides: int) -> None:
    assert sides_of(data) == sides


def test_experts_learn_to_share_the_work(home: Path) -> None:
    task = settings(home).task
    torch.manual_seed(1)
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "width": 8, "heads": 2, "feedforward": 8, "dropout": 0.0}
    plain, weighed = (
        Transformer(**sizes, feed=f"experts(count=4, chosen=1, balance={balance})").build(examples.SIZES)
        for balance in (0.0, 0.5)
    )
    weighed.load_state_dict(plain.state_dict())
    item = examples.batch(1)
    alone, both = task.loss(plain.train(), item), task.loss(weighed.train(), item)
    assert both.parts["balance"].item() >= 0.5 * item.count * 0.99  # 1 for each of both layers where all are used alike
    assert both.total.item() == pytest.approx(alone.total.item() + both.parts["balance"].item(), rel=1e-5)
    assert "balance" not in task.loss(weighed.eval(), item).parts


def test_damaged_subwords_are_made_again_and_must_be_the_same(home: Path, tmp_path: Path) -> None:
    corpus, kept = open_corpus(home / "train.en", home / "train.de"), tmp_path / "subwords.json"
    choice = settings(home).task.subwords
    good = choice.find(corpus, kept, home)
    content = kept.read_bytes()
    for at in range(0, len(content), len(content) // 7):
        kept.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        said: list[str] = []
        assert choice.find(corpus, kept, home, said.append) == good
        assert kept.read_bytes() == content
        assert [line.endswith("they are made again") for line in said] == [True]
    kept.write_bytes(b"")
    with pytest.raises(RegardError, match="made again the subwords differ"):
        choice.find(open_corpus(home / "train.en", home / "train.en"), kept, home)


def test_a_run_from_before_subwords_had_a_hash_goes_on(home: Path, tmp_path: Path) -> None:
    corpus, kept = open_corpus(home / "train.en", home / "train.de"), tmp_path / "subwords.json"
    good = settings(home).task.subwords.find(corpus, kept, home)
    kept.with_suffix(".sha256").unlink()
    assert settings(home).task.subwords.find(corpus, kept, home) == good
    kept.write_text("[]", encoding="utf-8")
    with pytest.raises(RegardError, match="the subwords are damaged"):
        settings(home).task.subwords.find(corpus, kept, home)


@pytest.mark.parametrize("name", ["", "lm.toml"])
def test_a_changed_dev_set_is_told_like_a_changed_text(home: Path, tmp_path: Path, name: str) -> None:
    run = settings(home, name) if name else settings(home)
    prepare(run, tmp_path / "run", home)
    prepare(run, tmp_path / "run", home)
    dev = home / run.task.data.dev[0]
    dev.write_bytes(b"x" + dev.read_bytes())
    with pytest.raises(RegardError, match=r"data\.dev: .* changed since this run began"):
        prepare(run, tmp_path / "run", home)


def test_a_damaged_hash_is_not_taken_for_a_changed_text(tmp_path: Path) -> None:
    kept, said = tmp_path / "text.sha256", list[str]()
    refuse_other("a" * 64, "data.train: x", kept, said.append)
    content = kept.read_bytes()
    for at in range(len(content) - 1):
        kept.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        refuse_other("a" * 64, "data.train: x", kept, said.append)
        assert kept.read_bytes() == content
    assert len(said) == len(content) - 1
    with pytest.raises(RegardError, match=r"data\.train: x changed"):
        refuse_other("b" * 64, "data.train: x", kept)
    kept.write_text("a" * 64 + "\n", encoding="utf-8")  # as older versions wrote it
    refuse_other("a" * 64, "data.train: x", kept)


def test_files_are_mixed_by_their_weights(home: Path, tmp_path: Path) -> None:
    (home / "web.en").write_text("a web page\n\na cat\n", encoding="utf-8")
    (home / "web.de").write_text("eine Seite\n\neine Katze\n", encoding="utf-8")
    run = settings(home)
    mix = (MixedFiles(files=(Path("web.en"), Path("web.de")), weight=3.0),)
    data = replace(run.task.data, mix=mix, weight=0.5)
    prepared: Any = prepare(replace(run, task=replace(run.task, data=data)), tmp_path, home).prepared
    own = len(prepared.store) - 2
    assert [(part.start, part.stop, part.weight) for part in weighted_parts(prepared.store, data)] == [
        (0, own, 0.5),
        (own, own + 2, 3.0),
    ]
    assert prepared.store[own][0].tolist()[:-1] == prepared.pair.source.encode("a web page")
    pairs = [int(pair) for batch in prepared.train.batches.plan(0) for pair in batch]
    assert pairs.count(own) == pairs.count(own + 1) == 3
    assert sum(pair < own for pair in pairs) == round(own / 2)
    with pytest.raises(ConfigError, match=r"weight must be more than 0, and finite, but is 0"):
        MixedFiles(files=(Path("web.en"),), weight=0)
    with pytest.raises(ConfigError, match=r"data\.mix: web\.en has one side of text, but data\.train has source and"):
        replace(data, mix=(MixedFiles(files=(Path("web.en"),)),)).training(home, 2)

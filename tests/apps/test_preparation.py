"""From settings to everything that a training needs."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.alignment import eflomal
from regard.apps.preparation import dev_batches, find_subwords, prepare
from regard.apps.run_settings import RunSettings, read_run
from regard.base.errors import ConfigError, RegardError
from regard.data.corpus import open_corpus
from regard.data.links import Link
from regard.data.loader import Loader
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS
from tests.apps import toy
from tests.apps.running import SMALL, SMALL_LM, Run, changes


def settings(home: Path, name: str = "run.toml", **changes: object) -> RunSettings:
    small = SMALL if name == "run.toml" else SMALL_LM
    chosen = small | {key.replace("__", "."): value for key, value in changes.items()}
    return read_run(home / name, [f"{key}={value}" for key, value in chosen.items()])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    for name in ("run", "a", "b"):
        (tmp_path / name).mkdir()


def test_what_was_done_is_found_again(home: Path, tmp_path: Path) -> None:
    said: list[str] = []
    first = prepare(settings(home), tmp_path / "run", home, said.append)
    assert said == ["subwords", "encoding", "encoding the dev set"]
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.*")}
    again = prepare(settings(home), tmp_path / "run", home)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.*")} == made
    assert again.subwords == first.subwords
    assert again.artifact == first.artifact


def test_text_that_changed_is_refused_before_anything_is_encoded(home: Path, tmp_path: Path) -> None:
    assert len(prepare(settings(home), tmp_path / "run", home).store) == 200
    toy.write_pairs(home, "train", toy.pairs(90))
    with pytest.raises(RegardError, match="changed since this run began"):
        prepare(settings(home), tmp_path / "run", home)
    assert len(prepare(settings(home), tmp_path / "a", home).store) == 90


def test_the_same_seed_gives_the_same_weights(home: Path, tmp_path: Path) -> None:
    first = prepare(settings(home), tmp_path / "run", home)
    other = replace(first, settings=settings(home, training__seed=2))
    weights = [next(one.model().parameters()) for one in (first, first, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_validation_has_every_pair_once_and_scores_what_is_decoded(home: Path, tmp_path: Path) -> None:
    made = prepare(settings(home), tmp_path / "run", home)
    assert made.validation is not None
    metrics = made.validation(made.model())
    assert {"loss", "perplexity", "bleu", "chrf", "exact"} <= metrics.keys()
    batches = dev_batches(made.store, 64)
    ends = sum(int((batch.target_out == EOS).sum()) for batch in batches)
    assert ends == len(made.store) == 200
    assert sum(batch.tokens for batch in batches) == int(made.store.sides[1].lengths.sum())


def test_a_language_model_is_prepared_from_one_side(home: Path, tmp_path: Path) -> None:
    made = prepare(settings(home, "lm.toml"), tmp_path / "run", home)
    assert made.artifact.vocabularies[0] == 0
    assert list(made.artifact.tokenizers) == ["text"]
    assert not made.model().has_source
    assert made.validation is not None
    assert made.validation(made.model()).keys() == {"loss", "perplexity"}


def test_a_model_that_does_not_fit_the_sides_is_refused(home: Path, tmp_path: Path) -> None:
    both, one = settings(home), settings(home, "lm.toml")
    with pytest.raises(ConfigError, match=r"it learns from one side of text, but data\.train has 2 sides"):
        prepare(replace(both, model=one.model), tmp_path / "a", home).model()
    with pytest.raises(ConfigError, match=r"it learns from source and target, but data\.train has 1 side$"):
        prepare(replace(one, model=both.model), tmp_path / "b", home).model()


def test_subwords_are_loaded_where_they_are_given(home: Path, tmp_path: Path) -> None:
    corpus = open_corpus(home / "train.en", home / "train.de")
    learned = find_subwords(settings(home).subwords, corpus, tmp_path / "learned.json", home)
    (home / "one.json").write_text(learned.source.to_json(), encoding="utf-8")
    given = replace(settings(home).subwords, load=(Path("one.json"),), size=5000)
    loaded = find_subwords(given, corpus, tmp_path / "loaded.json", home)
    assert loaded.source.encode("the dog") == learned.source.encode("the dog")
    assert loaded.target.encode("das hund") == learned.source.encode("das hund")
    with pytest.raises(ConfigError, match=r"subwords\.load: at most 2 files fit this corpus, not 3"):
        find_subwords(replace(given, load=(Path("one.json"),) * 3), corpus, tmp_path / "none.json", home)


def test_sentences_beyond_the_learned_positions_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="4 positions are learned, but a training sentence has 7 tokens"):
        prepare(_transformer(home, "learned(4)"), tmp_path / "run", home)
    made = prepare(_transformer(home, "learned(9)"), tmp_path / "run", home)
    assert made.artifact.extras["max_source"] == 9
    assert prepare(settings(home), tmp_path / "run", home).artifact.extras["max_source"] == 128


def _transformer(home: Path, positions: str) -> RunSettings:
    text = '[data]\ntrain = ["train.en", "train.de"]\n[subwords]\nkind = "word"\n[model]\nname = "transformer"\n'
    (home / "other.toml").write_text(f'{text}preset = "tiny"\npositions = "{positions}"\n', encoding="utf-8")
    return read_run(home / "other.toml")


def test_a_run_does_not_go_on_with_another_text(home: Path, run: Run) -> None:
    text = Path("train.en").read_text(encoding="utf-8")
    Path("train.en").write_text(text.replace("hund", "dog").upper(), encoding="utf-8")
    done = run("train", "run.toml", *changes(SMALL))
    assert done.code == 1
    assert "changed since this run began" in done.sentence
    Path("train.en").write_text(text, encoding="utf-8")
    assert run("train", "run.toml", *changes(SMALL)).code == 0


# Guided by links


def guided(home: Path, links: str = "train.links", **changes: object) -> RunSettings:
    return settings(home, training__guide__links=f'"{links}"', **changes)


def write_links(home: Path) -> None:
    """Word by word, as the toy language translates."""
    lengths = [len(source.split()) for source, _ in toy.pairs(200)]
    toy.write(home / "train.links", [" ".join(f"{at}-{at}" for at in range(length)) for length in lengths])


def test_links_reach_the_batches_and_the_model_file_says_where_they_are_seen(home: Path, tmp_path: Path) -> None:
    write_links(home)
    made = prepare(guided(home), tmp_path / "run", home)
    assert isinstance(made.batches, Loader)
    batch = made.batches.at(BatchPosition())
    assert batch.links is not None
    assert len(batch.links) >= int(batch.target_lengths.sum()) - len(batch)
    said = made.artifact_for(made.model()).extras["alignment"]
    assert said == {"heads": [["decoder.cross", 0]], "shift": 1, "measure": "guided"}
    free = prepare(settings(home), tmp_path / "a", home)
    assert isinstance(free.batches, Loader)
    assert free.batches.at(BatchPosition()).links is None
    assert "alignment" not in free.artifact_for(free.model()).extras


def test_links_that_changed_are_refused(home: Path, tmp_path: Path) -> None:
    write_links(home)
    prepare(guided(home), tmp_path / "run", home)
    (home / "train.links").write_text("0-0\n" * 200, encoding="utf-8")
    with pytest.raises(RegardError, match=r"training\.guide\.links: .*train\.links changed since this run began"):
        prepare(guided(home), tmp_path / "run", home)


def test_links_by_eflomal(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = [(Link(0, 0),)] * 200
    monkeypatch.setattr(eflomal, "align_pairs", lambda pairs, letters=None: (one, one))
    made = prepare(guided(home, "eflomal"), tmp_path / "run", home)
    assert isinstance(made.batches, Loader)
    assert made.batches.at(BatchPosition()).links is not None
    assert (tmp_path / "run" / "eflomal.links").read_text(encoding="utf-8") == "0-0\n" * 200


def test_links_that_cannot_guide_are_refused(home: Path, tmp_path: Path) -> None:
    write_links(home)
    with pytest.raises(ConfigError, match=r"training\.guide: links name tokens, so words must be cut in one way"):
        prepare(guided(home, subwords__dropout=0.1), tmp_path / "a", home)
    with pytest.raises(ConfigError, match=r"training\.guide: links join a source and a target"):
        one = settings(home, "lm.toml")
        prepare(replace(one, training=replace(one.training, guide=guided(home).training.guide)), tmp_path / "b", home)

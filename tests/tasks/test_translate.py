"""Translation: two sides of text, prepared, trained on, opened and evaluated."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.alignment import eflomal
from regard.base.errors import ConfigError, RegardError
from regard.data.dates import DateSettings, written_dates
from regard.data.links import Link
from regard.data.loader import dev_batches
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS, UNK
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy
from regard.metrics.quality import corpus_scores
from regard.models.transformer import Transformer
from regard.tasks import translate
from regard.tasks.run import read_run
from regard.tasks.start import Started
from regard.tasks.task import Evaluation
from tests.apps import toy
from tests.apps.running import SMALL, Run, changes
from tests.tasks.prepared import prepare, settings


def test_what_was_done_is_found_again(home: Path, tmp_path: Path) -> None:
    said: list[str] = []
    first = prepare(settings(home), tmp_path / "run", home, said.append)
    assert said == ["subwords", "encoding", "encoding the dev set"]
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.*")}
    again = prepare(settings(home), tmp_path / "run", home)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.*")} == made
    assert again.prepared.tokenizers == first.prepared.tokenizers
    assert again.artifact(again.model()) == first.artifact(first.model())


def test_text_that_changed_is_refused_before_anything_is_encoded(home: Path, tmp_path: Path) -> None:
    assert len(prepare(settings(home), tmp_path / "run", home).prepared.store) == 200
    toy.write_pairs(home, "train", toy.pairs(90))
    with pytest.raises(RegardError, match="changed since this run began"):
        prepare(settings(home), tmp_path / "run", home)
    assert len(prepare(settings(home), tmp_path / "a", home).prepared.store) == 90


def test_a_validation_has_every_pair_once_and_scores_what_is_decoded(home: Path, tmp_path: Path) -> None:
    made = prepare(settings(home), tmp_path / "run", home)
    metrics = made.run.task.metrics(made.model().eval(), made.prepared)
    assert list(metrics) == ["loss", "perplexity", "bleu", "chrf", "exact"]
    store = made.prepared.store
    batches = dev_batches(store, 64)
    ends = sum(int((batch.target_out == EOS).sum()) for batch in batches)
    assert ends == len(store) == 200
    assert sum(batch.count for batch in batches) == int(store.sides[1].lengths.sum())


def test_a_validation_decodes_within_the_lengths_of_the_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = translate.Translator
    monkeypatch.setattr(translate, "Translator", lambda *parts, **how: seen.append(parts[3]) or real(*parts, **how))
    for changed in ({"decoding__max_ratio": 7.0}, {"decoding__max_length": 3}):
        made = prepare(settings(home, **changed), tmp_path / "run", home)
        made.run.task.metrics(made.model().eval(), made.prepared)
    assert [(one.max_ratio, one.max_length) for one in seen] == [(7.0, None), (2.0, 3)]


@pytest.mark.parametrize(
    ("own", "used"),
    [
        (Beam(size=3, n_best=2, patience=10.0, length_penalty=0.8), Beam(size=3, length_penalty=0.8)),
        (Sample(max_length=4), Greedy(max_length=4)),
        (None, Greedy()),
    ],
)
def test_a_validation_searches_as_the_run_does(
    own: Strategy | None, used: Strategy, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = translate.Translator
    monkeypatch.setattr(translate, "Translator", lambda *parts, **how: seen.append(parts[3]) or real(*parts, **how))
    made = prepare(settings(home), tmp_path / "run", home)
    replace(made.run.task, decoding=own).metrics(made.model().eval(), made.prepared)
    assert seen == [used]


def test_a_validation_counts_the_words_of_the_target_language(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def scores(*texts: Any, tokenize: str, **others: Any) -> Any:
        seen.append(tokenize)
        return corpus_scores(*texts, tokenize=tokenize, **others)

    monkeypatch.setattr(translate, "corpus_scores", scores)
    made = prepare(settings(home), tmp_path / "run", home)
    for target in ("de", "zh", "th"):
        task = replace(made.run.task, data=replace(made.run.task.data, target=target))
        task.metrics(made.model().eval(), made.prepared)
    assert seen == ["13a", "zh", "char"]


def test_sentences_beyond_the_learned_positions_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="4 positions are learned, but a training sentence has 7 tokens"):
        extras(prepare(_transformer(home, "learned(4)"), tmp_path / "run", home))
    assert extras(prepare(_transformer(home, "learned(9)"), tmp_path / "run", home))["max_source"] == 9
    assert extras(prepare(settings(home), tmp_path / "run", home))["max_source"] == 128


def test_learned_positions_bound_validations_and_evaluations(home: Path, tmp_path: Path) -> None:
    toy.write_pairs(home, "dev", [*toy.pairs(6), ("a dog " * 10, "ein hund " * 10)])
    made = prepare(_transformer(home, "learned(9)", 'dev = ["dev.en", "dev.de"]\n'), tmp_path / "run", home)
    model = made.model().eval()
    metrics = made.run.task.metrics(model, made.prepared)
    assert math.isfinite(metrics["loss"])
    opened = made.run.task.open([made.artifact(model)], [model])
    found = made.run.task.evaluate(opened, [home / "dev.en", home / "dev.de"], Evaluation(samples=0))
    assert "(1 pair longer than its 9 positions left out)" in found[-1].after


def test_pairs_that_no_batch_holds_need_no_positions(home: Path, tmp_path: Path) -> None:
    chosen = _transformer(home, "learned(6)", after="[batches]\nlongest = 6\n")
    assert extras(prepare(chosen, tmp_path / "run", home))["max_source"] == 6


def test_a_line_that_is_left_out_does_not_make_long_sources_known() -> None:
    design = Transformer.preset("tiny")
    assert translate._most_source(design, [9_000, 30], kept=None) == 18_000
    assert translate._most_source(design, [9_000, 30], kept=300) == 600


@pytest.mark.parametrize(
    ("change", "split"),
    [
        (lambda text: text, "line"),  # no sentence punctuation at all, as in dates or codes
        (lambda text: f"{text} .", "sentence"),
        (lambda text: f"{text} . {text} .", "line"),  # several sentences a line
    ],
)
def test_the_model_file_says_what_is_translated_at_a_time(
    home: Path, tmp_path: Path, change: Callable[[str], str], split: str
) -> None:
    toy.write_pairs(home, "train", [(change(one), change(other)) for one, other in toy.pairs(200)])
    made = prepare(settings(home), tmp_path / "run", home)
    assert extras(made)["split"] == split
    artifact = made.artifact(made.model())
    translator = made.run.task.open([artifact], [made.model()])
    assert translator.split == split
    assert len(translator.lay_out("the dog . the cat .").pieces) == (2 if split == "sentence" else 1)
    assert translator.keeper is not None


def extras(made: Started) -> dict[str, Any]:
    return dict(made.artifact(made.model()).extras)


def _transformer(home: Path, positions: str, data: str = "", after: str = "") -> Any:
    text = f'[data]\ntrain = ["train.en", "train.de"]\n{data}[subwords]\nkind = "word"\n'
    model = f'[model]\nname = "transformer"\npreset = "tiny"\npositions = "{positions}"\n'
    (home / "other.toml").write_text(text + model + after, encoding="utf-8")
    return read_run(home / "other.toml")


def test_a_run_does_not_go_on_with_another_text(home: Path, run: Run) -> None:
    text = Path("train.en").read_text(encoding="utf-8")
    Path("train.en").write_text(text.replace("hund", "dog").upper(), encoding="utf-8")
    done = run("train", "run.toml", *changes(SMALL))
    assert done.code == 1
    assert "changed since this run began" in done.sentence
    Path("train.en").write_text(text, encoding="utf-8")
    assert run("train", "run.toml", *changes(SMALL)).code == 0


def guided(home: Path, links: str = "train.links", **changes: object) -> Any:
    return settings(home, training__guide__links=f'"{links}"', **changes)


def write_links(home: Path) -> None:
    """Word by word, as the toy language translates."""
    lengths = [len(source.split()) for source, _ in toy.pairs(200)]
    toy.write(home / "train.links", [" ".join(f"{at}-{at}" for at in range(length)) for length in lengths])


def test_links_reach_the_batches_and_the_model_file_says_where_they_are_seen(home: Path, tmp_path: Path) -> None:
    write_links(home)
    made = prepare(guided(home), tmp_path / "run", home)
    batch = made.prepared.train.at(BatchPosition())
    assert batch.links is not None
    assert len(batch.links) >= int(batch.target_lengths.sum()) - len(batch)
    said = extras(made)["alignment"]
    assert said == {"heads": [["decoder.cross", 0]], "shift": 1, "measure": "guided"}
    free = prepare(settings(home), tmp_path / "a", home)
    assert free.prepared.train.at(BatchPosition()).links is None
    assert "alignment" not in extras(free)


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
    assert made.prepared.train.at(BatchPosition()).links is not None
    assert (tmp_path / "run" / "eflomal.links").read_text(encoding="utf-8") == "0-0\n" * 200


def test_links_that_cannot_guide_are_refused(home: Path, tmp_path: Path) -> None:
    write_links(home)
    with pytest.raises(ConfigError, match=r"training\.guide: links name tokens as they are cut"):
        prepare(guided(home, subwords__dropout=0.1), tmp_path / "a", home)


def test_unknown_words_have_ids_of_their_own_where_the_model_copies(home: Path, tmp_path: Path) -> None:
    """A rare word of the training text is unknown: it is learned as a copy, in the dev set too."""
    (home / "odd.en").write_text("the zzz cat\nthe cat\nthe cat\n", encoding="utf-8")
    (home / "odd.de").write_text("die zzz katze\ndie katze\ndie yyy\n", encoding="utf-8")
    files = '["odd.en", "odd.de"]'
    cut = {"subwords__kind": "word", "subwords__sharing": "joint", "subwords__min_count": 3}
    given = {"data__train": files, "data__dev": files, **cut}
    run = settings(home, **given, model__copy="{coverage = 0.5}")
    made = prepare(run, tmp_path / "run", home)
    size = made.prepared.sizes["target"]
    rows = [[side.tolist() for side in made.prepared.store[at]] for at in range(3)]
    assert [size in row for row in rows[0]] == [True, True]
    assert UNK in rows[2][1]  # no source has it
    assert "<unk>" in made.prepared.sample(3)[1][0]
    model = made.model()
    loss = made.run.task.loss(model, made.prepared.train.at(BatchPosition()))
    assert loss.total.isfinite()
    assert made.run.task.metrics(model.eval(), made.prepared)["exact"] == 0.0
    plain = prepare(settings(home, **given), tmp_path / "plain", home).prepared
    assert UNK in plain.store[0][0].tolist()


def test_what_cannot_be_copied_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'model.copy: .* share one vocabulary; set subwords.sharing = "joint"'):
        prepare(settings(home, subwords__sharing="separate", model__copy="{}", model__tie="none"), tmp_path / "a", home)
    with pytest.raises(ConfigError, match=r"model.copy: .* leave out subwords.dropout and alpha"):
        prepare(settings(home, subwords__dropout=0.1, model__copy="{}"), tmp_path / "b", home)


def test_stems_are_hallucinated_in_training_alone(home: Path, tmp_path: Path) -> None:
    (home / "forms.en").write_text("walk X\ntalk X\nbark X\n", encoding="utf-8")
    (home / "forms.de").write_text("walked\ntalked\nbarked\n", encoding="utf-8")
    files = '["forms.en", "forms.de"]'
    given = {"data__train": files, "data__dev": files, "subwords__kind": "character", "subwords__sharing": "joint"}
    made = prepare(settings(home, **given, hallucination="{rate = 1.0, kept = 1}"), tmp_path / "run", home).prepared
    pair = made.pair
    learned = {
        (pair.source.decode(source), pair.target.decode(target))
        for epoch in range(9)
        for source, target in (made.train._pair(number, epoch) for number in range(3))
    }
    assert {(source, target) for source, target in learned if target != source.removesuffix(" X") + "ed"} == set()
    assert len(learned) > 3
    assert [one.source for one in made.dev_pairs] == ["walk X", "talk X", "bark X"]
    refused = {"joint": {"subwords__sharing": "separate"}, "subwords.dropout": {"subwords__dropout": 0.1}}
    for named, wrong in refused.items():
        other = {**given, "subwords__kind": "bpe", "subwords__size": 40, "model__tie": "none", **wrong}
        with pytest.raises(ConfigError, match=f"hallucination: .*{named}"):
            prepare(settings(home, **other, hallucination="{}"), tmp_path / named, home)


@pytest.mark.parametrize(("lines", "wanted"), [("dates", "line"), ("sentences", "sentence")])
def test_what_is_translated_at_a_time_is_what_lines_are(
    lines: str, wanted: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dates have dots inside, as in 2 avr. 1978, about as often as at their end."""
    made = written_dates(DateSettings(train=1_000, dev=1, test=1))["train"]
    sentences = ["The dog sees the cat.", "Dr. Smith is here.", "Wait! It rains.", "Two men in the sun"] * 50
    texts = [date.text for date in made] if lines == "dates" else sentences
    prepared = prepare(settings(home), tmp_path / "run", home).prepared
    monkeypatch.setattr(type(prepared), "sample", lambda self, most: (texts, texts))
    assert prepared.split == wanted

"""run.toml as a typed tree: what is wrong in it is said with its path."""

from pathlib import Path

import pytest

from regard.base.errors import ConfigError
from regard.data.formats.tsv import Tsv
from regard.decoding.strategies.beam import Beam
from regard.models.transformer import Transformer
from regard.tasks.run import read_run, run_of, with_preset

PLAIN = """
[data]
train = ["train.en", "train.de"]
[model]
name = "transformer"
preset = "tiny"
"""


def written(folder: Path, text: str = PLAIN) -> Path:
    path = folder / "plain.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_short_file_is_a_whole_run(tmp_path: Path) -> None:
    run = read_run(written(tmp_path))
    assert run.name == "plain"
    assert run.task.data.train == (Path("train.en"), Path("train.de"))
    assert run.task.decoding is None
    assert run.model == Transformer(**Transformer.presets["tiny"])


def test_what_is_said_goes_before_the_preset_and_the_option_before_both(tmp_path: Path) -> None:
    path = written(tmp_path, PLAIN + "dropout = 0.25\n")
    run = read_run(path, ["model.width=64", "name=other", "decoding=beam(size=3)"])
    assert (run.model.width, run.model.dropout, run.model.encoder_layers) == (64, 0.25, 4)
    assert run.name == "other"
    assert run.task.decoding == Beam(size=3)


def test_a_run_survives_being_written(tmp_path: Path) -> None:
    run = read_run(written(tmp_path), ["decoding.name=beam", "decoding.size=3", "data.dev=['a','b']"])
    assert run_of(run.to_dict(), "other") == run
    assert read_run(written(tmp_path, run.to_toml())) == run


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("traning.steps=3", "settings: unknown 'traning' (did you mean 'training'?)"),
        ("training.stps=3", "training: unknown 'stps' (did you mean 'steps'?)"),
        ("training.steps=many", "training.steps: must be a whole number, but is 'many'"),
        ("training.steps=0", "training: steps must be at least 1, but is 0"),
        ("training.optimizer.learning_rate=fast", "training.optimizer.learning_rate: must be a number"),
        ("training.schedule.name=cosin", "did you mean 'cosine'?"),
        ("model.name=tansformer", "model.name: unknown 'tansformer' (did you mean 'transformer'?)"),
        ("model.preset=tinny", "model.preset: unknown 'tinny' (did you mean 'tiny'?); presets are: base, big,"),
        ("model.preset=['tiny']", "model.preset: unknown"),
        ("model.widht=3", "model: unknown 'widht' (did you mean 'width'?)"),
        ("model.dropout=high", "model.dropout: must be a number, but is 'high'"),
        ("model=rnn", "model: unknown 'rnn' (did you mean 'rnn_lm'?)"),
        ("decoding.name=beem", "decoding.name: unknown 'beem' (did you mean 'beam'?)"),
        ("subwords.kind=bpee", "subwords.kind: unknown 'bpee' (did you mean 'bpe'?)"),
        ("subwords.size=3", "subwords: size must be at least"),
        ("data.train=train.en", "data.train: must be a list, but is 'train.en'"),
        ("data.train=[5]", "data.train[0]: must be the path of a file, but is 5"),
        ("name=a/b", "name: must be the name of a folder, but is 'a/b'"),
        ("name=", "name: must be the name of a folder, but is ''"),
        ("batches", "--set batches: write it as a.b=value"),
    ],
)
def test_a_slip_is_one_sentence_with_its_path(tmp_path: Path, change: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_run(written(tmp_path), [change])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^data\.train: missing"):
        read_run(written(tmp_path, '[model]\nname = "gpt"\n'))
    with pytest.raises(ConfigError, match=r"^model\.name: missing; models are: .*bert, "):
        read_run(written(tmp_path, '[data]\ntrain = ["a"]\n[model]\npreset = "tiny"\n'))


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"plain\.toml: not valid TOML"):
        read_run(written(tmp_path, "name = "))


def test_files_are_looked_for_in_the_data_folder(tmp_path: Path) -> None:
    data = read_run(written(tmp_path)).task.data
    assert data.corpus(data.train, Path("there"), "skip").files == (Path("there/train.en"), Path("there/train.de"))
    assert data.corpus((Path("/a.tsv"),), Path("there"), "error").format == Tsv()
    with pytest.raises(ConfigError, match="one or two files make a corpus, but 3 are given"):
        data.corpus((Path("a"), Path("b"), Path("c")), tmp_path, "skip")


def test_pairs_keep_their_places_and_running_text_may_have_blank_lines(tmp_path: Path) -> None:
    data = read_run(written(tmp_path)).task.data
    assert data.corpus(data.train, tmp_path, "error").blanks == "error"
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    assert data.corpus((Path("a.txt"),), tmp_path, "error").blanks == "skip"


def test_settings_without_a_preset_stay_as_they_are() -> None:
    assert with_preset({"name": "gpt", "width": 8}, "model") == {"name": "gpt", "width": 8}


# Tasks


def test_the_data_suggests_the_task(tmp_path: Path) -> None:
    assert read_run(written(tmp_path)).task.task_name() == "translate"
    one = PLAIN.replace('["train.en", "train.de"]', '["train.txt"]').replace("transformer", "gpt")
    assert read_run(written(tmp_path, one)).task.task_name() == "language"
    pairs = PLAIN.replace('["train.en", "train.de"]', '["train.tsv"]')
    assert read_run(written(tmp_path, pairs)).task.task_name() == "translate"
    three = PLAIN.replace('["train.en", "train.de"]', '["a", "b", "c"]')
    with pytest.raises(
        ConfigError, match=r"^task: missing, and the files of data\.train do not tell it; tasks are: .*language"
    ):
        read_run(written(tmp_path, three))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("task=trnslate", "task: unknown 'trnslate' (did you mean 'translate'?); tasks are: "),
        ("model.name=gpt", "model.name: gpt learns from text, but the task translate gives source and target; models"),
        ("streams.rows=3", "streams: a setting of the task language"),
    ],
)
def test_what_does_not_fit_the_task_is_one_sentence(tmp_path: Path, change: str, sentence: str) -> None:
    text = PLAIN.replace('preset = "tiny"\n', "")
    with pytest.raises(ConfigError) as caught:
        read_run(written(tmp_path, f'task = "translate"\n{text}'), [change])
    assert str(caught.value).startswith(sentence)


def test_a_file_from_before_tasks_had_names_may_hold_tables_of_the_other(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, PLAIN + "[streams]\nrows = 3\n"))
    assert run.task.task_name() == "translate"
    assert "streams" not in run.to_dict()


def test_settings_of_the_loss_stand_in_the_table_of_training(tmp_path: Path) -> None:
    run = read_run(written(tmp_path), ["training.loss.smoothing=0.25", "training.guide.links=a.links"])
    assert run.task.cross_entropy.smoothing == 0.25
    assert run.task.guide.links == Path("a.links")
    assert run.to_dict()["training"]["loss"]["smoothing"] == 0.25
    with pytest.raises(ConfigError, match=r"training\.loss: unknown 'smothing' \(did you mean 'smoothing'"):
        read_run(written(tmp_path), ["training.loss.smothing=0.1"])
    one = PLAIN.replace('["train.en", "train.de"]', '["train.txt"]').replace("transformer", "gpt")
    with pytest.raises(ConfigError, match=r"training: unknown 'guide'"):
        read_run(written(tmp_path, one), ["training.guide.links=a.links"])

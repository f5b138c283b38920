"""Settings for labels and tags: what init writes trains, evaluates and predicts with nothing edited."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from regard.data.format import Doubt
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import TASKS, Evaluation, Wishes, advice_for
from regard.training.progress import Progress

ROWS = [(("animal", "fruit")[at % 2], f"the {('cat', 'pear')[at % 2]} number {at} is old") for at in range(60)]


def labeled(home: Path, kind: str) -> Path:
    path = home / f"a.{kind}"
    if kind == "tsv":
        path.write_text("".join(f"{label}\t{text}\n" for label, text in ROWS), encoding="utf-8")
    elif kind == "csv":
        path.write_text("text,label\n" + "".join(f'"{text}",{label}\n' for label, text in ROWS), encoding="utf-8")
    elif kind == "jsonl":
        path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for label, text in ROWS))
    else:
        for at, (label, text) in enumerate(ROWS):
            (path / label).mkdir(parents=True, exist_ok=True)
            (path / label / f"{at}.txt").write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "folder"])
def test_labels_of_every_kind_are_advised_and_learned(tmp_path: Path, kind: str) -> None:
    path = labeled(tmp_path, kind)
    advice = advice_for([path], Wishes(out=tmp_path / "run.toml"))
    advice.write()
    table = tomllib.loads(advice.text)
    assert (table["task"], table["model"]["name"]) == ("classify", "text_cnn")
    assert advice.reasons[0] == "60 examples of 2 classes: animal, fruit"
    assert "accuracy decides" in advice.reasons[-1]
    table["training"] |= {"steps": 30, "validate_every": 15}
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    import regard

    opened = regard.load(tmp_path / "run", expect=object)
    scores = TASKS.get("classify").evaluate(opened, [path], Evaluation())  # type: ignore[attr-defined]
    assert scores[0].value > 90


def test_words_that_stand_once_are_kept_where_there_are_few(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    rows = [f"{at % 2}\tthe word{at} is word{at % 3} again\n" for at in range(1200)]
    path.write_text("".join(rows), encoding="utf-8")
    advice = advice_for([path], Wishes(out=tmp_path / "run.toml"))
    subwords = tomllib.loads(advice.text)["subwords"]
    assert subwords == {"kind": "word", "size": 1400, "min_count": 1}
    assert tomllib.loads(advice.text)["word_dropout"] == {"rate": 0.05}
    assert any(reason.startswith("all words are kept") for reason in advice.reasons)
    path.write_text("".join(f"{at % 2}\tthe word{at} is another{at}\n" for at in range(9000)), encoding="utf-8")
    many = advice_for([path], Wishes(out=tmp_path / "run.toml"))
    assert "min_count" not in tomllib.loads(many.text)["subwords"]
    assert not any(reason.startswith("all words") for reason in many.reasons)


def test_words_with_tags_are_advised_and_learned(tmp_path: Path) -> None:
    path = tmp_path / "words.conll"
    path.write_text("".join(f"the DT B-NP\ncat{at} NN I-NP\nsleeps VB O\n\n" for at in range(60)), encoding="utf-8")
    advice = advice_for([path], Wishes(out=tmp_path / "run.toml"))
    advice.write()
    table = tomllib.loads(advice.text)
    assert (table["task"], table["training"]["metric"]) == ("tag", "f1")
    assert (table["data"]["factor"], table["subwords"]["kind"]) == (2, "word")
    assert (table["model"]["width"], table["training"]["optimizer"]["name"]) == (256, "muon")
    table["training"] |= {"steps": 2, "validate_every": 1}
    table["model"] |= {"width": 16, "layers": 1}
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    assert (tmp_path / "run" / "model.safetensors").exists()


def test_words_without_a_factor_are_split(tmp_path: Path) -> None:
    path = tmp_path / "words.conll"
    path.write_text("".join(f"the B-NP\ncat{at} I-NP\nsleeps O\n\n" for at in range(60)), encoding="utf-8")
    table = tomllib.loads(advice_for([path], Wishes(out=tmp_path / "run.toml")).text)
    assert table["subwords"]["kind"] == "bpe" and "factor" not in table["data"]
    assert (table["model"]["width"], table["training"]["optimizer"]["name"]) == (160, "adam")


def test_a_table_of_words_and_tags_is_not_one_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("".join(f"the\tDT\ncat{at % 30}\tNN\nsleeps\tVB\n\n" for at in range(60)), encoding="utf-8")
    table = tomllib.loads(advice_for([path], Wishes(out=tmp_path / "run.toml")).text)
    assert (table["task"], table["training"]["metric"]) == ("tag", "accuracy")


def test_sets_in_a_folder_and_rare_classes(tmp_path: Path) -> None:
    rare = [("odd" if at == 7 else label, text) for at, (label, text) in enumerate(ROWS)]
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rare), encoding="utf-8")
    advice = advice_for([tmp_path], Wishes(out=tmp_path / "run.toml"))
    table = tomllib.loads(advice.text)
    assert table["data"] == {"train": ["train.tsv"], "dev": ["dev.tsv"]} and not advice.files
    assert table["training"]["metric"] == "macro_f1"
    assert any("test.tsv" in reason for reason in advice.reasons)


@pytest.mark.parametrize("kind", ["tsv", "folder"])
def test_languages_as_labels_are_asked_about(tmp_path: Path, kind: str) -> None:
    """Tatoeba's sentences, and a folder for each language, became classifiers without a word of doubt."""
    path = labeled(tmp_path, kind)
    if kind == "tsv":
        path.write_text("".join(f"{at}\t{('eng', 'deu')[at % 2]}\t{text}\n" for at, (_, text) in enumerate(ROWS)))
    else:
        (path / "animal").rename(path / "en")
        (path / "fruit").rename(path / "de")
    wishes = Wishes(out=tmp_path / "run.toml")
    with pytest.raises(Doubt, match=r"its labels are languages \((deu, eng|de, en)\); .* --task classify if"):
        advice_for([path], wishes)
    assert tomllib.loads(advice_for([path], replace(wishes, task="classify")).text)["task"] == "classify"


def test_pairs_of_sentences_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"the cat {at}\tdie Katze {at}\n" for at in range(60)), encoding="utf-8")
    assert tomllib.loads(advice_for([path], Wishes(out=tmp_path / "run.toml")).text)["task"] == "translate"
    asked = advice_for([labeled(tmp_path, "tsv")], Wishes(out=tmp_path / "run.toml", task="classify"))
    assert tomllib.loads(asked.text)["task"] == "classify"

"""regard settings, and the page that is made from it."""

import json

from regard.apps.commands.settings import page
from regard.reference.settings_reference import settings_tables
from tests.apps.running import Run


def test_the_sections_are_listed(run: Run) -> None:
    done = run("settings")
    assert done.code == 0
    lines = done.out.splitlines()
    assert any(line.startswith("training.optimizer  How gradients change the weights") for line in lines)
    assert any("seq2seq, " in line and line.startswith(" ") for line in lines)


def test_a_section_is_printed_with_meanings_and_examples(run: Run) -> None:
    said = run("settings", "model.transformer").out
    assert said.startswith("model.transformer: Settings of an encoder-decoder Transformer.\npresets: tiny, ")
    assert "\n  model.width = 512\n      the width of hidden states (a whole number)\n" in said
    assert "      for example: model.width = 1024\n" in said
    assert "data.train   must be given" in run("settings", "data").out
    assert "training.optimizer.muon.momentum" not in run("settings", "training.optimizer").out


def test_one_setting(run: Run) -> None:
    said = run("settings", "training.clip").out
    assert "training.clip = 1.0" in said
    assert "training.steps" not in said


def test_an_unknown_path_names_the_nearest(run: Run) -> None:
    done = run("settings", "training.clipp")
    assert (done.code, done.out) == (2, "")
    assert "settings: unknown 'training.clipp' (did you mean 'training.clip'?); `regard settings` lists all" in done.err


def test_json_is_for_programs(run: Run) -> None:
    found = json.loads(run("settings", "training.clip", "--json").out)
    assert found[0]["settings"][0]["example"] == "training.clip = 0.5"
    assert len(json.loads(run("settings", "--json").out)) == len(settings_tables())


def test_the_page_has_every_section_and_links_to_those_alone() -> None:
    text = page(settings_tables())
    assert text == page(settings_tables())
    headings = {line.lstrip("# ").replace(".", "") for line in text.splitlines() if line.startswith("##")}
    links = {part.partition(")")[0] for part in text.split("](#")[1:]}
    assert links <= headings
    assert len(headings) == len({section.path for section in settings_tables()})

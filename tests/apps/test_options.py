"""What several commands share."""

from pathlib import Path
from typing import Annotated

import pytest
import torch
import typer
from typer.testing import CliRunner

from regard.apps.options import (
    FileGroups,
    Markup,
    PrecisionOption,
    checked_split,
    chosen_strategy,
    examples,
    keeper_of,
    keeping,
    use_threads,
)
from regard.base import processor
from regard.base.errors import UsageError
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.markup.document import Keeping
from tests.data.examples import pair
from tests.markup.fakes import backwards

OPENED = pair()
"""the tokenizers of a translator"""
app = typer.Typer()


@app.command(cls=FileGroups)
def show(
    files: Annotated[list[Path], typer.Argument()],
    dev: Annotated[list[Path], typer.Option("--dev")] = [],  # noqa: B006
    name: Annotated[str, typer.Option()] = "",
) -> None:
    typer.echo(f"{' '.join(map(str, files))}|{' '.join(map(str, dev))}|{name}")


@pytest.mark.parametrize(
    ("words", "understood"),
    [
        ("a b", "a b||"),
        ("a b --dev c d", "a b|c d|"),
        ("--dev c d a b", "a b|c d|"),
        ("a --dev c", "a|c|"),
        ("a --dev c --name x b", "a b|c|x"),
        ("a b --dev c d --name x", "a b|c d|x"),
        ("a b --dev=c", "a b|c|"),
    ],
)
def test_one_or_two_words_belong_to_the_option(words: str, understood: str) -> None:
    assert CliRunner().invoke(app, words.split()).output.strip() == understood


def test_an_option_without_its_files_is_wrong_use() -> None:
    assert CliRunner().invoke(app, ["a", "b", "--dev"]).exit_code == 2


def test_without_options_the_models_own_strategy_is_used() -> None:
    own = Beam(size=7, length_penalty=0.6)
    assert chosen_strategy(None, None, own, n_best=None) == own


def test_options_change_the_models_own_strategy() -> None:
    own = Beam(size=7, length_penalty=0.6)
    assert chosen_strategy(None, 3, own, n_best=2, max_length=9) == Beam(
        size=3, n_best=2, max_length=9, length_penalty=0.6
    )


def test_a_beam_is_searched_where_the_model_has_another_strategy() -> None:
    assert chosen_strategy(None, 3, Greedy()) == Beam(size=3)


def test_another_strategy_takes_the_place_of_the_models() -> None:
    assert chosen_strategy("sample(top_k=4, seed=3)", None, Beam(), max_length=5) == Sample(
        top_k=4, seed=3, max_length=5
    )


def test_two_ways_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="give --beam or --strategy, not both"):
        chosen_strategy("greedy", 2, Beam())


def test_a_setting_that_the_strategy_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="--length-penalty: a greedy search has no such setting"):
        chosen_strategy("greedy", None, Beam(), length_penalty=0.5)


def test_threads_are_used_as_asked() -> None:
    use_threads(None)
    assert torch.get_num_threads() == 1
    use_threads(2)
    assert torch.get_num_threads() == 2


def test_markup_is_kept_in_documents() -> None:
    (page,) = keeping(Markup.html, Keeping(), backwards)(["<p>a <b>b</b>\n{x}</p>"])
    assert page.text == "<p>{x} <b>B</b> A</p>"
    assert keeping(None, None, backwards) is keeping(Markup.placeholders, None, backwards) is backwards


def test_what_is_kept_can_be_said() -> None:
    assert keeper_of(OPENED, None, None).finds("{x} 🐶 a b@c.org") == [(0, 3), (4, 5), (8, 15)]
    assert keeper_of(OPENED, Markup.placeholders, "braces").finds("{x} 🐶 a %d") == [(0, 3), (4, 5), (8, 9)]
    assert keeper_of(OPENED, Markup.none, None) is None


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(UsageError, match="--keep: cannot be given with --markup none"):
        keeper_of(OPENED, Markup.none, "url")
    with pytest.raises(UsageError, match="--n-best: cannot be given with --markup html"):
        keeping(Markup.html, Keeping(), backwards, prefix=None, n_best=True)
    with pytest.raises(UsageError, match="unknown 'tags'"):
        keeper_of(OPENED, Markup.html, "tags")
    with pytest.raises(UsageError, match="split"):
        checked_split("word")
    assert checked_split(None) is None


def test_examples_are_kept_line_by_line() -> None:
    assert examples("regard a", 'regard b "c"') == '\b\nExamples:\n  regard a\n  regard b "c"'


def test_int8_is_refused_before_anything_is_loaded_or_its_limits_are_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = PrecisionOption.__metadata__[0].callback
    monkeypatch.setattr(processor, "refusal", lambda kind: None)
    monkeypatch.setattr(processor, "held", lambda: "oneDNN is held to AVX2, since otherwise int8 faults")
    assert chosen("int8") == "int8"
    assert capsys.readouterr().err == "regard: oneDNN is held to AVX2, since otherwise int8 faults\n"
    monkeypatch.setattr(processor, "refusal", lambda kind: f"the {kind} product faults")
    with pytest.raises(UsageError, match="--precision: the int8 product faults; use float32"):
        chosen("int8")
    assert chosen("float32") == "float32"
    assert capsys.readouterr().err == ""

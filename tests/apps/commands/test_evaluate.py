"""How good a model is: the field's own numbers, as their own program computes them."""

import gzip
import json
import math
from pathlib import Path

import pytest
import sacrebleu

from tests.apps import toy
from tests.apps.running import Run


def test_scores_are_those_of_sacrebleu_with_its_signatures(home: Path, run: Run) -> None:
    done = run("evaluate", "runs/en-de", "test.en", "test.de", "--samples", "0", "--out", "found.de")
    outputs, references = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("found.de", "test.de"))
    assert outputs == run("translate", "runs/en-de", stdin=Path("test.en").read_bytes()).lines
    bleu, chrf, ter, exact, perplexity = done.lines
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF": sacrebleu.CHRF(), "TER": sacrebleu.TER()}
    for line, (name, metric) in zip((bleu, chrf, ter), metrics.items(), strict=True):
        direct = metric.corpus_score(outputs, [references])
        shown, signature = line.split("\t")
        assert shown == f"{name} {direct.score:.2f}"
        assert signature == str(metric.get_signature())
    same = sum(one == other for one, other in zip(outputs, references, strict=True))
    assert same > 0
    assert exact == f"exact match {100 * same / 12:.2f} %"
    assert perplexity.endswith("of the reference, by subword")


def test_resampling_gives_an_interval_and_says_so(home: Path, run: Run) -> None:
    first = run("evaluate", "runs/en-de", "test.en", "test.de", "--samples", "20").lines[0]
    assert " ± " in first
    assert "bs:20|seed:12345" in first


def test_perplexity_is_that_of_the_scores(home: Path, run: Run) -> None:
    shown = run("evaluate", "runs/en-de", "test.en", "test.de", "--samples", "0").lines[-1]
    rows = run("score", "runs/en-de", "test.en", "test.de", "--per-token").lines
    values = [float(value) for row in rows for value in row.split("\t")[1].split()]
    assert len(values) == sum(len(target.split()) + 1 for _, target in toy.pairs(12, skip=212))
    assert float(shown.split()[1]) == pytest.approx(math.exp(-sum(values) / len(values)), abs=2e-3)


def test_case_and_tokens_count_as_asked(home: Path, run: Run) -> None:
    toy.write(Path("loud.de"), [target.upper() for _, target in toy.pairs(12, skip=212)])
    strict = run("evaluate", "runs/en-de", "test.en", "loud.de", "--samples", "0").lines[0]
    loose = run("evaluate", "runs/en-de", "test.en", "loud.de", "--samples", "0", "--lowercase").lines[0]
    assert float(strict.split()[1]) < 1 < float(loose.split()[1])
    assert "case:lc" in loose
    assert "tok:none" in run("evaluate", "runs/en-de", "test.en", "test.de", "--tokenize", "none").lines[0]


def test_text_without_spaces_is_cut_by_the_tokenizer_of_its_language(home: Path, run: Run) -> None:
    for name in ("test.zh", "references"):
        toy.write(Path(name), ["两只狗在雪地里玩耍。"] * 12)
        assert "tok:zh" in run("evaluate", "runs/en-de", "test.en", name, "--samples", "0").lines[0]
    given = run("evaluate", "runs/en-de", "test.en", "test.zh", "--samples", "0", "--tokenize", "13a")
    assert "tok:13a" in given.lines[0]


def test_all_ways_to_write_pairs_are_the_same(home: Path, run: Run) -> None:
    made = toy.pairs(12, skip=212)
    toy.write(Path("test.tsv"), [f"{source}\t{target}" for source, target in made])
    rows = [json.dumps({"source": source, "target": target}) for source, target in made]
    Path("test.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    Path("en.gz").write_bytes(gzip.compress(Path("test.en").read_bytes()))
    wanted = run("evaluate", "runs/en-de", "test.en", "test.de", "--samples", "0").lines
    for files in (["test.tsv"], ["test.jsonl.gz"], ["en.gz", "test.de"]):
        assert run("evaluate", "runs/en-de", *files, "--samples", "0").lines == wanted


def test_a_language_model_is_measured_by_subword_word_and_character(home: Path, run: Run) -> None:
    by_subword, by_word, bits = run("evaluate", "runs/lm", "test.de").lines
    lines = Path("test.de").read_text(encoding="utf-8").splitlines()
    words, characters = (sum(count(line) + 1 for line in lines) for count in (lambda line: len(line.split()), len))
    value = float(by_word.split()[1])
    assert 1 < value < 20
    assert by_word == f"perplexity {value:.3f} by word ({words} of them, ends of lines counted)"
    assert by_subword.startswith(f"perplexity {value:.3f} by subword ({words} of them)")  # its subwords are words
    assert float(bits.split()[-1]) == pytest.approx(math.log2(value) * words / characters, abs=1e-3)


def test_blank_lines_of_a_text_do_not_count(home: Path, run: Run) -> None:
    lines = Path("test.de").read_text(encoding="utf-8").splitlines()
    toy.write(Path("airy.de"), [line for text in lines for line in (text, "")])
    assert run("evaluate", "runs/lm", "airy.de").lines == run("evaluate", "runs/lm", "test.de").lines


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["test.en", "short.de"], 1, "test.en has 12 lines but short.de has 11"),
        (["test.en", "blank.de"], 1, "blank.de, line 2: the line is blank"),
        (["test.en", "missing.de"], 1, "missing.de: cannot be read: there is no such file"),
        (["test.en", "empty.de"], 1, "empty.de"),
        (["test.en"], 2, "test.en: pairs need a source and a target"),
        (["a", "b", "c"], 2, "evaluate: give source and target, not 3 files"),
        (["test.en", "test.de", "--tokenize", "intll"], 2, "unknown 'intll' (did you mean 'intl'?)"),
        (["test.en", "test.de", "--out", "nowhere/found.de"], 1, "there is no folder nowhere"),
    ],
)
def test_a_test_set_that_does_not_fit_is_refused(
    home: Path, run: Run, arguments: list[str], code: int, sentence: str
) -> None:
    lines = Path("test.de").read_text(encoding="utf-8").splitlines()
    toy.write(Path("short.de"), lines[:-1])
    toy.write(Path("blank.de"), [lines[0], " ", *lines[2:]])
    toy.write(Path("empty.de"), [])
    done = run("evaluate", "runs/en-de", *arguments)
    assert done.code == code
    assert done.out == ""
    assert sentence in done.sentence


def test_a_language_model_reads_one_text(home: Path, run: Run) -> None:
    done = run("evaluate", "runs/lm", "test.en", "test.de")
    assert done.code == 2
    assert "two sides" in done.sentence


def test_a_baseline_is_a_file_of_translations_or_a_model(home: Path, run: Run) -> None:
    command = ["evaluate", "runs/en-de", "test.en", "test.de", "--samples", "50"]
    targets = Path("test.de").read_text(encoding="utf-8").splitlines()
    toy.write(Path("other.de"), [f"{line} und" for line in targets])
    said = run(*command, "--baseline", "other.de").out
    scores, tested = said.split("\n\n")
    assert scores == run(*command).out.rstrip("\n")
    title, *rows = tested.splitlines()
    assert title == "against other.de, by a paired bootstrap test:"
    assert [row.split("\t")[0].rpartition(" ")[0] for row in rows] == ["BLEU", "chrF", "TER", "exact match"]
    assert "p = " in rows[0]
    assert "bs:50|seed:12345" in rows[0]
    for model in ("runs/en-de", "runs/en-de/model.safetensors"):
        same = run(*command, "--baseline", model).out.splitlines()[-4:]
        assert all("+0.00\tp = 1.0000" in row for row in same)


def test_scores_are_json_for_programs(home: Path, run: Run) -> None:
    command = ["evaluate", "runs/en-de", "test.en", "test.de", "--samples", "20", "--json"]
    found = json.loads(run(*command).out)
    assert [score["name"] for score in found["scores"]][:4] == ["BLEU", "chrF", "TER", "exact match"]
    assert "paired" not in found
    paired = json.loads(run(*command, "--baseline", "test.de").out)["paired"]
    assert {(one["system"], one["measure"]) for one in paired} >= {("baseline", "TER"), ("model", "exact match")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--baseline", "short.de"], "short.de: has 11 outputs, but the test set has 12 sentences"),
        (["--baseline", "nothing.de"], "--baseline: nothing.de: there is no such file or folder"),
        (["--baseline", "test.de", "--samples", "0"], "--samples must be more than 0"),
        (["--baseline", "runs/lm"], "two sides"),
        (["--bound", "50"], "--bound: runs/en-de: only a vae has a bound on the likelihood"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(home: Path, run: Run, arguments: list[str], sentence: str) -> None:
    toy.write(Path("short.de"), Path("test.de").read_text(encoding="utf-8").splitlines()[:-1])
    done = run("evaluate", "runs/en-de", "test.en", "test.de", "--samples", "10", *arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.sentence


def test_a_language_model_has_no_baseline(home: Path, run: Run) -> None:
    done = run("evaluate", "runs/lm", "test.de", "--baseline", "test.de")
    assert done.code == 2
    assert "only systems that write text can be compared" in done.sentence

"""Lines in, translations out: in order, as they come, and in the forms that were asked for."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.decoding.ready_file import ready_place
from regard.runs.artifact import load_artifact, save_artifact
from tests.apps import toy
from tests.apps.running import Run, start

TEXTS = ["the dog sees the cat", "the house and the tree", "the cat finds water", "small dog hears big cat"]


def shaken(path: Path, out: Path) -> Path:
    """A model of slightly other weights."""
    artifact = load_artifact(path)
    save_artifact(out, artifact.with_weights({name: 0.8 * tensor for name, tensor in artifact.weights.items()}))
    return out


def test_lines_are_translated_in_order_and_empty_ones_stay(home: Path, run: Run) -> None:
    alone = [run("translate", "runs/en-de", stdin=f"{text}\n").lines[0] for text in TEXTS]
    assert sum(one == toy.translation(text) for one, text in zip(alone, TEXTS, strict=True)) >= 2
    mixed = ["", TEXTS[2], " ", TEXTS[0], "", "", TEXTS[1], TEXTS[3], ""]
    done = run("translate", "runs/en-de", "--batch", "3", stdin="".join(f"{text}\n" for text in mixed))
    answers = dict(zip(TEXTS, alone, strict=True))
    assert done.lines == [answers.get(text, "") for text in mixed]
    assert done.err == ""


def test_a_last_line_without_its_end_and_no_line_at_all(home: Path, run: Run) -> None:
    assert run("translate", "runs/en-de", stdin=f"{TEXTS[0]}\n{TEXTS[1]}").out.count("\n") == 2
    assert run("translate", "runs/en-de", stdin="").lines == []


def test_an_answer_comes_before_the_next_line_is_written(home: Path) -> None:
    process = start("translate", "runs/en-de")
    assert process.stdin
    assert process.stdout
    answers = []
    for text in [*TEXTS, ""]:
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        answers.append(process.stdout.readline())
    rest, said = process.communicate()
    assert (process.returncode, rest, said) == (0, "", "")
    assert answers[-1] == "\n"
    assert all(len(answer.split()) > 1 for answer in answers[:-1])


def test_the_best_few_with_their_scores(home: Path, run: Run) -> None:
    lines = run("translate", "runs/en-de", "--n-best", "3", stdin=f"{TEXTS[0]}\n\n{TEXTS[1]}\n").lines
    rows = [line.split(" ||| ") for line in lines]
    assert [row[0] for row in rows] == ["1", "1", "1", "", "3", "3", "3"]
    for some in (rows[:3], rows[4:]):
        assert len({text for _, text, _ in some}) == 3
        scores = [float(score) for _, _, score in some]
        assert scores == sorted(scores, reverse=True)


def test_json_has_line_text_and_scores(home: Path, run: Run) -> None:
    given = f"\n{TEXTS[0]}\n{TEXTS[1]}\n"
    lines = run("translate", "runs/en-de", "--json", "--n-best", "2", stdin=given).lines
    blank, *found = [json.loads(line) for line in lines]
    assert blank == {"line": 1, "text": "", "n_best": []}
    plain = run("translate", "runs/en-de", stdin=given).lines[1:]
    assert [one["line"] for one in found] == [2, 3]
    assert [one["text"] for one in found] == plain
    assert all(one["n_best"][0]["text"] == one["text"] and len(one["n_best"]) == 2 for one in found)
    for best, second in (one["n_best"] for one in found):
        assert best["score"] >= second["score"]
        length = len(best["text"].split()) + 1
        assert best["score"] == pytest.approx(best["log_probability"] / length, abs=1e-4)


def test_alignments_follow_the_translation(home: Path, run: Run) -> None:
    given = f"{TEXTS[0]}\n\n{TEXTS[1]}\n"
    plain = run("translate", "runs/en-de", stdin=given).lines
    rows = [line.split(" ||| ") for line in run("translate", "runs/en-de", "--alignments", stdin=given).lines]
    assert [text for text, _ in rows] == plain
    assert rows[1] == ["", ""]
    for text, links in (rows[0], rows[2]):
        assert [link.split("-")[1] for link in links.split()] == [str(at) for at in range(len(text.split()))]
    found = [json.loads(line) for line in run("translate", "runs/en-de", "--alignments", "--json", stdin=given).lines]
    assert found[1]["alignment"] == []
    for one, (_, links) in zip(found, rows, strict=True):
        assert " ".join(f"{link['source']}-{link['target']}" for link in one["alignment"]) == links
        assert all(0 < link["confidence"] <= 1 for link in one["alignment"])
    refused = run("translate", "runs/en-de", "--alignments", "--n-best", "2", stdin=given)
    assert refused.code == 2
    assert refused.sentence.endswith("with --n-best, add --json")


def test_json_lists_the_words_that_links_count(home: Path, run: Run) -> None:
    [line] = run("translate", "runs/en-de", "--alignments", "--json", stdin="the dog, the cat.").lines
    found = json.loads(line)
    assert found["source_words"] == ["the", "dog", ",", "the", "cat", "."]
    assert all(link["target"] < len(found["target_words"]) for link in found["alignment"])


def test_a_translation_starts_as_it_is_told(home: Path, run: Run) -> None:
    for line in run("translate", "runs/en-de", "--prefix", "wasser baum", stdin="\n".join(TEXTS)).lines:
        assert line.startswith("wasser baum")


def test_lengths_and_repetitions(home: Path, run: Run) -> None:
    given = "the the the the the\n"
    assert len(run("translate", "runs/en-de", "--max-length", "2", stdin=given).lines[0].split()) <= 2
    assert len(run("translate", "runs/en-de", "--min-length", "9", stdin=given).lines[0].split()) >= 9
    single = run("translate", "runs/en-de", "--no-repeat-ngram", "1", stdin=given).lines[0].split()
    assert len(set(single)) == len(single)


def test_a_cut_translation_is_noted_with_its_line(home: Path, run: Run) -> None:
    done = run("translate", "runs/en-de", "--max-length", "1", stdin=f"\n\n{TEXTS[0]}\n")
    assert done.code == 0
    assert done.err == "regard: line 3: the translation did not end within 1 token and was cut there\n"


def test_many_notes_are_counted_rather_than_shown(home: Path, run: Run) -> None:
    done = run("translate", "runs/en-de", "--max-length", "1", stdin=f"{TEXTS[0]}\n" * 8)
    assert done.code == 0
    *shown, last = done.err.splitlines()
    assert [line.split(":")[1] for line in shown] == [f" line {number}" for number in range(1, 6)]
    assert last == "regard: 3 more notes of this kind are not shown"


def test_a_line_that_is_too_long_is_translated_in_parts(home: Path, run: Run) -> None:
    done = run("translate", "runs/en-de", "--beam", "1", stdin=" ".join(["dog"] * 200))
    assert done.code == 0
    assert (
        "regard: line 1: is longer than the 128 tokens that the model reads; it was translated in 2 parts" in done.err
    )


def test_an_ensemble_of_a_model_and_itself_is_the_model(home: Path, run: Run) -> None:
    shutil.copy("runs/en-de/model.safetensors", "copy.safetensors")
    given, json_ = "\n".join(TEXTS), "--json"
    alone = [json.loads(line) for line in run("translate", "runs/en-de", json_, stdin=given).lines]
    both = [json.loads(line) for line in run("translate", "runs/en-de", "copy.safetensors", json_, stdin=given).lines]
    assert [one["text"] for one in both] == [one["text"] for one in alone]
    for one, other in zip(alone, both, strict=True):
        assert other["n_best"][0]["score"] == pytest.approx(one["n_best"][0]["score"], abs=1e-3)


def test_an_ensemble_of_two_models_is_another_model(home: Path, run: Run) -> None:
    other = shaken(Path("runs/en-de/model.safetensors"), Path("other.safetensors"))

    def score(*models: object) -> float:
        found = run("translate", *models, "--json", "--prefix", "das hund", "--max-length", "1", stdin=TEXTS[0])
        return float(json.loads(found.lines[0])["n_best"][0]["score"])

    assert len({score("runs/en-de"), score(other), score("runs/en-de", other)}) == 3
    assert score("runs/en-de", other) == score(other, "runs/en-de")


def test_a_drawn_translation_is_drawn_again_by_its_seed(home: Path, run: Run) -> None:
    def drawn(seed: int) -> list[str]:
        sample = f"sample(seed={seed}, temperature=3.0)"
        return run("translate", "runs/en-de", "--strategy", sample, stdin="\n".join(TEXTS)).lines

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_bytes_that_are_not_text_end_it_with_one_sentence(home: Path, run: Run) -> None:
    done = run("translate", "runs/en-de", "--batch", "1", stdin=f"{TEXTS[0]}\n".encode() + b"caf\xe9\n")
    assert done.code == 1
    assert done.sentence == ("standard input, line 2: byte 0xe9 at column 4 is not UTF-8; convert the text to UTF-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--strategy", "beem"], "--strategy: unknown 'beem' (did you mean 'beam'?); strategies are: beam,"),
        (["--strategy", "beam(sise=3)"], "(did you mean 'size'?)"),
        (["--strategy", "sample(temperature=-1)"], "temperature"),
        (["--strategy", "greedy", "--beam", "2"], "give --beam or --strategy, not both"),
        (["--strategy", "greedy", "--n-best", "2"], "--n-best: a greedy search has no such setting"),
        (["--beam", "2", "--n-best", "3"], "beam: n_best (3) must be at most size (2)"),
        (["--beam", "0"], "translate: invalid value for '--beam'"),
        (["--min-length", "5", "--max-length", "2"], "max_length must be at least 1 and at least min_length (5)"),
    ],
)
def test_a_search_that_does_not_exist_is_refused(home: Path, run: Run, options: list[str], sentence: str) -> None:
    done = run("translate", "runs/en-de", *options, stdin="dog\n")
    assert done.code == 2
    assert done.out == ""
    assert sentence in done.sentence


def test_a_language_model_has_nothing_to_translate(home: Path, run: Run) -> None:
    done = run("translate", "runs/lm", stdin="hund\n")
    assert done.code == 2
    assert done.sentence == "runs/lm: a language model, which has nothing to translate from; use regard generate"


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        ("missing", 2, "missing: there is no such file or folder"),
        ("train.en", 1, "train.en: "),
        ("short.safetensors", 1, "short.safetensors: "),
        ("empty.safetensors", 1, "empty.safetensors: "),
        ("runs", 1, "runs: this folder holds no run"),
        ("away.safetensors", 1, "away.safetensors: holds weights alone"),
    ],
)
def test_what_is_no_model_is_named(home: Path, run: Run, name: str, code: int, sentence: str) -> None:
    whole = Path("runs/en-de/model.safetensors").read_bytes()
    Path("short.safetensors").write_bytes(whole[: len(whole) // 2])
    Path("empty.safetensors").write_bytes(b"")
    shutil.copy("runs/en-de/checkpoints/step-00000090.safetensors", "away.safetensors")
    done = run("translate", name, stdin="dog\n")
    assert done.code == code
    assert done.out == ""
    assert sentence in done.sentence


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", Unbuffered(full))
        done = run("translate", "runs/en-de", stdin="dog\n")
        monkeypatch.undo()
    assert done.code == 1
    assert done.err == "regard: no space left on device\n"


class Unbuffered:
    """Standard output that writes at once."""

    def __init__(self, file: object) -> None:
        self.file = file

    def write(self, text: str, /) -> int:
        return self.file.write(text.encode())

    def flush(self) -> None:
        pass

    def fileno(self) -> int:
        return self.file.fileno()


def test_markup_is_kept(home: Path, run: Run) -> None:
    page = "<p>the <b>dog</b> sees\nthe cat</p>\n<p>{name} finds %s water</p>\n"
    done = run("translate", "runs/en-de", "--markup", "html", stdin=page)
    assert (done.code, done.err) == (0, "")
    for kept in ("<p>", "<b>", "</b>", "</p>\n<p>", "{name}", "%s"):
        assert done.out.count(kept) == page.count(kept)
    plain = run("translate", "runs/en-de", stdin="\n".join(TEXTS))
    lines = run("translate", "runs/en-de", "--markup", "placeholders", stdin="\n".join([*TEXTS, "the {dog}"])).lines
    assert lines[:-1] == plain.lines
    assert lines[-1].count("{dog}") == 1
    assert run("translate", "runs/en-de", "--markup", "html", "--prefix", "das", stdin=page).code == 2


def test_terms_of_a_glossary_come_out_as_given(home: Path, run: Run) -> None:
    Path("terms.tsv").write_text("dog\tbaum baum\n", encoding="utf-8")
    lines = "".join(f"{text}\n" for text in TEXTS)
    plain = run("translate", "runs/en-de", stdin=lines).lines
    found = run("translate", "runs/en-de", "--glossary", "terms.tsv", stdin=lines)
    for text, before, after in zip(TEXTS, plain, found.lines, strict=True):
        assert ("baum baum" in after) == ("dog" in text)
        assert "dog" in text or after == before
    several = run("translate", "runs/en-de", "--glossary", "terms.tsv", "--n-best", "3", stdin=f"{TEXTS[0]}\n").lines
    assert all("baum baum" in line for line in several)
    short = run("translate", "runs/en-de", "--glossary", "terms.tsv", "--max-length", "1", stdin=f"{TEXTS[0]}\n")
    assert "line 1: the term 'dog' was left out" in short.err


def test_a_glossary_that_cannot_be_used(home: Path, run: Run) -> None:
    Path("terms.tsv").write_text("dog\t漢字\n", encoding="utf-8")
    refused = run("translate", "runs/en-de", "--glossary", "terms.tsv", stdin="the dog\n")
    assert (refused.code, "the model's subwords cannot write" in refused.sentence) == (2, True)
    refused = run("translate", "runs/en-de", "--glossary", "none.tsv", stdin="the dog\n")
    assert (refused.code, "there is no such file" in refused.sentence) == (1, True)


def test_a_file_is_translated_into_another(home: Path, run: Run) -> None:
    given = f"{TEXTS[0]}\n\n{TEXTS[1]}\n"
    Path("input.txt").write_text(given)
    Path("input.en").write_text(given)
    plain = run("translate", "runs/en-de", stdin=given).out
    assert run("translate", "runs/en-de", "input.txt").out == plain
    done = run("translate", "runs/en-de", "input.en", "-o", "output.de")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert Path("output.de").read_text() == plain
    assert run("translate", "runs/en-de", "-o", "again.de", stdin=given).code == 0
    assert Path("again.de").read_text() == plain
    missing = run("translate", "runs/en-de", "missing.txt", "-o", "no.txt")
    assert (missing.code, missing.sentence) == (1, "missing.txt: cannot be read: there is no such file")
    assert not Path("no.txt").exists()


def test_documents_keep_their_markup(home: Path, run: Run) -> None:
    Path("a.md").write_text("# the **dog**\n\n```\nthe dog\n```\n\n[the cat](http://x.org) and {name}\n")
    done = run("translate", "runs/en-de", "a.md", "-o", "b.md")
    assert (done.code, done.err) == (0, "")
    found = Path("b.md").read_text()
    for kept in ("# ", "**", "```\nthe dog\n```", "](http://x.org)", "{name}"):
        assert kept in found
    refused = run("translate", "runs/en-de", "a.md", "--json")
    assert (refused.code, "--json: cannot be given with a document" in refused.sentence) == (2, True)
    Path("a.srt").write_text("no subtitles\n")
    assert run("translate", "runs/en-de", "a.srt").sentence == "a.srt: has no cue, so these are no subtitles"


def test_sentences_on_a_line_are_translated_one_by_one_if_told(home: Path, run: Run) -> None:
    line = f"{TEXTS[0]}. {TEXTS[1]}."
    both = run("translate", "runs/en-de", "--split", "sentence", stdin=line).lines[0]
    alone = [run("translate", "runs/en-de", stdin=f"{text}.").lines[0] for text in TEXTS[:2]]
    assert both == " ".join(alone)
    assert run("translate", "runs/en-de", "--split", "word", stdin=line).code == 2


def test_placeholders_are_kept_unless_told_otherwise(home: Path, run: Run) -> None:
    assert run("translate", "runs/en-de", stdin="the {dog} sees %s").lines[0].count("{dog}") == 1
    assert "{dog}" not in run("translate", "runs/en-de", "--markup", "none", stdin="the {dog} sees %s").lines[0]
    linked = run("translate", "runs/en-de", "--alignments", stdin="the {dog} sees %s").lines[0]
    assert " ||| " in linked


def test_a_line_of_megabytes_is_refused(home: Path, run: Run) -> None:
    refused = run("translate", "runs/en-de", stdin=f"{TEXTS[0]}\n{'the dog ' * 130_000}\n")
    assert (refused.code, "line 2: has 1,040,000 characters, but a line may have" in refused.err) == (2, True)


def test_the_second_time_it_starts_without_torch(home: Path, run: Run) -> None:
    changes = {
        "model.name": "transformer",
        "model.preset": "tiny",
        "model.width": 32,
        "model.heads": 2,
        "subwords.kind": "word",
    }
    chosen = [word for name, value in changes.items() for word in ("--set", f"{name}={value}")]
    given = f"{TEXTS[0]}\n\n{TEXTS[1]}\n"
    toml = home / "small.toml"
    toml.write_text('name = "small"\n[data]\ntrain = ["train.en", "train.de"]\n[training]\nsteps = 2\n')
    assert run("train", toml, *chosen).code == 0
    first = run("translate", "runs/small", stdin=given)
    code = (
        "import sys; from regard.apps.cli import main; code = main(['translate', 'runs/small']); "
        "print('torch' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    again = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    assert again.stdout == first.out
    if ready_place("runs/small") is not None:  # where there are compiled kernels
        assert again.stderr.splitlines()[-1] == "False"

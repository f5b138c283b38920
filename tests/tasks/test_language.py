"""Language modeling: one side of text, prepared and trained on."""

from pathlib import Path

import numpy as np

from regard.data.plan import BatchPosition
from regard.data.windows import Streams, StreamSettings
from tests.tasks.prepared import prepare, settings
from tests.training import examples


def test_a_language_model_is_prepared_from_one_side(home: Path, tmp_path: Path) -> None:
    made = prepare(settings(home, "lm.toml"), tmp_path / "run", home)
    assert list(made.prepared.sizes) == list(made.prepared.tokenizers) == ["text"]
    assert made.run.task.metrics(made.model().eval(), made.prepared).keys() == {"loss", "perplexity"}


def test_windows_are_read_without_a_source_and_without_empty_rows(home: Path) -> None:
    window = Streams(np.arange(4, 9), StreamSettings(rows=4, length=3)).at(BatchPosition())
    assert (window.target == 0).all(1).any()
    seen = {}

    class Watching(examples.Tiny):
        def hidden(self, source, source_lengths, target):  # type: ignore[no-untyped-def]
            seen.update(source=source, rows=len(target))
            return super().hidden(source, source_lengths, target)

    loss = settings(home, "lm.toml").task.loss(Watching(), window)
    assert seen == {"source": None, "rows": 3}
    assert loss.count == window.count == 5


def test_a_checkup_finds_lines_twice_and_lines_that_leak(home: Path, tmp_path: Path) -> None:
    lines = [f"das hund baum {'ja ' * at}" for at in range(1, 30)]
    (home / "train.de").write_text("".join(f"{line}\n" for line in [*lines, lines[0]]), encoding="utf-8")
    for name, line in (("dev", lines[4]), ("test", lines[7])):
        (home / f"{name}.de").write_text(f"haus\n{line}\n", encoding="utf-8")
    made = prepare(settings(home, "lm.toml"), tmp_path / "run", home)
    found = made.run.task.check(made.prepared, home, [home / "test.de"])
    assert [finding.places for finding in found.findings] == [
        ["line 30"],
        ["line 2 of dev"],
        ["line 2 of test"],
        *[["haus in line 1, text"]] * 2,  # a word that the vocabulary does not have, in dev and test
    ]

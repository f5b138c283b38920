"""Texts in parts, and together again."""

from regard.apps.server.engines import Engine
from regard.apps.server.texts import lay_out
from regard.decoding.translator import Candidate, Translation, Translator


def translated(*texts: str) -> Translation:
    return Translation(texts[0], 0.0, tuple(Candidate(text, 0.0, (), ()) for text in texts))


def test_lines_are_parts_and_all_that_is_between_stays(engine: Engine) -> None:
    layout = lay_out("a\r\n\n  \nb c\n", engine.translator)
    assert layout.parts == ["a", "b c"]
    assert layout.put_together([translated("A"), translated("B C")]) == "A\r\n\n\nB C\n"
    assert lay_out("", engine.translator).put_together([]) == ""


def test_a_line_that_is_too_long_is_cut_as_the_translator_cuts_it(engine: Engine) -> None:
    short = Translator(engine.translator.models, engine.translator.source, engine.translator.target, max_source=6)
    text = "the dog sees the cat and the house. the big tree. " * 3
    layout = lay_out(f"{text}\nwater", short)
    assert len(layout.parts) > 6
    assert all(len(short.source.encode(part)) < 6 for part in layout.parts)
    whole = [one.text for one in short.translate([text, "water"])]
    assert layout.put_together(short.translate(layout.parts)) == "\n".join(whole)


def test_alternatives_differ_and_fall_back_on_the_best(engine: Engine) -> None:
    layout = lay_out("a\nb", engine.translator)
    found = [translated("A1", "A2", "A3"), translated("B1", "B2")]
    assert layout.alternatives(found, 5) == ["A2\nB2", "A3\nB1"]
    assert layout.alternatives(found, 1) == ["A2\nB2"]
    assert layout.alternatives(found, 0) == []

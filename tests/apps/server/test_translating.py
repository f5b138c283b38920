"""Plain texts and HTML, with what must be kept; texts in parts, and together again."""

import re

from regard.apps.server.engines import Engine
from regard.apps.server.translating import lay_out
from regard.decoding.translator import Candidate, Translation, Translator
from tests.apps.server.conftest import Call
from tests.apps.server.serving import TEXTS


def translate(call: Call, **fields: object) -> dict:
    response = call("POST", "/translate", json={"source": "en", "target": "de", **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_lines_come_back_as_the_translator_gives_them(call: Call, engine: Engine) -> None:
    text = f"{TEXTS[0]}\n\n{TEXTS[1]}\r\n{TEXTS[2]}\n"
    first, second, third = (one.text for one in engine.translator.translate(TEXTS[:3]))
    assert translate(call, q=text)["translatedText"] == f"{first}\n\n{second}\r\n{third}\n"


def test_a_text_far_longer_than_the_model_reads(call: Call, engine: Engine) -> None:
    text = " ".join(TEXTS) * 60
    assert len(engine.translator.source.encode(text)) > 2 * (engine.translator.max_source or 0)
    assert translate(call, q=text)["translatedText"] == engine.translator.translate([text])[0].text


def test_placeholders_are_kept_letter_for_letter(call: Call) -> None:
    found = translate(call, q="the dog sees {name} and the cat\nthe house", alternatives=2)
    assert found["translatedText"].count("{name}") == 1
    assert found["translatedText"].count("\n") == 1


def test_tags_are_kept_and_texts_between_them_translated(call: Call) -> None:
    page = "<p title='x'>the dog <b>sees</b> the cat</p><br/><script>the dog</script>"
    found = translate(call, q=page, format="html")["translatedText"]
    assert sorted(re.findall(r"<[^>]+>", found)) == sorted(re.findall(r"<[^>]+>", page))
    assert "<script>the dog</script>" in found
    assert "katze" in found or "hund" in found


def test_what_was_read_and_written_is_counted(call: Call, engine: Engine) -> None:
    translate(call, q=[TEXTS[0], f"{TEXTS[1]}\n"])
    translate(call, q=f"<i>{TEXTS[2]}</i>", format="html")
    counted = call("GET", "/metrics").text
    characters = sum(map(len, TEXTS[:3]))
    tokens = sum(len(one.n_best[0].tokens) for one in engine.translator.translate(TEXTS[:3]))
    assert f'regard_characters_total{{source="en",target="de"}} {characters:.1f}' in counted
    assert f'regard_tokens_total{{source="en",target="de"}} {tokens:.1f}' in counted


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

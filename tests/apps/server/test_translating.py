"""Plain texts and HTML, with what must be kept; texts in parts, and together again."""

import re

from regard.apps.server.engines import Engine
from regard.apps.server.translating import Translated, parts_of, reassembled
from regard.decoding.translation import Candidate, Translation
from regard.decoding.translator import Translator
from regard.markup.document import Keeping
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


def test_signs_that_no_subword_writes_are_kept_in_every_form(call: Call, engine: Engine) -> None:
    text = "the dog 🐶 sees Łukasz"
    [own] = engine.translator.translate([text])
    assert (own.text.count("🐶"), own.text.count("Łukasz")) == (1, 1)
    assert translate(call, q=text)["translatedText"] == own.text
    page = translate(call, q=f"<p>{text}</p>", format="html")["translatedText"]
    assert (page.count("🐶"), page.count("Łukasz")) == (1, 1)
    told = call("POST", "/explain", json={"q": text, "source": "en", "target": "de"}).json()
    assert told["target"]["text"] == own.text
    assert {"🐶", "Łukasz"} <= set(told["target"]["words"])


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
    ranked = tuple(Candidate(text, -rank, (), (), -rank) for rank, text in enumerate(texts))
    return Translation(texts[0], 0.0, ranked)


def test_sentences_are_parts_and_all_that_is_between_stays(engine: Engine) -> None:
    translator = Translator(engine.translator.models, engine.translator.source, engine.translator.target)
    layout = parts_of("A dog. A cat?\r\n\n  \nb c\n", translator)
    assert layout.pieces == ("A dog.", "A cat?", "b c")
    found = reassembled(layout, [translated("One."), translated("Two?"), translated("B C")], 0)
    assert found == Translated("One. Two?\r\n\n  \nB C\n", [])
    assert reassembled(parts_of("", translator), [], 3) == Translated("", [])


def test_no_part_ends_inside_a_placeholder(engine: Engine) -> None:
    translator = Translator(engine.translator.models, engine.translator.source, engine.translator.target)
    translator.keeper = Keeping()
    assert parts_of("Ask {who is it. Yes} now. Go.", translator).pieces == ("Ask {who is it. Yes} now.", "Go.")


def test_alternatives_are_the_best_sums_and_differ(engine: Engine) -> None:
    layout = parts_of("a\nb", engine.translator)
    found = [translated("A1", "A2", "A3"), translated("B1", "B2")]
    assert reassembled(layout, found, 5).alternatives == ["A1\nB2", "A2\nB1"]
    assert reassembled(layout, found, 1).alternatives == ["A1\nB2"]
    assert reassembled(layout, found, 0).alternatives == []

import os
import shutil
from pathlib import Path

import pytest

from regard.base.errors import RegardError, UsageError
from regard.decoding.strategies.greedy import Greedy
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.interop.ctranslate2_translator import CTranslate2Translator, open_ctranslate2
from regard.interop.export_folder import read_manifest
from regard.loading import load
from regard.models.transformer import Transformer
from tests.apps import toy
from tests.interop.examples import SMALL, TOY, write

pytest.importorskip("ctranslate2")

TEXTS = [source for source, _ in TOY[:20]]


def test_texts_are_translated_in_order_by_several_workers(trained: Path, exported: Path) -> None:
    given = [TEXTS[0], "", *TEXTS[1:], "  "] * 3
    found = CTranslate2Translator(exported, threads=2, batch_tokens=24).translate(given)
    assert [one.text for one in found] == [one.text for one in load(trained).translate(given)]
    assert [bool(one.text) for one in found[:2]] == [True, False]
    assert CTranslate2Translator(exported).translate([]) == []


def test_a_text_that_is_too_long_is_translated_in_parts(trained: Path, exported: Path) -> None:
    long = " ".join(TEXTS)
    made = [load(trained), CTranslate2Translator(exported, threads=1)]
    for one in made:
        one.max_source = 12
    ours, theirs = (one.translate([long], strategy=Greedy(suppress=()))[0] for one in made)
    assert (theirs.text, theirs.notes) == (ours.text, ours.notes)
    assert "parts" in theirs.notes[0].message


def test_given_translations_are_scored(trained: Path, exported: Path) -> None:
    targets = [toy.translation(text) for text in TEXTS]
    wanted, found = (one.score(TEXTS, targets) for one in (load(trained), CTranslate2Translator(exported, threads=1)))
    for one, other in zip(wanted, found, strict=True):
        assert other == pytest.approx(one, abs=1e-3)


def test_eight_bits_translate_what_was_learned(trained: Path, tmp_path: Path) -> None:
    folder = export_ctranslate2(trained, tmp_path / "small", "int8")
    small = CTranslate2Translator(folder, threads=1).translate(TEXTS)
    wanted = load(trained).translate(TEXTS)
    assert sum(one.text == other.text for one, other in zip(small, wanted, strict=True)) > len(TEXTS) * 0.7
    assert [one.score for one in small] != [one.score for one in wanted]


def test_with_a_shortlist_it_finds_what_ours_finds(trained: Path, listed: Path, exported: Path) -> None:
    ours = load(trained.parent / "listed.safetensors", shortlist=True)
    theirs = CTranslate2Translator(listed, threads=1, shortlist=True)
    whole = CTranslate2Translator(listed, threads=1)
    scores = []
    for text in TEXTS:  # alone, since a list is that of all sentences that are computed together
        (mine,), (one,), (other,) = (translator.translate([text]) for translator in (ours, theirs, whole))
        assert one.text == mine.text
        assert one.score == pytest.approx(mine.score, abs=5e-3)  # what is suppressed takes no part in its softmax
        scores.append((one.score, other.score))
    assert any(one > other for one, other in scores)  # probabilities are spread over the list alone
    with pytest.raises(UsageError, match="has no shortlist; make one with `regard shortlist`, then export again"):
        CTranslate2Translator(exported, threads=1, shortlist=True)


@pytest.mark.parametrize("text", [None, "", "\t<unk>\n"])
def test_a_damaged_shortlist_is_told(listed: Path, tmp_path: Path, text: str | None) -> None:
    folder = tmp_path / "export"
    shutil.copytree(listed, folder)
    (folder / "vmap.txt").unlink() if text is None else (folder / "vmap.txt").write_text(text)
    for shortlist in (True, False):
        with pytest.raises(RegardError, match=r"vmap\.txt: (is damaged|cannot be read)"):
            CTranslate2Translator(folder, threads=1, shortlist=shortlist)


def test_a_prefix_need_not_be_on_the_shortlist(listed: Path) -> None:
    translator = CTranslate2Translator(listed, threads=1, shortlist=True)
    strange = toy.translation(TEXTS[-1]).split()[0]
    (found,) = translator.translate([TEXTS[0]], prefixes=[strange])
    assert found.text.startswith(strange)


def test_the_model_itself_is_at_hand_where_its_file_is_known(trained: Path, exported: Path) -> None:
    with pytest.raises(UsageError, match="an export holds no model that can be looked into"):
        CTranslate2Translator(exported, threads=1).models  # noqa: B018
    (model,) = CTranslate2Translator(exported, threads=1, model_path=trained).models
    assert model.state_dict().keys() == load(trained).models[0].state_dict().keys()


def test_an_export_is_made_once_and_again_when_the_model_changes(trained: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(trained, tmp_path / "m.safetensors"))
    said: list[str] = []
    first = open_ctranslate2(file, tell=said.append, threads=1)
    assert first.folder == tmp_path / "m.ct2"
    assert said == [f"exported {file} to {first.folder} for CTranslate2, float32; the next time it is there already"]
    open_ctranslate2(file, tell=said.append, threads=1)
    assert len(said) == 1
    export_ctranslate2(file, first.folder, "int8", force=True)
    write(file, Transformer(**SMALL))
    again = open_ctranslate2(file, Greedy(), tell=said.append, threads=1)
    assert len(said) == 2
    assert read_manifest(again.folder, "ctranslate2").details["quantization"] == "int8"
    assert again.strategy == Greedy()


def test_where_nothing_can_be_written_the_cache_is_taken(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(shutil.copy(trained, tmp_path / "m.safetensors"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert open_ctranslate2(file, threads=1).folder.parent == tmp_path / "cache" / "regard"
    assert not (tmp_path / "m.ct2").exists()


def test_what_cannot_be_used_is_said(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        open_ctranslate2(tmp_path / "none")
    broken = Path(shutil.copytree(exported, tmp_path / "broken"))
    (broken / "model.bin").write_bytes(b"no model")
    with pytest.raises(RegardError, match=r"model\.bin: is damaged"):
        open_ctranslate2(broken)
    translator = CTranslate2Translator(exported, threads=1)
    with pytest.raises(UsageError, match="a text has 3001 tokens, but the export has 2048 positions"):
        translator.translate(["dog " * 3000])


def test_texts_with_terms_are_translated_by_the_model_itself(trained: Path, exported: Path) -> None:
    terms = {"dog": "baum baum"}
    found = open_ctranslate2(trained).translate(TEXTS, glossary=terms)
    assert [one.text for one in found] == [one.text for one in load(trained).translate(TEXTS, glossary=terms)]
    assert all("baum baum" in one.text for one, text in zip(found, TEXTS, strict=True) if "dog" in text.split())
    with pytest.raises(UsageError, match="a glossary needs the model itself"):
        CTranslate2Translator(exported).translate(["the dog"], glossary=terms)

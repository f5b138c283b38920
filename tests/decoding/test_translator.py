import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.base.errors import CombinationError, UsageError
from regard.data.links import Link, Links
from regard.data.word_spans import words_of
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translation import Pair, Translation
from regard.decoding.translator import Translator
from regard.layers.pointer_generator import Copying
from regard.markup.document import Keeping
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from tests.data.examples import LINES, subwords
from tests.decoding.fakes import Fake, FakeLanguage

TEXTS = list(dict.fromkeys(LINES))


def translator(**changes: object) -> Translator:
    known = subwords()
    return Translator(Fake(len(known), end=3.0), known, known, **changes)


def test_texts_are_translated_in_order_and_blank_ones_stay_blank() -> None:
    found = translator(batch_tokens=60).translate([TEXTS[0], "", TEXTS[1], "  \t", TEXTS[2]])
    assert [bool(one.text.strip()) for one in found] == [True, False, True, False, True]
    assert found[1].n_best == ()
    for text, one in zip(TEXTS[:3], found[::2], strict=True):
        (alone,) = translator().translate([text])
        assert alone.text == one.text
        assert alone.score == pytest.approx(one.score, abs=1e-4)
        assert one.text == subwords().decode(one.n_best[0].tokens)
    assert translator().translate([]) == []


def test_scores_are_those_of_scoring_the_text() -> None:
    model = translator(strategy=Greedy(max_length=5))
    (found,) = model.translate(TEXTS[:1])
    best = found.n_best[0]
    if subwords().encode(best.text) == list(best.tokens):
        assert model.score(TEXTS[:1], [best.text])[0] == pytest.approx(best.token_scores, abs=1e-4)
    given = model.score(TEXTS[:3], TEXTS[3:6])
    assert [len(row) for row in given] == [len(subwords().encode(text)) + 1 for text in TEXTS[3:6]]
    assert model.score(TEXTS[2:3], TEXTS[5:6])[0] == pytest.approx(given[2], abs=1e-4)


def test_the_n_best_have_different_texts() -> None:
    for one in translator().translate(TEXTS, strategy=Beam(size=6, n_best=6)):
        assert len({other.text for other in one.n_best}) == len(one.n_best) > 1
        assert (one.text, one.score) == (one.n_best[0].text, one.n_best[0].score)
        ranks = [other.rank for other in one.n_best]
        assert ranks == sorted(ranks, reverse=True)
        assert ranks == pytest.approx([other.score / len(other.token_scores) for other in one.n_best])


def test_a_text_that_is_too_long_is_translated_in_parts_and_said_so() -> None:
    long = " ".join(TEXTS[:2])
    limit = max(len(subwords().encode(text)) for text in TEXTS[:2]) + 1
    model = translator(max_source=limit, strategy=Greedy())
    short, whole = model.translate([TEXTS[0], long], first_line=41, split="line")
    parts = model.translate(TEXTS[:2])
    assert not [note for note in short.notes if "parts" in note.message]
    assert str(whole.notes[0]) == (
        f"line 42: is longer than the {limit} tokens that the model reads; it was translated in 2 parts"
    )
    assert whole.text == f"{parts[0].text} {parts[1].text}"
    assert whole.score == pytest.approx(parts[0].score + parts[1].score, abs=1e-4)
    (sentences,) = model.translate([f"{TEXTS[2]} {long}"], split="sentence")
    assert sentences.text == " ".join(one.text for one in model.translate([TEXTS[2], *TEXTS[:2]]))


def test_a_sentence_that_is_too_long_is_cut_beside_others_that_are_not() -> None:
    long = TEXTS[0].rstrip(".") + " and " + TEXTS[1]
    limit = len(subwords().encode(long)) - 1
    model = translator(max_source=limit, strategy=Greedy())
    (found,) = model.translate([f"{TEXTS[2]} {long}"])
    assert "line 1: has a sentence that is longer than" in str(found.notes[0])
    assert found.text.startswith(model.translate([TEXTS[2]])[0].text)


def test_sentences_are_translated_one_by_one_and_white_space_is_kept() -> None:
    model = translator(strategy=Greedy())
    first, second, third = (one.text for one in model.translate(TEXTS[:3]))
    (found,) = model.translate([f" {TEXTS[0]}  {TEXTS[1]}\n\n{TEXTS[2]}\n"])
    assert found.text == f" {first}  {second}\n\n{third}\n"
    assert found.score == pytest.approx(sum(one.score for one in model.translate(TEXTS[:3])), abs=1e-4)
    (whole,) = model.translate([f"{TEXTS[0]} {TEXTS[1]}"], split="line")
    assert whole.text == translator(strategy=Greedy(), split="line").translate([f"{TEXTS[0]} {TEXTS[1]}"])[0].text
    assert len(model.lay_out(f"{TEXTS[0]} {TEXTS[1]}").pieces) == 2


@given(st.text(max_size=30))
@settings(max_examples=20, deadline=None)
def test_any_text_has_a_translation_with_its_line_breaks(text: str) -> None:
    (found,) = translator(strategy=Greedy(max_length=3)).translate([text])
    assert found.text.count("\n") == text.count("\n")


def test_a_keeper_gets_texts_with_placeholders_alone() -> None:
    calls = []

    class Braces:
        def finds(self, text: str) -> list[tuple[int, int]]:
            return [found.span() for found in re.finditer(r"\{\w+\}", text)]

        def __call__(self, texts, translate, repair, lay_out) -> list[Translation]:
            calls.append((texts, [lay_out(text, []).pieces for text in texts]))
            return [replace(one, text="kept", alignment=()) for one in translate(texts)]

    model = translator(keeper=Braces())
    found = model.translate(["A dog", "Hi {x}. Yes.", "A dog"], prefixes=["", "", "Zwei"])
    assert calls == [(["Hi {x}. Yes."], [("Hi {x}.", "Yes.")])]
    assert (found[1].text, found[1].alignment) == ("kept", None)  # no alignments were asked for
    assert found[0].text == translator().translate(["A dog"])[0].text
    assert model.translate(["{x}"], prefixes=["Zwei"])[0].text != "kept"


def test_a_translation_that_does_not_end_is_noted() -> None:
    model = Fake(len(subwords()), end=-20.0)
    (found,) = Translator(model, subwords(), subwords(), Greedy(max_length=3)).translate(["A dog"])
    assert [str(note) for note in found.notes] == [
        "line 1: the translation did not end within 3 tokens and was cut there"
    ]


def test_a_prefix_is_what_the_translation_starts_with() -> None:
    found = translator().translate(TEXTS[:2], prefixes=["Zwei Hunde", ""])
    assert found[0].text.startswith("Zwei Hunde")
    assert found[1].text == translator().translate(TEXTS[1:2])[0].text


def test_a_prefix_starts_the_first_part_of_a_long_text_alone() -> None:
    limit = max(len(subwords().encode(text)) for text in TEXTS[:2]) + 1
    model = translator(max_source=limit)
    (whole,) = model.translate([" ".join(TEXTS[:2])], prefixes=["Zwei Hunde"])
    first, second = model.translate(TEXTS[:2], prefixes=["Zwei Hunde", ""])
    assert whole.text == f"{first.text} {second.text}".strip()


def test_alignments_come_from_the_aligner_and_count_the_words_of_all_parts() -> None:
    seen = []

    def first_to_first(pairs: list[Pair]) -> list[Links]:
        seen.extend(pairs)
        return [(Link(0, 0, 0.5),) for _ in pairs]

    limit = max(len(subwords().encode(text)) for text in TEXTS[:2]) + 1
    model = translator(aligner=first_to_first, max_source=limit, strategy=Greedy(min_length=2))
    found = model.translate([TEXTS[0], "", " ".join(TEXTS[:2])], alignments=True)
    words = len(words_of(seen[1].target))
    first, second = Link(0, 0, 0.5), Link(len(words_of(TEXTS[0])), words, 0.5)
    assert [one.alignment for one in found] == [(first,), (), (first, second)]
    assert seen[0].source_ids == tuple(subwords().encode(TEXTS[0]))
    assert model.translate(TEXTS[:1])[0].alignment is None


def test_an_ensemble_translates() -> None:
    known = subwords()
    models = [Fake(len(known), seed=seed, end=3.0) for seed in (1, 2)]
    assert Translator(models, known, known, Beam(min_length=3)).translate(TEXTS[:1])[0].text


def test_wrong_use_is_refused() -> None:
    known = subwords()
    with pytest.raises(UsageError, match="use Generator"):
        Translator(FakeLanguage(len(known)), known, known)
    with pytest.raises(UsageError, match="max_source must be at least 2"):
        translator(max_source=1)
    with pytest.raises(UsageError, match="a list of texts"):
        translator().translate("A dog")
    with pytest.raises(UsageError, match="1 texts, but 2 prefixes"):
        translator().translate(["A dog"], prefixes=["", ""])
    with pytest.raises(UsageError, match="no aligner"):
        translator().translate(["A dog"], alignments=True)
    with pytest.raises(UsageError, match="1 sources, but 0 targets"):
        translator().score(["A dog"], [])


def test_gradients_are_not_recorded() -> None:
    model = translator()
    model.translate(TEXTS[:1])
    assert torch.is_grad_enabled()
    assert all(weight.grad is None for weight in model.models[0].parameters())


def test_workers_change_nothing_and_leave_the_model_as_it_was() -> None:
    texts = TEXTS * 30
    model = translator(workers=3, batch_tokens=60)
    model.models[0].train()
    found = model.translate(texts, strategy=Beam(size=3, max_length=9))
    assert model.models[0].training
    assert found == translator(workers=1, batch_tokens=60).translate(texts, strategy=Beam(size=3, max_length=9))


def test_there_are_as_many_workers_as_threads_unless_set() -> None:
    assert translator().workers == torch.get_num_threads()
    assert translator(workers=5).workers == 5


def test_a_shortlist_is_what_texts_are_translated_with() -> None:
    known = subwords()
    nothing = [np.array([], dtype=np.int64)] * len(known)
    few = np.arange(4, 12)
    found = translator(shortlist=Shortlist(nothing, few, len(known))).translate(TEXTS)
    assert {token for one in found for token in one.n_best[0].tokens} <= set(few.tolist())
    everything = Shortlist(nothing, np.arange(len(known)), len(known))
    same = translator(shortlist=everything).translate(TEXTS)
    assert [one.text for one in same] == [one.text for one in translator().translate(TEXTS)]


def test_learned_positions_bound_both_sides_and_no_text_spoils_its_neighbors() -> None:
    known = subwords()
    torch.manual_seed(0)
    design = Transformer(encoder_layers=1, decoder_layers=1, feedforward=16, width=16, heads=2, positions="learned(12)")
    model = Translator(design.build({"source": len(known), "target": len(known)}).eval(), known, known, Greedy())
    short, long = "dog runs", " ".join(TEXTS)
    found = model.translate([short, long, short])
    assert found[0].text == found[2].text == model.translate([short])[0].text
    assert len(found[0].n_best[0].tokens) <= 11
    assert "longer than the 12 tokens that the model reads" in str(found[1].notes[0])
    with pytest.raises(UsageError, match=r"a prefix has \d+ tokens, but the model has learned 12 positions"):
        model.translate([short], prefixes=[long])
    with pytest.raises(UsageError, match=r"pair 2 has \d+ tokens on a side, but the model has learned 12 positions"):
        model.score([short, long], [short, short])


def test_a_strategy_is_a_text_or_a_value_and_n_best_a_number() -> None:
    model = translator()
    assert model.translate(TEXTS[:2], strategy="beam(size=6, n_best=3)") == model.translate(
        TEXTS[:2], strategy=Beam(size=6), n_best=3
    )
    assert [len(one.n_best) for one in model.translate(TEXTS[:2], n_best=2)] == [2, 2]


def test_terms_of_a_glossary_come_out_as_given() -> None:
    model = translator(max_source=12, batch_tokens=40)
    word = next(word for text in TEXTS for word in text.split() if word.isalpha() and len(word) > 3)
    other = next(text for text in TEXTS if word not in text.split())
    plain = model.translate([*TEXTS, other])
    bound = model.translate([*TEXTS, other], glossary={word: "Zwei Hunde"}, strategy=Beam(size=3, n_best=2))
    assert any(word in text.split() for text in TEXTS)
    for text, before, after in zip([*TEXTS, other], plain, bound, strict=True):
        if word in text.split():
            assert all("Zwei Hunde" in one.text for one in after.n_best)
            (alone,) = model.translate([text], glossary={word: "Zwei Hunde"}, strategy=Beam(size=3, n_best=2))
            assert alone.text == after.text
        else:
            assert after.text == model.translate([text], strategy=Beam(size=3, n_best=2))[0].text
            assert before.text
        assert not any("left out" in note.message for note in after.notes)


def test_a_term_that_does_not_fit_is_noted() -> None:
    (found,) = translator(strategy=Beam(max_length=1)).translate(["A dog"], glossary={"dog": "Zwei kleine Hunde"})
    assert "line 1: the term 'dog' was left out: 'Zwei kleine Hunde' did not fit" in [str(x) for x in found.notes][-1]


def test_a_glossary_needs_a_beam_only_where_it_has_terms() -> None:
    model = translator(strategy=Greedy())
    assert model.translate(["A cat"], glossary={"dog": "Hund"})[0].text == model.translate(["A cat"])[0].text
    with pytest.raises(UsageError, match="beam search"):
        model.translate(["A dog"], glossary={"dog": "Hund"})


def copying(design: Seq2seq | Transformer | None = None, **changes: object) -> Translator:
    """Untrained, but it copies more than it writes."""
    torch.manual_seed(4)
    known = subwords()
    design = design or Seq2seq(width=12, copy=Copying())
    model = design.build({"source": len(known), "target": len(known)})
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
        model.output.gate.bias.fill_(-6.0)
    return Translator(model, known, known, Greedy(max_length=6, no_repeat_ngram=1), **changes)


UNKNOWN = ["Żółw Ω ж", "Ω Ω Ω Ω ж.", f"{TEXTS[0]} Ω"]


@pytest.mark.parametrize(
    "strategy", ["greedy(max_length=6, no_repeat_ngram=1)", "beam(size=4, n_best=3, max_length=6)", "sample(n_best=2)"]
)
def test_unknown_words_are_copied_in_any_company(strategy: str) -> None:
    """By every strategy: the texts have the words as they are, and scores are those of scoring."""
    model = copying(batch_tokens=2000, split="line")
    found = model.translate(UNKNOWN, strategy=strategy)
    assert "Ω" in "".join(other.text for one in found for other in one.n_best)
    assert "<unk>" not in "".join(other.text for one in found for other in one.n_best)
    for text, one in zip(UNKNOWN, found, strict=True):
        (alone,) = model.translate([text], strategy=strategy)
        assert [other.text for other in alone.n_best] == [other.text for other in one.n_best]
        assert alone.score == pytest.approx(one.score, abs=1e-3)
        known = model.opened(text).target
        for other in one.n_best:
            assert other.text == known.decode(other.tokens)
            if known.encode(other.text) == list(other.tokens):
                assert model.score([text], [other.text])[0] == pytest.approx(other.token_scores, abs=1e-3)


def test_a_prefix_may_have_unknown_words_of_the_source() -> None:
    (found,) = copying().translate(["Ω ж Żółw"], prefixes=["Żółw"])
    assert found.text.startswith("Żółw")


def test_copying_models_are_an_ensemble_of_their_own_and_have_no_shortlist() -> None:
    one, other = copying(), translator()
    both = Translator([*one.models, *one.models], one.source, one.target, one.strategy)
    assert [found.text for found in both.translate(UNKNOWN)] == [found.text for found in one.translate(UNKNOWN)]
    with pytest.raises(CombinationError, match="cannot mix models that copy words of the source with others"):
        Translator([*one.models, *other.models], one.source, one.target)
    words = Shortlist.learn([([5, 3], [5, 3])], len(one.source), len(one.target))
    with pytest.raises(UsageError, match="load it without a shortlist"):
        copying(shortlist=words)


def test_a_prefix_that_cannot_be_written_is_refused_in_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"^translate: the prefix 'Żółw' has .*, which the model cannot write$"):
        translator().translate(["A dog"], prefixes=["Żółw"])
    with pytest.raises(UsageError, match="which the model cannot write"):
        copying().translate(["Ω ж"], prefixes=["Żółw"])  # copied from a source alone that has it


def test_a_model_that_copies_is_not_patched_for_what_its_vocabulary_lacks() -> None:
    known = subwords()
    (kept, copied) = (Keeping.between(known, known, copies=copies) for copies in (False, True))
    assert kept.finds("A dog 😀")
    assert not copied.finds("A dog 😀")
    assert copied.finds("A dog {name}")  # placeholders are kept by both

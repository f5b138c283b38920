"""What is told of a translation agrees with what the model says when it is asked in other ways."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.alignment.cross_weights import look
from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import EOS, words
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.translator import Translator
from regard.inspection.explanation.explain import OTHERS, explain
from regard.layers.reader import SingleHead
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer

TEXTS = ["the dog sees the cat", "the cat finds the house . the dog finds a cat"]
TRANSFORMER = Transformer(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=2)
DESIGNS = {
    "rnn": Seq2seq(width=8),
    "step by step": Seq2seq(width=8, query="previous", context="both", attention=SingleHead(score="additive")),
    "transformer": TRANSFORMER,
}


def translator(design: Seq2seq | Transformer = TRANSFORMER, kind: str = "word", **settings: object) -> Translator:
    subwords = learn_subwords(TEXTS, SubwordSettings(kind=kind, min_count=1))
    size = len(subwords)
    model = design.build(dict.fromkeys(design.needs, size)).eval()
    return Translator(model, subwords, subwords, Beam(size=3, max_length=6), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("kind", ["word", "character"])
def test_it_tells_what_the_translator_does(name: str, kind: str) -> None:
    model = translator(DESIGNS[name], kind)
    told = explain(model, TEXTS[0])
    [right] = model.translate([TEXTS[0]])
    assert told.source == TEXTS[0]
    assert told.target == right.text
    [part] = told.parts
    own = [written.log_probability for written in part.target]
    np.testing.assert_allclose(own, right.n_best[0].token_scores, atol=1e-4)
    assert told.score == pytest.approx(right.score, abs=1e-3)
    assert not any(written.forced for written in part.target)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_weights_are_those_of_a_recording(name: str) -> None:
    model = translator(DESIGNS[name])
    [part] = explain(model, *TEXTS[:1], target="the house finds").parts
    for layer in part.layers:
        looked = look(model, TEXTS[0], "the house finds", layer.name)
        np.testing.assert_allclose(layer.weights.mean(0), looked.weights, atol=1e-5)
        assert [token.text for token in part.source] == list(looked.source)
        assert [written.token.text for written in part.target] == list(looked.target)
    assert len(part.layers) == (2 if name == "transformer" else 1)
    assert part.path == ()
    assert all(written.forced for written in part.target)


def test_alternatives_are_the_likeliest_other_tokens() -> None:
    model = translator()
    said = model.target.encode("the house finds")
    [part] = explain(model, TEXTS[0], target="the house finds").parts
    for at, written in enumerate(part.target):
        chances = {}
        for number in range(3, len(model.target)):
            tried = [*said[:at], number]
            scores = model._score_batch([([*model.source.encode(TEXTS[0]), EOS], tried)])[0]
            chances[number] = scores[at]
        own = (*said, EOS)[at]
        assert written.log_probability == pytest.approx(chances.pop(own), abs=1e-4)
        chances.pop(model.target.pieces.index("▁"))  # a lone space can be written, but not chosen
        best = sorted(chances.values(), reverse=True)[:OTHERS]
        np.testing.assert_allclose([other.log_probability for other in written.alternatives], best, atol=1e-4)


def test_choosing_an_alternative_goes_on_from_it() -> None:
    model = translator()
    [part] = explain(model, TEXTS[0]).parts
    for place in (0, 1):
        for other in part.target[place].alternatives:
            told = explain(model, TEXTS[0], prefix=other.prefix)
            assert told.target.startswith(other.prefix.rstrip("\n"))
            [again] = told.parts
            forced = [written.forced for written in again.target]
            given = len(model.target.encode(other.prefix)) + other.prefix.endswith("\n")
            assert forced == [at < given for at in range(len(forced))]
            assert given > place


def test_an_alternative_can_be_the_end() -> None:
    told = explain(translator(), TEXTS[0], prefix="the house\n")
    assert told.target == "the house"
    assert [written.forced for written in told.parts[0].target] == [True, True, True]
    [part] = explain(translator(), TEXTS[0], target="the house").parts
    for written in part.target:
        for other in written.alternatives:
            assert (other.token.text == "⏎") == other.prefix.endswith("\n")


@pytest.mark.parametrize("strategy", [Beam(size=4, max_length=6), Greedy(max_length=6), Sample(max_length=6)])
def test_the_path_spells_the_translation(strategy: Beam | Greedy | Sample) -> None:
    told = explain(translator(), TEXTS[0], strategy=strategy)
    [part] = told.to_dict()["parts"]
    chosen = [[branch for branch in step if branch["chosen"]] for step in part["path"]]
    assert all(len(step) <= 1 for step in chosen)
    spelled = [step[0]["text"] for step in chosen if step]
    assert spelled == [token["text"] for token in part["target"]]
    assert chosen[len(spelled) - 1][0]["score"] == pytest.approx(told.score, abs=1e-3)


def test_a_long_text_is_told_in_parts_whose_words_are_numbered_through() -> None:
    model = translator(max_source=6)
    told = explain(model, TEXTS[1])
    assert len(told.parts) > 1
    assert told.target == model.translate([TEXTS[1]])[0].text
    plain = told.to_dict()
    for side in ("source", "target"):
        numbers = [token["word"] for part in plain["parts"] for token in part[side] if token["word"] is not None]
        assert numbers == sorted(numbers)
        assert sorted(set(numbers)) == list(range(len(plain[side]["words"])))
    assert plain["source"]["words"] == words(TEXTS[1])
    assert all(link["source"] < len(words(TEXTS[1])) for link in plain["links"])


def test_a_choice_in_a_later_part_leaves_the_earlier_ones_alone() -> None:
    model = translator(max_source=6)
    before = explain(model, TEXTS[1])
    other = next(one for one in before.parts[1].target[0].alternatives if one.token.text != "⏎")
    after = explain(model, TEXTS[1], prefix=other.prefix)
    assert after.parts[0].texts == before.parts[0].texts
    assert after.parts[1].target[0].token.text == other.token.text
    assert after.parts[1].target[0].forced
    assert not after.parts[1].target[1].forced


def test_lines_beyond_the_parts_are_one_prefix() -> None:
    told = explain(translator(), TEXTS[0], prefix="the\nhouse")
    assert told.target.startswith("the house")
    assert [written.forced for written in told.parts[0].target][:3] == [True, True, False]


def test_words_are_linked_as_the_aligner_links_them() -> None:
    model = translator()
    told = explain(model, TEXTS[0], target="the house finds")
    assert [link.target for link in told.links] == [0, 1, 2]
    assert told.heads is not None
    model.aligner = lambda pairs: [() for _ in pairs]
    assert explain(model, TEXTS[0]).links == ()


def test_a_model_without_attention_still_has_alternatives_and_a_path() -> None:
    told = explain(translator(Seq2seq(width=8, attention=None)), TEXTS[0])
    [part] = told.parts
    assert (part.layers, told.links, told.heads) == ((), (), None)
    assert part.path
    assert len(part.target[0].alternatives) == OTHERS


def test_an_ensemble_is_told_with_the_layers_of_all_its_models() -> None:
    one = translator()
    torch.manual_seed(1)
    two = TRANSFORMER.build(dict.fromkeys(TRANSFORMER.needs, len(one.target))).eval()
    model = Translator([one.models[0], two], one.source, one.target, Beam(size=2, max_length=6))
    [part] = explain(model, TEXTS[0]).parts
    names = [layer.name for layer in part.layers]
    assert names == [*names[:2], *(f"2:{name}" for name in names[:2])]
    right = model.translate([TEXTS[0]])[0].n_best[0].token_scores
    np.testing.assert_allclose([written.log_probability for written in part.target], right, atol=1e-4)


def test_json_holds_all_of_it_in_few_digits() -> None:
    told = explain(translator(), TEXTS[0])
    plain = told.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    [part] = plain["parts"]
    head = part["layers"][1]["heads"][0]
    np.testing.assert_allclose(head["weights"], told.parts[0].layers[1].weights[0], atol=5.1e-4)
    assert all(len(str(cell)) <= 5 for row in head["weights"] for cell in row)


def test_nothing_is_told_of_nothing() -> None:
    told = explain(translator(), "  ")
    assert (told.target, told.parts, told.to_dict()["source"]["words"]) == ("", (), [])


def test_a_model_in_training_is_told_as_it_decodes() -> None:
    model = translator(replace(TRANSFORMER, dropout=0.5))
    right = explain(model, TEXTS[0]).to_dict()
    model.models[0].train()
    assert explain(model, TEXTS[0]).to_dict() == right
    assert model.models[0].training


def test_prefix_and_target_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="give a prefix or a whole target, not both"):
        explain(translator(), TEXTS[0], prefix="the", target="the house")


def test_a_notebook_gets_a_frame_that_nothing_can_leave() -> None:
    shown = explain(translator(), 'the "dog" & </iframe>')._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count("</iframe>") == 1
    assert "allow-same-origin" not in shown

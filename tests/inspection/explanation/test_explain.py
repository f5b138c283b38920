"""What is told of a translation agrees with what the model says when it is asked in other ways."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.alignment.cross_weights import look
from regard.attention.record import record
from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import BOS, EOS, words
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.translator import Translator
from regard.inspection.explanation.explain import Detail, explain, untranslated
from regard.inspection.explanation.forced import ATTENTION_KINDS
from regard.inspection.explanation.looking import OTHERS
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


def test_one_part_is_looked_into_and_the_others_are_translated() -> None:
    model = translator(max_source=6)
    whole = explain(model, TEXTS[1])
    second = TEXTS[1].index(whole.parts[1].texts[0])
    told = explain(model, TEXTS[1], detail=Detail(at=second))
    assert told.target == whole.target
    assert [bool(part.target) for part in told.parts] == [at == 1 for at in range(len(whole.parts))]
    assert [part.texts for part in told.parts] == [part.texts for part in whole.parts]
    assert told.score == pytest.approx(whole.score, abs=1e-3)
    plain = told.to_dict()
    numbers = sorted({token["word"] for token in plain["parts"][1]["source"][:-1]})
    assert [plain["source"]["words"][number] for number in numbers] == words(whole.parts[1].texts[0])
    assert "".join(part["gaps"]["source"] + part["texts"]["source"] for part in plain["parts"]) == TEXTS[1]
    assert "".join(part["gaps"]["target"] + part["texts"]["target"] for part in plain["parts"]) == told.target
    later = explain(model, TEXTS[1], detail=Detail(at=10_000))
    assert later.parts[-1].target and not later.parts[0].target
    none = explain(model, TEXTS[1], detail=Detail(longest=3))
    assert (none.target, none.links) == (whole.target, ())


def test_chosen_beginnings_hold_in_parts_that_are_not_looked_into() -> None:
    model = translator(max_source=6)
    told = explain(model, TEXTS[1], prefix="house\nthe cat", detail=Detail(at=0))
    assert told.parts[0].texts[1] == "house"
    assert told.parts[1].texts[1].startswith("the cat")
    last = explain(model, TEXTS[1], prefix="house\nthe cat", detail=Detail(at=10_000))
    assert last.target == told.target
    assert last.score == pytest.approx(told.score, abs=1e-3)


def test_self_attention_is_recorded_on_request() -> None:
    model = translator()
    [part] = explain(model, TEXTS[0], target="the house finds", detail=Detail(attention=ATTENTION_KINDS)).parts
    batch = torch.tensor([[*model.source.encode(TEXTS[0]), EOS]])
    target = torch.tensor([[BOS, *model.target.encode("the house finds")]])
    with record(model.models[0], "*self_attention") as seen, torch.no_grad():
        model.models[0](batch, torch.tensor([batch.shape[1]]), target)
    for layer in (*part.encoder, *part.decoder):
        torch.testing.assert_close(layer.weights, seen[layer.name][0][0], atol=1e-5, rtol=0)
    assert [len(part.encoder), len(part.decoder), len(part.layers)] == [1, 2, 2]
    [plain] = explain(model, TEXTS[0]).to_dict()["parts"]
    assert (plain["encoder"], plain["decoder"]) == ([], [])
    assert explain(model, TEXTS[0]).to_dict()["attention"] == ["cross", "encoder", "decoder"]
    assert explain(translator(Seq2seq(width=8)), TEXTS[0]).attention == ("cross",)


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


def test_a_text_that_is_left_as_it_is_has_nothing_to_look_into() -> None:
    plain = untranslated("das haus").to_dict()
    assert plain["target"] == {"text": "das haus", "words": ["das", "haus"], "spaced": [True, True]}
    [part] = plain["parts"]
    assert (part["target"], part["texts"]["target"], plain["attention"]) == ([], "das haus", [])
    assert untranslated(" ").to_dict()["parts"] == []


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


def test_a_prefix_of_nothing_is_no_fault() -> None:
    assert explain(translator(), "", prefix="so").parts == ()

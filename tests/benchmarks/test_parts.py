"""The parts of the benchmarks that need no peers."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.data.pairs import Batch, collate
from regard.models.transformer import Transformer
from regard.training.loss import CrossEntropy

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER / "peers"))


@pytest.fixture
def design():
    return Transformer(encoder_layers=2, decoder_layers=3, width=16, feedforward=24, heads=2, dropout=0.0)


def batch_of(pairs: int, source: int, target: int, vocabulary: int) -> Batch:
    rows = [torch.randint(4, vocabulary, (pairs, length)).numpy() for length in (source, target)]
    return collate(list(rows[0]), list(rows[1]))


def test_the_products_are_those_that_torch_counts(design):
    from products import Shape, Sizes, training

    model, batch = design.build({"source": 50, "target": 50}), batch_of(3, 7, 5, 50)
    with FlopCounterMode(display=False) as counter:
        hidden = model.hidden(batch.source, batch.source_lengths, batch.target_in)
        CrossEntropy(smoothing=0.1, rows=None)(model, hidden, batch.target_out).total.backward()
    ours = training(Sizes(2, 3, 16, 24, 2, 50), Shape(3, 7, 5, 21, batch.count))
    counted = counter.get_flop_counts()["Global"]
    plain = sum(count for kind, count in counted.items() if "attention" not in str(kind))
    assert sum(product.flops for product in ours if product.batch == 1) == plain
    pairs = 2 * 7 * 7 + 3 * 5 * 5 + 3 * 5 * 7  # of queries and keys, in all layers
    attention = 3 * 2 * (2 * 3 * 16 * pairs)  # logits and reading, once forward and twice backward
    assert sum(product.flops for product in ours if product.batch > 1) == attention


def test_a_workbench_does_every_product_it_is_given(monkeypatch):
    import products

    seen = []
    monkeypatch.setattr(products, "BLOCK", 12)
    monkeypatch.setattr(products, "FEWEST", 1)
    real = torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b, out: seen.append((*a.shape, b.shape[1])) or real(a, b, out=out))
    products.Workbench().do([products.Product(1, 5, 3, 4, 2), products.Product(2, 5, 3, 4, 1)])
    assert seen == 2 * [(3, 3, 4), (2, 3, 4)]


def test_weights_are_handed_on_under_plain_names(design, tmp_path):
    import numpy as np
    from weights import write_weights

    model = design.build({"source": 50, "target": 50})
    write_weights(tmp_path / "weights.npz", model, design)
    with np.load(tmp_path / "weights.npz") as file:
        arrays = dict(file)
    joint = model.decoder.blocks[1].self_attention.projections.joint
    assert torch.equal(torch.from_numpy(arrays["decoder.1.self.key.weight"]), joint.weight[16:32])
    source = model.decoder.blocks[2].cross.projections.source
    assert torch.equal(torch.from_numpy(arrays["decoder.2.cross.value.bias"]), source.bias[16:])
    weights = sum(array.size for name, array in arrays.items() if not name.startswith("sizes/"))
    assert weights == sum(weight.numel() for weight in model.parameters())


def test_a_model_that_others_cannot_have_is_told_apart(design):
    from weights import obstacle

    assert obstacle(design) is None
    assert "norm" in obstacle(Transformer(norm_place="after"))


def test_a_contestant_answers_and_says_why_it_stopped(tmp_path, monkeypatch):
    import contestants

    script = tmp_path / "one.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(FOLDER / 'peers')!r})\n"
        "from driver import serve\n"
        "def half(number):\n"
        "    print('noise')\n"
        "    return {'half': number // 2 if number else sys.exit('nothing to halve')}\n"
        "serve(half=half)\n"
    )
    monkeypatch.setattr(contestants, "PEERS", tmp_path)
    one = contestants.Contestant("one", sys.executable, "one.py", work=tmp_path)
    assert one.ask("half", number=6) == {"half": 3}
    assert one.peak_mb() > 1
    with pytest.raises(SystemExit, match="nothing to halve"):
        one.ask("half", number=0)


def test_everybody_has_every_turn_in_changing_order():
    from contestants import rounds

    asked = []

    class Fake:
        def __init__(self, name: str) -> None:
            self.name = name

        def ask(self, **request: object) -> dict[str, object]:
            asked.append(self.name)
            return request

    found = rounds({"a": Fake("a"), "b": Fake("b")}, [{"do": 0}, {"do": 1}, {"do": 2}], warm_up=1)
    assert asked == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": [{"do": 1}, {"do": 2}], "b": [{"do": 1}, {"do": 2}]}


def test_environments_pin_torch():
    import tomllib

    table = tomllib.loads((FOLDER / "peers" / "environments.toml").read_text())
    assert any(pin.startswith("torch==") for pin in table["constraints"])
    assert all("==" in name or name == "torch" for names in table["packages"].values() for name in names)


def test_results_become_markdown(tmp_path, monkeypatch, capsys):
    import report

    rows = [{"contestant": "Regard", "speed": "3"}]
    file = tmp_path / "train.json"
    file.write_text(json.dumps({"date": "2026-01-02", "machine": "a machine", "results": {"Training": rows}}))
    monkeypatch.setattr(sys, "argv", ["report.py", str(file)])
    report.main()
    said = capsys.readouterr().out
    assert "2026-01-02 (a machine)" in said
    assert "### Training" in said
    assert "| Regard | 3 |" in said


def test_absent_data_is_said_plainly(tmp_path):
    from multi30k import data_folder

    with pytest.raises(SystemExit, match="Multi30k is not here"):
        data_folder(tmp_path)


def test_captions_are_written_in_other_scripts():
    from advice_corpora import agglutinated, cyrillic, logographic, semitic, spelled, unspaced

    assert agglutinated("Ein Mann in einem Haus.") == "Mannein Hauseinin."
    assert cyrillic("Tschüss") == "чюсс"
    assert spelled(771_890) == "seven hundred seventy-one thousand eight hundred ninety"
    text = "Ein Mann steht."
    assert len(semitic(text).split()) == 3
    assert len(logographic(text)) == 1 + 2 + 2 + 1
    assert len(unspaced(text)) == 12
    assert not unspaced(text).isascii()


def test_a_training_is_done_once_for_each_of_its_settings(monkeypatch, tmp_path):
    import advice

    pairs = [(f"a{at} b", f"c{at} d") for at in range(20)]
    monkeypatch.setitem(advice.CORPORA, "made", lambda: advice.Parts(pairs, pairs[:2], pairs[:2], "exact"))
    bench = advice.Bench("made", tmp_path, 4.0)
    done = []
    monkeypatch.setattr(bench, "_train", lambda *given: done.append(given[1]) or advice.Tried(50.0, given[1], 7))
    assert advice.row_of(bench)["advised / best"] == "1.00"
    assert done == [4.0 / 6] * 4 + [4.0] * 3  # the grid, the best two of it, and the advised settings
    assert advice.row_of(bench)["its score"] == "50.0"
    assert len(done) == 7


def test_a_bench_trains_as_many_steps_as_fit(monkeypatch, tmp_path):
    import advice

    pairs = [(f"a{at % 3} b", f"c{at % 3} d") for at in range(40)]
    parts = advice.Parts(pairs, pairs[:2], pairs[:2], "exact", ("characters", "words"))
    monkeypatch.setitem(advice.CORPORA, "made", lambda: parts)
    monkeypatch.setattr(advice, "step_time", lambda table, place, data: 0.5)
    bench = advice.Bench("made", tmp_path, 4.0)
    assert list(bench.grid()) == ["Transformer, characters", "Transformer, words", "RNN, characters", "RNN, words"]
    table = bench.grid()["RNN, words"]
    table["model"] = table["model"] | {"width": 8}
    made = bench.tried("RNN, words", table, 4.0, "exact")
    assert made.steps == 8
    assert 0 <= made.score <= 100
    assert bench.tried("RNN, words", table, 4.0, advice.LIKELIHOOD).score < 0


def test_a_step_is_timed_as_it_is_trained(monkeypatch, tmp_path):
    """In the precision that the trainer takes, which tells the speed of a step."""
    import advice

    pairs = [(f"a{at % 3} b", f"c{at % 3} d") for at in range(40)]
    monkeypatch.setitem(advice.CORPORA, "made", lambda: advice.Parts(pairs, pairs[:2], pairs[:2], "exact"))
    bench = advice.Bench("made", tmp_path, 4.0)
    table = bench.grid()["Transformer, 1,000 subwords"]
    sizes = {"name": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 8, "heads": 2, "feedforward": 8}
    table |= {"model": sizes, "subwords": {"kind": "word"}, "training": table["training"] | {"precision": "float32"}}
    assert 0 < advice.step_time(table, tmp_path / "trial", bench.folder) < 60
    assert len((tmp_path / "trial" / "log.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize("name", ["logistic", "MLP", "CNN", "GRU"])
def test_models_side_by_side_are_those_of_torch(name):
    """The published models of MNIST-1D, each seed beside the others, against torch's modules one by one."""
    import mnist1d

    models = [mnist1d.theirs(name) for _ in range(3)]
    weights, _ = torch.func.stack_module_state(models)
    x = torch.randn(3, 5, mnist1d.LENGTH)
    found = mnist1d.THEIRS[name][0](weights, x)
    for model, own, logits in zip(models, x, found, strict=True):
        if name == "CNN":
            hidden = own[:, None]
            for taps in model[:3]:
                hidden = torch.conv1d(hidden, taps.weight, taps.bias, stride=2, padding=1).relu()
            expected = model[3](hidden.flatten(1))
        elif name == "GRU":
            expected = model[1](model[0](own.T[:, :, None])[0].transpose(0, 1).flatten(1))
        elif name == "MLP":
            hidden = model[0](own).relu()
            expected = model[2](hidden + model[1](hidden).relu())
        else:
            expected = model(own)
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["BERT", "XLNet", "Swin"])
def test_a_row_of_the_families_compares_the_same_weights(name, tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    import families

    monkeypatch.setattr(families, "WORDS", 500)
    family = next(one for one in families.FAMILIES if one.name == name)
    with torch.inference_mode():
        both = families.both_of(family, tmp_path)
        assert max(both.errors()) < 1e-5
        assert both.rounding() < 1e-5
        for weight in both.ours.parameters():
            weight.mul_(1.1)
        shutil.rmtree(tmp_path / "again")
        assert both.errors()[0] > 1e-3

"""Law: a fast path computes what the model computes, or leaves it to the model.

Every member of every folder that a design chooses from is tried, and models whose parts were changed by hand, against
packed decoding and the two exports.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import torch
from torch import Tensor, nn

from regard.attention.mask import MASKS
from regard.attention.memory import MEMORIES
from regard.attention.multihead import Attention
from regard.attention.part import Sizes
from regard.base.catalog import Catalog
from regard.base.errors import UsageError
from regard.decoding.packed.decoder import Packed, packed
from regard.decoding.workers import one_core
from regard.interop.ctranslate2_spec import check_model, library, transformer_spec
from regard.interop.onnx_graphs import make_graphs, zeros
from regard.layers.activation import ACTIVATIONS
from regard.layers.block import Block
from regard.layers.feed import FEEDS
from regard.layers.mixer import MIXERS, Mixer
from regard.layers.residual import Residual
from regard.models.gpt import Gpt
from regard.models.t5 import T5
from regard.models.transformer import Transformer
from regard.models.writer import Transducer, Writer

from .examples import BATCH, examples, settings_of

VOCABULARY, STEPS = 40, 6
LENGTHS = torch.tensor([4, 7])
SMALL: dict[type, dict[str, Any]] = {
    Transformer: {"encoder_layers": 1, "decoder_layers": 2, "width": 32, "heads": 2, "feedforward": 24, "tie": "none"},
    Gpt: {"layers": 2, "width": 32, "heads": 2, "feedforward": 24, "tie": "none"},
    T5: {"encoder_layers": 1, "decoder_layers": 2, "width": 32, "heads": 2, "feedforward": 24},
}
SIZES = Sizes(width=32, heads=2, key_heads=2, query_width=16, key_width=16, value_width=16)
TOLERANCE = 1e-4
"""of the largest logit"""

Change = Callable[[Any], None]


# Models whose parts are chosen by settings


def chosen(design: type) -> Iterator[Any]:
    """The design with each of its choices made in every way."""
    for name, hint in get_type_hints(design, include_extras=True).items():
        for catalog in (extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Catalog)):
            for member in catalog.names:
                for settings in settings_of(catalog, member):
                    shown = f"{design.__name__}({name}={member}{sorted(settings)})"
                    yield pytest.param(design, {name: {"name": member, **settings}}, id=shown)
    for field in dataclasses.fields(design):
        for choice in getattr(get_type_hints(design)[field.name], "__args__", ()):
            if isinstance(choice, str):  # one of a few words
                yield pytest.param(design, {field.name: choice}, id=f"{design.__name__}({field.name}={choice!r})")


def build(design: type, settings: dict[str, Any]) -> Writer:
    torch.manual_seed(1)
    made = design(**SMALL[design] | settings)
    model: Writer = made.build(dict.fromkeys(made.needs, VOCABULARY)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


@pytest.fixture
def model(design: type, settings: dict[str, Any]) -> Writer:
    try:
        return build(design, settings)
    except UsageError as error:
        pytest.skip(str(error))


packable_designs = pytest.mark.parametrize(("design", "settings"), [*chosen(Transformer), *chosen(Gpt), *chosen(T5)])
designs = pytest.mark.parametrize(("design", "settings"), [*chosen(Transformer), *chosen(Gpt)])


# Models whose parts are changed by hand


class Subclassed(nn.Linear):
    """Another map under the name of a linear one."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).tanh()


def another_norm(model: Any) -> None:
    model.decoder.layers[0].norms["feedforward"] = nn.RMSNorm(32)


def another_last_norm(model: Any) -> None:
    model.decoder.norm = nn.RMSNorm(32)


def no_norm(model: Any) -> None:
    model.decoder.layers[0].norms["feedforward"] = nn.Identity()


def another_epsilon(model: Any) -> None:
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 0.1


def one_other_epsilon(model: Any) -> None:
    model.decoder.layers[1].norms["feedforward"].eps = 0.1


def plain_norm(model: Any) -> None:
    model.decoder.norm = nn.LayerNorm(32, elementwise_affine=False)


def hooked(model: Any) -> None:
    model.decoder.layers[1].register_forward_hook(lambda module, inputs, output: 2 * output)
    model.decoder.layers[1].feedforward.register_forward_hook(lambda module, inputs, output: 2 * output)


def hooked_before(model: Any) -> None:
    model.decoder.layers[1].feedforward.register_forward_pre_hook(lambda module, inputs: (2 * inputs[0],))


def subclassed(model: Any) -> None:
    model.decoder.layers[0].feedforward.inner = Subclassed(32, 24)


def parametrized(model: Any) -> None:
    nn.utils.parametrizations.weight_norm(model.output)


def another_feed(model: Any) -> None:
    model.decoder.layers[0].feedforward = nn.Sequential(nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 32))


def other_heads(model: Any) -> None:
    attention = model.decoder.layers[1].self_attention
    attention.heads = attention.key_heads = 4


def another_scale(model: Any) -> None:
    model.target.scale = 3.0


def limited_vectors(model: Any) -> None:
    model.target.table.max_norm = 0.5


CHANGES: tuple[Change, ...] = (
    *(another_norm, another_last_norm, no_norm, another_epsilon, one_other_epsilon, plain_norm, hooked, hooked_before),
    *(subclassed, parametrized, another_feed, other_heads, another_scale, limited_vectors),
)


def masked(mask: Any) -> Change:
    def change(model: Any) -> None:
        for layer in model.decoder.layers:
            layer.self_attention.mask = mask

    return change


def remembering(memory: Any) -> Change:
    def change(model: Any) -> None:
        for layer in model.decoder.layers:
            layer.self_attention.memory = memory.build(SIZES)

    return change


def rebuilt(**values: Any) -> Change:
    """The first layer of the decoder is made of other values."""

    def change(model: Any) -> None:
        attention = Attention(heads=2, mask=MASKS.Causal())
        cross = Attention(heads=2) if isinstance(model, Transducer) else None
        usual = {"mixer": attention, "cross": cross, "feed": FEEDS.Plain(hidden=24), "residual": Residual()}
        model.decoder.layers[0] = Block(32, **usual | values)

    return change


def layers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every feed, activation, mixer and residual connection."""
    yield from ((f"feed={name}", {"feed": FEEDS.make(name).filled(hidden=24)}) for name in FEEDS.names)
    yield from ((f"activation={name}", {"feed": FEEDS.Plain(24, name)}) for name in ACTIVATIONS)
    mixers = {name: MIXERS.make(name) for name in MIXERS.names}
    yield from ((f"mixer={n}", {"mixer": mixer.causal()}) for n, mixer in mixers.items() if isinstance(mixer, Mixer))
    residuals = ({"norm": "rms"}, {"place": "after"}, {"scale": 1.3}, {"skip": 0.5}, {"dropout": 0.5})
    yield from ((f"residual={settings}", {"residual": Residual(**settings)}) for settings in residuals)


def changes() -> Iterator[Any]:
    yield from (pytest.param(rebuilt(**values), id=name) for name, values in layers())
    yield from (pytest.param(change, id=change.__name__) for change in CHANGES)
    yield from (pytest.param(masked(one.values[0]), id=one.id) for one in examples(MASKS))
    yield from (pytest.param(remembering(one.values[0]), id=one.id) for one in examples(MEMORIES))


changed = pytest.mark.parametrize("change", list(changes()))
both = pytest.mark.parametrize("design", [Transformer, Gpt])


# What is compared


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=TOLERANCE * float(expected.abs().max()), rtol=0)


def inputs(model: Writer) -> tuple[Any, Any, Tensor]:
    torch.manual_seed(2)
    source = torch.randint(4, VOCABULARY, (BATCH, 7)) if isinstance(model, Transducer) else None
    return source, LENGTHS if isinstance(model, Transducer) else None, torch.randint(4, VOCABULARY, (STEPS, BATCH))


@torch.no_grad()
def own_steps(model: Writer) -> list[Tensor]:
    """The logits of the model's own steps; where its parts do not go together, there is nothing to compare."""
    source, lengths, tokens = inputs(model)
    found = []
    try:
        state = model.start(source, lengths, BATCH)
        for token in tokens:
            logits, state = model.step(token, state)
            found.append(logits)
    except UsageError as error:
        pytest.skip(str(error))
    return found


@torch.no_grad()
def check_packed(model: Writer) -> None:
    fast = packed(model)
    if not isinstance(fast, Packed):
        return
    source, lengths, tokens = inputs(model)
    wanted = own_steps(model)
    with one_core():  # so that compiled steps are taken where there are
        for one in (fast, Packed(fast.model)):
            state = one.start(source, lengths, BATCH)
            for token, expected in zip(tokens, wanted, strict=True):
                logits, state = one.step(token, state)
                close(logits[:, :VOCABULARY], expected)
            hidden, _ = one.read(tokens.T.contiguous(), one.start(source, lengths, BATCH))  # all at once
            close(one.logits(hidden)[-1, :VOCABULARY], wanted[-1][-1])


@torch.no_grad()
def check_onnx(model: Writer) -> None:
    source, lengths, tokens = inputs(model)
    wanted = own_steps(model)
    try:
        graphs = {graph.name: graph for graph in make_graphs(model, "file")}
    except UsageError:
        return
    step = graphs["step"]
    state = {slot.name: zeros(slot, BATCH) for slot in step.slots if slot.zeros}
    if isinstance(model, Transducer):
        state |= dict(zip(graphs["start"].outputs, graphs["start"].module(source, lengths), strict=True))
    for token, expected in zip(tokens, wanted, strict=True):
        outputs = step.module(token, *(state[slot.name] for slot in step.slots))
        found = dict(zip(step.outputs, outputs, strict=True))
        close(found.pop("logits"), expected)
        state |= {name.removeprefix("next_"): tensor for name, tensor in found.items()}


@torch.no_grad()
def check_ctranslate2(model: Any, folder: Path) -> None:
    pytest.importorskip("ctranslate2")
    try:
        check_model(model)
    except UsageError:
        return
    pieces = ["<blank>", "<unk>", "<s>", "</s>", *(f"w{at}" for at in range(4, VOCABULARY))]
    spec = transformer_spec(model, (pieces, pieces))
    spec.validate()
    spec.optimize("float32")
    spec.save(str(folder))
    translator = library().Translator(str(folder), inter_threads=1, intra_threads=1)
    source, _, tokens = inputs(model)
    for row, length in zip(source, LENGTHS, strict=True):
        row[length - 1 :] = 0
        row[length - 1] = 3  # which CTranslate2 adds by itself
    texts = [[pieces[at] for at in row if at > 3] for row in source]
    targets = [[pieces[at] for at in row] for row in tokens.T]
    found = translator.score_batch(texts, targets)
    begun = torch.cat([torch.full((BATCH, 1), 2), tokens.T], 1)
    logits = model(source, LENGTHS, begun).log_softmax(-1)
    wanted = logits.gather(2, torch.cat([tokens.T, torch.full((BATCH, 1), 3)], 1)[..., None])[..., 0]
    close(torch.tensor([one.log_probs for one in found]), wanted)


# The laws


@packable_designs
def test_packed_steps_are_the_models_own_for_every_setting(model: Writer) -> None:
    check_packed(model)


@pytest.mark.parametrize("design", [Transformer, Gpt, T5])
@changed
def test_packed_steps_are_the_models_own_after_every_change(design: type, change: Change) -> None:
    model = build(design, {})
    change(model)
    check_packed(model.eval())


@designs
def test_onnx_graphs_are_the_model_for_every_setting(model: Writer) -> None:
    check_onnx(model)


@both
@changed
def test_onnx_graphs_are_the_model_after_every_change(design: type, change: Change) -> None:
    model = build(design, {})
    change(model)
    check_onnx(model.eval())


@pytest.mark.parametrize(("design", "settings"), list(chosen(Transformer)))
def test_ctranslate2_is_the_model_for_every_setting(model: Writer, tmp_path: Path) -> None:
    check_ctranslate2(model, tmp_path)


@changed
def test_ctranslate2_is_the_model_after_every_change(change: Change, tmp_path: Path) -> None:
    model = build(Transformer, {})
    change(model)
    check_ctranslate2(model.eval(), tmp_path)


def test_the_usual_ones_are_fast() -> None:
    for design in SMALL:
        model = build(design, {})
        assert isinstance(packed(model), Packed)
        further = () if design is T5 else (another_epsilon, one_other_epsilon, plain_norm, rebuilt())
        for change in (another_scale, *further):
            model = build(design, {})
            change(model)
            assert isinstance(packed(model.eval()), Packed)
    check_model(build(Transformer, {}))  # type: ignore[arg-type]

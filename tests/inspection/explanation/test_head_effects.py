"""What heads do: switching one off equals a projection without it, and what is moved is the length of what is added."""

import pytest
import torch

from regard.attention.record import record
from regard.base.errors import UsageError
from regard.inspection.explanation.head_effects import head_effects, moved_lengths, switched_off
from regard.models.bert import Bert
from regard.models.gpt import Gpt
from regard.models.swin import Swin

TOKENS, LENGTHS = torch.randint(4, 20, (1, 9), generator=torch.Generator().manual_seed(1)), torch.tensor([9])


def model(seed: int = 1) -> torch.nn.Module:
    torch.manual_seed(seed)
    made = Bert(layers=2, width=24, heads=3).build({"text": 20, "classes": 4}).double().eval()
    for weight in made.parameters():  # not near zero, as at the beginning
        torch.nn.init.normal_(weight, std=0.3)
    return made


def test_a_head_that_is_off_is_one_whose_projection_is_zero() -> None:
    with torch.no_grad():
        for layer, head in ((0, 2), (1, 0)):
            name = f"encoder.layers.{layer}.self_attention"
            whole, cut = model(), model()
            cut.get_submodule(name).output.weight[:, 8 * head : 8 * (head + 1)] = 0
            with switched_off(whole, {name: [head]}):
                found = whole(TOKENS, LENGTHS)
            torch.testing.assert_close(found, cut(TOKENS, LENGTHS), rtol=1e-12, atol=1e-12)
            assert not torch.allclose(found, whole(TOKENS, LENGTHS))


def test_effects_are_those_of_each_head_alone() -> None:
    tried = model()

    def chance(made: torch.Tensor) -> torch.Tensor:
        return made.log_softmax(-1)[:, 2]

    effects = head_effects(tried, (TOKENS, LENGTHS), chance)
    assert {name: len(own) for name, own in effects.items()} == {
        f"encoder.layers.{at}.self_attention": 3 for at in (0, 1)
    }
    with torch.no_grad():
        for name, own in effects.items():
            for head in range(3):
                with switched_off(tried, {name: [head]}):
                    without = chance(tried(TOKENS, LENGTHS))[0]
                expected = chance(tried(TOKENS, LENGTHS))[0] - without
                assert float(own[head]) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("key_heads", [None, 2])
def test_what_is_moved_is_the_length_of_what_each_position_adds(key_heads: int | None) -> None:
    torch.manual_seed(2)
    design = Gpt(layers=1, width=24, heads=4, key_heads=key_heads)
    tried = design.build({"text": 20}).double().eval()
    name = next(name for name, _ in tried.named_modules() if name.endswith("self_attention"))
    attention = tried.get_submodule(name)
    seen: list[torch.Tensor] = []
    handle = attention.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    with torch.no_grad(), moved_lengths(tried) as lengths, record(tried) as weights:
        tried.hidden(TOKENS[:, :0], LENGTHS * 0, TOKENS)
    handle.remove()
    _, _, value = attention._project(seen[0], None)
    for head in range(4):
        own = value[0, head // (4 // value.shape[1])]
        for key in range(own.shape[0]):
            added = attention.output.weight[:, 6 * head : 6 * (head + 1)] @ own[key]
            assert float(lengths[name][0, head, key]) == pytest.approx(float(added.norm()), rel=1e-9)
    assert weights[name][0].shape == (1, 4, own.shape[0], own.shape[0])


def test_tiles_of_a_picture_and_mistakes() -> None:
    torch.manual_seed(3)
    swin = Swin.preset("digits").build({"channels": 1, "height": 8, "width": 8, "classes": 3}).eval()
    effects = head_effects(swin, (torch.randn(1, 1, 8, 8),), lambda made: made.log_softmax(-1)[:, 0])
    assert [len(one) for one in effects.values()] == [3, 3, 6, 6]
    with pytest.raises(UsageError, match="unknown 'nothing'"), switched_off(swin, {"nothing": [0]}):
        pass
    with pytest.raises(UsageError, match="there is no head 9"), switched_off(model(), {}):
        tried = model()
        with switched_off(tried, {"encoder.layers.0.self_attention": [9]}):
            tried(TOKENS, LENGTHS)

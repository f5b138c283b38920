"""XLNet against transformers' on the same weights, with memory and any dependencies."""

import pytest
import torch

from regard.base.errors import ConfigError
from regard.interop.families.xlnet import Xlnet
from regard.models.xlnet import XLNet, XLNetModel

SIZES = {"layers": 2, "width": 16, "heads": 2, "feedforward": 24}
TOKENS = torch.randint(4, 20, (2, 6), generator=torch.Generator().manual_seed(1))
LENGTHS = torch.tensor([6, 6])


@pytest.fixture(scope="module")
def theirs() -> object:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = transformers.XLNetConfig(vocab_size=20, d_model=16, n_layer=2, n_head=2, d_inner=24, mem_len=9)
    model = transformers.XLNetLMHeadModel(config)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return model.eval()


def ours(theirs: object) -> XLNetModel:
    """Our model with their weights, by the names of the family."""
    model = XLNet(**SIZES, dropout=0.0).build({"text": 20})
    tensors = theirs.state_dict()
    table = {**SIZES, "tie": "target"}
    entries = Xlnet().entries(table, "permuted", {})
    found = {entry.ours: entry.read(tensors, {entry.side: list(range(20))}, "there") for entry in entries}
    found["head.output.weight"] = found["source.table.weight"]
    model.load_state_dict(found)
    return model.eval()


def test_hidden_states_with_memory_and_permutations_equal_transformers(theirs: object) -> None:
    model = ours(theirs)
    draw = torch.Generator().manual_seed(4)
    sees = torch.rand(2, 6, 6, generator=draw) < 0.5
    memories = [torch.randn(2, 5, 16, generator=draw).float() for _ in range(2)]
    asked = torch.tensor([[1, 4, 0], [5, 2, 3]])
    given = {
        "mems": [memory.transpose(0, 1) for memory in memories],
        "perm_mask": (~sees).float(),
        "target_mapping": torch.nn.functional.one_hot(asked, 6).float(),
        "use_mems": True,
    }
    with torch.no_grad():
        expected = theirs.transformer(TOKENS, **given)
        found = model.two_streams(TOKENS, LENGTHS, sees, asked, memories)
        content = theirs.transformer(TOKENS, mems=given["mems"], perm_mask=given["perm_mask"], use_mems=True)
        torch.testing.assert_close(found.query, expected.last_hidden_state, rtol=0, atol=1e-5)
        torch.testing.assert_close(found.content, content.last_hidden_state, rtol=0, atol=1e-5)
        for memory, there in zip(found.memories, expected.mems, strict=True):
            torch.testing.assert_close(memory.transpose(0, 1)[-9:], there, rtol=0, atol=1e-5)
        logits = theirs(TOKENS, **given).logits
        torch.testing.assert_close(model.output(found.query), logits, rtol=0, atol=1e-5)


def test_features_see_the_whole_text_and_no_padding(theirs: object) -> None:
    model = ours(theirs)
    with torch.no_grad():
        features, keep = model.encode(TOKENS, torch.tensor([6, 4]))
        mask = keep.float()
        expected = theirs.transformer(TOKENS, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(features[keep], expected[keep], rtol=0, atol=1e-5)


def test_what_is_written_is_what_was_read(theirs: object) -> None:
    model, tensors = ours(theirs), theirs.state_dict()
    written = {}
    for entry in Xlnet().entries({**SIZES, "tie": "target"}, "permuted", {}):
        written |= entry.write(model.state_dict()[entry.ours], {entry.side: list(range(20))})
    for name, tensor in written.items():
        torch.testing.assert_close(tensor, tensors[name].float(), msg=name)
    left = set(tensors) - set(written)
    assert all(name.endswith(("r_s_bias", "seg_embed")) or name == "lm_loss.weight" for name in left)


def test_the_query_stream_does_not_see_its_own_token(theirs: object) -> None:
    model = ours(theirs)
    sees = torch.ones(2, 6, 6).tril(-1).bool()
    other = TOKENS.clone()
    other[:, 3] = (other[:, 3] - 4 + 1) % 16 + 4
    asked = torch.arange(6).expand(2, -1)
    with torch.no_grad():
        first, second = (model.two_streams(tokens, LENGTHS, sees, asked) for tokens in (TOKENS, other))
    assert torch.equal(first.query[:, :4], second.query[:, :4])
    assert not torch.isclose(first.query[:, 4:], second.query[:, 4:]).all()
    assert torch.equal(first.content[:, :3], second.content[:, :3])
    assert not torch.isclose(first.content[:, 3], second.content[:, 3]).all()


def test_other_mixers_and_heads_are_told() -> None:
    with pytest.raises(ConfigError, match=r"xlnet\.mixer: two streams need self-attention"):
        XLNet(mixer="recurrent", positions=None).build({"text": 20})
    with pytest.raises(ConfigError, match="a ClassHead gives no logits over the vocabulary"):
        XLNet(**SIZES).build({"text": 20, "classes": 3}).output  # noqa: B018 it raises

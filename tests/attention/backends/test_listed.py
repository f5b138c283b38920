import pytest
import torch

from regard.attention.backends.listed import Listed
from regard.attention.call import Call
from regard.attention.core import attend, backend_choice, define
from regard.attention.mask import MASKS
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS
from regard.attention.score import SCORES, Score
from tests.laws.examples import SIZES, build, examples, weights_in

NODES = 30


def edges(count: int = 60, seed: int = 0) -> torch.Tensor:
    """Random edges; the last nodes have none."""
    return torch.randint(0, NODES - 3, (2, count), generator=torch.Generator().manual_seed(seed))


def sides(batch: int = 2, key_heads: int = SIZES.heads) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    shapes = ((SIZES.heads, SIZES.query_width), (key_heads, SIZES.key_width), (key_heads, SIZES.value_width))
    return tuple(
        torch.randn(batch, heads, NODES, width, dtype=torch.float64).requires_grad_() for heads, width in shapes
    )


@pytest.mark.parametrize("unbuilt", examples(SCORES))
@pytest.mark.parametrize("key_heads", [SIZES.heads, 2])
def test_every_score_along_edges_is_the_definition(unbuilt: Score, key_heads: int) -> None:
    tensors, score = sides(key_heads=key_heads), build(unbuilt)
    others = {
        "mask": MASKS.Edges(edges()) & MASKS.Window(9),
        "keep": MASKS.Padding(torch.tensor([NODES, 12])),
        "bias": torch.randn(NODES, NODES, dtype=torch.float64).masked_fill(
            torch.rand(NODES, NODES) < 0.1, float("-inf")
        ),
    }
    call = Call(*tensors, score=score, normalizer=NORMALIZERS.Softmax(), **others)
    assert Listed(most=1.0).refusal(call) is None
    learned = [*tensors, *weights_in(score)]
    expected, found = define(call).output, Listed(most=1.0)(call).output
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
    slopes = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad(found, learned, slopes), torch.autograd.grad(expected, learned, slopes), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-10)


def test_a_node_without_edges_reads_zeros() -> None:
    found = attend(
        *sides(), score=SCORES.Dot(), normalizer=NORMALIZERS.Softmax(), mask=MASKS.Edges(edges()), backend="listed"
    )
    assert not found.output[:, :, -3:].any()


def test_it_is_chosen_for_a_graph_with_few_edges() -> None:
    given = {"score": SCORES.ScaledDot(), "normalizer": NORMALIZERS.Softmax()}
    assert backend_choice(*sides(), mask=MASKS.Edges(edges(20)), **given).chosen == "listed"
    assert backend_choice(*sides(), mask=MASKS.Edges(edges(900)), **given).chosen != "listed"
    assert backend_choice(*sides(), keep=MASKS.Edges(edges(20)), **given).chosen == "listed"


def test_dropout_drops_edges() -> None:
    given = {"score": SCORES.Dot(), "normalizer": NORMALIZERS.Softmax(), "mask": MASKS.Edges(edges(20))}
    torch.manual_seed(3)
    value = torch.ones(1, 1, NODES, 1)
    call = Call(torch.zeros_like(value), torch.zeros_like(value), value, **given, dropout=0.5)
    several = torch.stack([Listed()(call).output for _ in range(2_000)])
    plain = Listed()(Call(call.query, call.key, value, **given)).output
    assert (several != plain).any()
    torch.testing.assert_close(several.mean(0), plain, atol=0.1, rtol=0)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"mask": MASKS.Window(3)}, "no mask lists its pairs"),
        ({"normalizer": NORMALIZERS.Sparsemax()}, "it computes softmax alone, not Sparsemax"),
        ({"query_at": torch.arange(NODES) + 1}, "not at positions 0, 1, 2"),
        ({"bias": POSITIONS.Alibi().build(SIZES)}, "is computed for all pairs"),
    ],
)
def test_it_says_what_it_cannot(changed: dict[str, object], reason: str) -> None:
    given = {"score": SCORES.Dot(), "normalizer": NORMALIZERS.Softmax(), "mask": MASKS.Edges(edges())}
    assert reason in str(Listed().refusal(Call(*sides(), **(given | changed))))

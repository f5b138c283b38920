import pytest
import torch
import transformers

from regard.audit.auditing import audit, subject_of
from regard.base.errors import UsageError

SIZES = {
    "initializer_range": 0.5,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "vocab_size": 9,
}


def made(kind: str, **more: object) -> torch.nn.Module:
    torch.manual_seed(0)
    model: torch.nn.Module = transformers.AutoModel.from_config(
        transformers.AutoConfig.for_model(kind, **SIZES, **more)
    )
    return model


@pytest.mark.parametrize(
    ("kind", "causal", "positions"),
    [("bert", False, "absolute"), ("llama", True, "relative"), ("gpt2", True, "absolute")],
)
def test_claims_follow_from_the_model_and_hold(kind: str, causal: bool, positions: str) -> None:
    subject = subject_of(made(kind, **({"n_embd": 8, "n_head": 2, "n_layer": 1} if kind == "gpt2" else {})))
    assert (subject.claims.causal, subject.claims.positions) == (causal, positions)
    laws = ["padding", "positioning", "caching"]
    outcomes = [verdict.outcome for verdict in audit(subject, laws=laws, examples=4).verdicts]
    assert outcomes == ["holds", "holds", "holds" if causal else "does not apply"]


def test_an_encoder_decoder_is_refused() -> None:
    with pytest.raises(UsageError, match="does not read embeddings alone"):
        subject_of(made("t5", d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))

import pytest
import torch
from torch import nn

from regard.audit.auditing import audit, subject_of
from regard.audit.example import Example


@pytest.mark.parametrize("batch_first", [True, False])
def test_it_keeps_the_laws(batch_first: bool) -> None:
    report = audit(nn.MultiheadAttention(8, 2, batch_first=batch_first), laws=["definition", "forbidden"], examples=10)
    assert [verdict.outcome for verdict in report.verdicts] == ["holds", "holds"], str(report)


def test_other_weights_than_the_formula_s_are_found() -> None:
    class Doubled(nn.MultiheadAttention):
        def forward(self, *args: object, **settings: object) -> tuple[torch.Tensor, None]:
            return 2 * super().forward(*args, **settings)[0], None  # type: ignore[arg-type]

    assert not audit(Doubled(8, 2, batch_first=True), laws=["definition"]).is_sound


def test_without_a_joint_projection_no_formula_is_known() -> None:
    subject, example = subject_of(nn.MultiheadAttention(8, 2, add_zero_attn=True)), Example()
    assert subject.definition(subject.inputs(example, example.generator()), None) is None

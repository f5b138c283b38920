import pytest
import torch
from torch import Tensor, nn

import regard
from regard.audit.auditing import audit, subject_of
from regard.audit.law import LAWS
from regard.base.errors import ConfigError, UsageError
from tests.audit.mutants import FUNCTIONS, LayerUnderAudit, attention

FUNCTIONS_BY_NAME = {mutant.__name__: mutant for mutant in FUNCTIONS}


def test_a_correct_function_keeps_all_laws() -> None:
    report = audit(attention, examples=15)
    assert report.is_sound, str(report)
    assert {verdict.law for verdict in report.verdicts} == set(LAWS)
    assert all(verdict.tried >= 15 for verdict in report.verdicts if verdict.outcome == "holds")


def test_a_correct_layer_keeps_all_laws() -> None:
    report = audit(LayerUnderAudit(), examples=8)
    assert report.is_sound, str(report)
    assert "does not apply" not in {each.outcome for each in report.verdicts if each.law in ("caching", "causality")}


def test_the_smallest_example_is_told() -> None:
    (verdict,) = audit(FUNCTIONS_BY_NAME["infinite_mask"], laws=["blindness"]).verdicts
    assert verdict.outcome == "breaks"
    assert verdict.example is not None
    assert (verdict.example["batch"], verdict.example["queries"], verdict.example["keys"]) == (1, 1, 1)
    assert "nan" in verdict.detail


def test_a_reference_decides_where_no_formula_is_known() -> None:
    sharper = FUNCTIONS_BY_NAME["without_scale"]
    assert audit(sharper, laws=["definition"], reference=sharper).is_sound
    assert not audit(attention, laws=["definition"], reference=sharper).is_sound


def test_an_error_of_the_target_breaks_a_law() -> None:
    def narrow(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
        raise RuntimeError("only queries of 64 numbers")

    (verdict,) = audit(narrow, laws=["company"]).verdicts
    assert verdict.outcome == "breaks"
    assert "only queries of 64 numbers" in verdict.detail


def test_what_is_no_attention_is_refused() -> None:
    with pytest.raises(UsageError, match="a int is not an attention that can be called"):
        audit(3)
    with pytest.raises(UsageError, match="how wide are the inputs of Bilinear"):
        audit(nn.Bilinear(1, 1, 1))
    with pytest.raises(ConfigError, match="unknown 'forbiden'"):
        audit(attention, laws=["forbiden"])


def test_claims_can_be_made() -> None:
    assert subject_of(attention, causal=True).claims.causal
    (verdict,) = audit(attention, laws=["causality"], causal=True).verdicts
    assert verdict.outcome == "breaks"


def test_it_is_public() -> None:
    assert regard.audit is audit
    versions = regard.audit(attention, laws=["company"], examples=2).versions
    assert versions["torch"] == torch.__version__

"""The names of classes in a folder's config."""

from typing import Any

import pytest

from regard.base.errors import RegardError
from regard.interop.class_names import class_names, is_multi_label


def test_names_are_in_the_order_of_the_logits() -> None:
    assert class_names({"id2label": {"1": "yes", "0": "no"}}, "config.json") == ["no", "yes"]
    assert class_names({"num_labels": 3}, "config.json") == ["LABEL_0", "LABEL_1", "LABEL_2"]
    assert is_multi_label({"problem_type": "multi_label_classification"})
    assert not is_multi_label({"problem_type": None})


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"id2label": {"0": "a"}}, "here: has 1 label, which is a regression, but classes alone are read"),
        ({"problem_type": "regression", "num_labels": 3}, "here: problem_type is 'regression', but classes alone"),
        ({"id2label": {"0": "a", "2": "b"}}, "here: id2label has 2 labels, but none of the number 1"),
        ({"id2label": {"0": "a", "1": "b", "2": "a"}}, "here: id2label has the label 'a' twice, but each must have"),
    ],
)
def test_what_are_no_classes_is_refused(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RegardError, match=sentence):
        class_names(config, "here")

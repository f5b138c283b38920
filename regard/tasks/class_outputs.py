"""What `regard evaluate --out` writes of a classifier: the labels it gave, or a picture of how it errs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from regard.base.errors import RegardError, UsageError
from regard.base.extras import install_hint
from regard.base.files import write_text

_PICTURES = (".png", ".svg")


def write_classes(out: Path, lines: Sequence[str], true: Tensor, probabilities: Tensor, classes: Sequence[str]) -> None:
    """Write the answers, one a line; into a .png or .svg, the confusion matrix and the reliability diagram."""
    if out.suffix.lower() not in _PICTURES:
        write_text(out, "".join(f"{line}\n" for line in lines))
        return
    if true.dim() != 1:
        raise UsageError(f"{out}: a confusion matrix is drawn of examples with one label each; name a text file")
    try:
        from regard.inspection.pictures.class_picture import class_picture
        from regard.inspection.pictures.draw import save_figure
    except ModuleNotFoundError as error:
        raise RegardError(f"{out}: a picture needs matplotlib: {install_hint('plots')}") from error
    save_figure(class_picture(true.numpy(), probabilities.numpy().astype(np.float64), classes), out)

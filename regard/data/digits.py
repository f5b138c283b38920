"""An example without a download: scikit-learn's 1,797 handwritten digits of 8 × 8 pixels, as files of pictures.

Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, 1998, https://doi.org/10.24432/C50P49
"""

from pathlib import Path

import numpy as np

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.base.files import replacing

DIGIT_SETS = {"train": 1257, "dev": 180, "test": 360}
"""how many of the digits are for what"""


def write_digits(folder: Path, seed: int = 1) -> dict[str, Path]:
    """Write train.npz, dev.npz and test.npz, split at random by the seed; an existing file stays as it is."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise RegardError(f"digits: the example needs scikit-learn: {install_hint('represent')}") from error
    pictures, labels = load_digits(return_X_y=True)
    pixels = np.round(pictures.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    order, start = np.random.default_rng(seed).permutation(len(pixels)), 0
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for part, count in DIGIT_SETS.items():
        chosen = order[start : start + count]
        start += count
        made[part] = folder / f"{part}.npz"
        if not made[part].exists():
            with replacing(made[part]) as file:
                np.savez_compressed(file, pictures=pixels[chosen], labels=labels[chosen])
    return made
